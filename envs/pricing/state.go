package pricing

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// episode is all that changes in an episode and all that copies and saved states hold.
type episode struct {
	progress

	// Per tier.
	prices, rates   []float64 // asked; jobs per slot that they bring
	baseline        []int32
	tierKeep        []int32   // keep-alive vGPUs of the tier's functions
	slotAcc, winAcc []float64 // accounts of the slot and of the window so far
	lastAcc         []float64 // of the last slot that ended
	total           []float64 // of the episode
	loads           []float64 // potential loads of the windows, where the episode draws them

	// Per function.
	estimate             []float64 // forecast of arrivals per slot
	nextBurst, burstEnd  []int32   // slots in which the next burst begins and the last one ends
	bursts               []int32   // that have begun
	arrived              []int32   // in this slot
	violated, begun      []int32   // in this slot; in the last one
	keep, trans, loading []int32   // vGPUs
	// keep-alive vGPUs at work that will be transient when they are done; negative: the other way
	owed []int32
	// of each list of idle vGPUs: the number of patient ones (transient lists only), and the first that is not patient
	patient, firstImpatient []int32
	waiting                 []int32 // jobs in the queues
	unfiled                 []int32 // of the queue's last entries, how many stand in no page of the calendar yet
	drawn                   []int32 // loads drawn in this slot
	room                    []int32 // vGPUs off on GPUs that host the function, with shared GPUs

	// Lists and their arenas.
	idle, off, queues, roomList, byOff []list
	gpuOff, filed                      []int32
	link, allLink, roomLink, gpuLink   arena
	vgpus                              []vgpu
	vgpuRing                           ring
	jobs                               []jobs
	jobLinks                           arena
	jobRing                            ring
}

// Phases of an episode.
const (
	unbegun int64 = iota
	running
	over
)

// progress is an episode's single numbers.
type progress struct {
	seed         int64 // the bits of the episode's seed
	phase        int64 // one of the phases below
	first        int64 // the window of the load at which the episode began
	window, slot int64 // of the episode; slots are counted through
	freeJob      int32
	busy         int32 // vGPUs in service
	transients   int32
	short        int32 // keep-alive vGPUs that the window's baselines lack
}

// list lists the fields of a world with a policy inside.
func (w *world) list(c *state.Codec, inside envs.Policy) {
	c.Same("configuration", w.fingerprint)
	state.Member(c, inside) // early, so that a policy of another kind is refused before anything changes
	w.episode.list(c)
	if c.Loaded() {
		c.Fail(w.check())
	}
	if c.Filled() {
		w.derive()
	}
	if c.Loaded() {
		c.Fail(w.checkRates())
	}
}

// list lists an episode's fields.
func (e *episode) list(c *state.Codec) {
	state.Value(c, &e.progress)
	for _, s := range [...][]float64{e.prices, e.rates, e.slotAcc, e.winAcc, e.lastAcc, e.total, e.estimate} {
		state.Fixed(c, s)
	}
	for _, s := range [...][]int32{
		e.baseline, e.tierKeep, e.nextBurst, e.burstEnd, e.bursts, e.arrived, e.violated, e.begun, e.keep, e.trans, e.loading,
		e.owed, e.patient, e.firstImpatient, e.waiting, e.unfiled, e.drawn, e.room, e.gpuOff, e.filed,
		e.vgpuRing.tail, e.vgpuRing.after, e.jobRing.tail,
	} {
		state.Fixed(c, s)
	}
	for _, s := range [...][]list{e.idle, e.off, e.queues, e.roomList, e.byOff} {
		state.Fixed(c, s)
	}
	for _, s := range [...][]place{e.link.places, e.allLink.places, e.roomLink.places, e.gpuLink.places} {
		state.Fixed(c, s)
	}
	state.Fixed(c, e.vgpus)
	// How many loads and jobs there are depends on the episode.
	state.Slice(c, &e.loads)
	state.Slice(c, &e.jobs)
	state.Slice(c, &e.jobLinks.places)
	state.Slice(c, &e.jobRing.after)
}
