package pricing

// state is all that changes in an episode and all that copies and saved states hold.
type state struct {
	seed         int64 // the bits of the episode's seed
	phase        int64 // one of the phases below
	first        int64 // the window of the load at which the episode began
	window, slot int64 // of the episode; slots are counted through
	freeJob      int32
	busy         int32 // vGPUs in service
	transients   int32
	short        int32 // keep-alive vGPUs that the window's baselines lack

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
	owed                 []int32   // keep-alive vGPUs at work that will be transient when they are done; negative: the other way
	patient, fresh       []int32   // of each list of idle ones: patient ones, where transient, and the first one that is not
	waiting              []int32   // jobs in the queues
	unfiled              []int32   // of the queue's last entries, how many stand in no page of the calendar yet
	drawn                []int32   // loads drawn in this slot
	room                 []int32   // vGPUs off on GPUs that host the function, with shared GPUs

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

// each hands every field of s to c, beside the same field of o.
func (s *state) each(o *state, c *codec) {
	for _, p := range [...][2]*int64{{&s.seed, &o.seed}, {&s.phase, &o.phase}, {&s.first, &o.first}, {&s.window, &o.window}, {&s.slot, &o.slot}} {
		c.int64(p[0], p[1])
	}
	for _, p := range [...][2]*int32{{&s.freeJob, &o.freeJob}, {&s.busy, &o.busy}, {&s.transients, &o.transients}, {&s.short, &o.short}} {
		c.int32(p[0], p[1])
	}
	for _, p := range [...][2]*[]float64{
		{&s.prices, &o.prices}, {&s.rates, &o.rates}, {&s.slotAcc, &o.slotAcc}, {&s.winAcc, &o.winAcc}, {&s.lastAcc, &o.lastAcc},
		{&s.total, &o.total}, {&s.loads, &o.loads}, {&s.estimate, &o.estimate},
	} {
		c.float64s(p[0], p[1])
	}
	for _, p := range [...][2]*[]int32{
		{&s.baseline, &o.baseline}, {&s.tierKeep, &o.tierKeep}, {&s.nextBurst, &o.nextBurst}, {&s.burstEnd, &o.burstEnd}, {&s.bursts, &o.bursts}, {&s.arrived, &o.arrived},
		{&s.violated, &o.violated}, {&s.begun, &o.begun}, {&s.keep, &o.keep}, {&s.trans, &o.trans}, {&s.loading, &o.loading},
		{&s.owed, &o.owed}, {&s.patient, &o.patient}, {&s.unfiled, &o.unfiled}, {&s.waiting, &o.waiting}, {&s.fresh, &o.fresh}, {&s.drawn, &o.drawn}, {&s.room, &o.room},
		{&s.gpuOff, &o.gpuOff}, {&s.filed, &o.filed},
		{&s.vgpuRing.tail, &o.vgpuRing.tail}, {&s.vgpuRing.after, &o.vgpuRing.after},
		{&s.jobRing.tail, &o.jobRing.tail}, {&s.jobRing.after, &o.jobRing.after},
	} {
		c.int32s(p[0], p[1])
	}
	for _, p := range [...][2]*[]list{
		{&s.idle, &o.idle}, {&s.off, &o.off}, {&s.queues, &o.queues}, {&s.roomList, &o.roomList}, {&s.byOff, &o.byOff},
	} {
		c.lists(p[0], p[1])
	}
	for _, p := range [...][2]*arena{
		{&s.link, &o.link}, {&s.allLink, &o.allLink}, {&s.roomLink, &o.roomLink}, {&s.gpuLink, &o.gpuLink}, {&s.jobLinks, &o.jobLinks},
	} {
		c.arenas(p[0], p[1])
	}
	c.allVGPUs(&s.vgpus, &o.vgpus)
	c.allJobs(&s.jobs, &o.jobs)
}
