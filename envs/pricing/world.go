package pricing

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// world is the simulation behind both environments.
type world struct {
	cfg    Config
	id     string // of the environment, for errors
	load   load
	fn     []function
	tiers  []tierPlan
	shared bool
	calm   float64
	work   measured
	// workload is that of the experiment, its scale in cfg.Demand.Mean where it has one.
	workload workload.Config
	trace    func(purpose string, a, b, c uint64, value float64)

	fingerprint uint64 // of the configuration, for copies and saved states
	episode
	// What follows from the episode.
	keys     worldKeys
	perSlot  []rate  // of each function: outside bursts, inside
	uniform  []int64 // scratch of a slot: the functions' first draws of arrivals
	switched []int32 // scratch of a slot: how many switches each function is charged
	shares   []float64
	rival    float64 // the rival's share
	steps    marketSteps
	offers
	// What is measured, and by what it is seen.
	observer     *Observer
	slotObserver *SlotObserver
	meters       Meters
	slotMeters   SlotMeters
	measured     bool        // slotMeters are of this state
	asked        []TierPrice // scratch
	expected     []float64   // scratch: shares as a provider expects them
}

type worldKeys struct {
	demand rng.Key
	marketKeys
}

// function is what is known of a function before any episode, and its keys in this one.
type function struct {
	tier                                      int
	share                                     float64 // of its tier's jobs
	sla, patience                             int32   // slots until a violation, and until a late job is dropped
	law                                       law
	mean                                      float64 // service slots
	arrivalKey, serviceKey, burstKey, loadKey rng.Key
	widthKey                                  rng.Key
}

// tierPlan is which functions a tier has.
type tierPlan struct{ from, to int }

// newWorld checks and compiles a configuration.
func newWorld(c Config, w workload.Config, id string) (*world, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	c.Tiers, c.Prices, c.Baselines = slices.Clone(c.Tiers), slices.Clone(c.Prices), slices.Clone(c.Baselines)
	o := &world{cfg: c, id: id, shared: c.Layout.Warm == WarmShared, calm: calmShare(&c.Burst), steps: c.Market.steps()}
	var err error
	if o.work, err = openWork(&o.cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	o.fn, o.tiers = o.cfg.functionsOf(o.work)
	longest, ahead := 0, 0
	for f := range o.fn {
		longest, ahead = max(longest, len(o.fn[f].law)), max(ahead, int(o.fn[f].patience))
	}
	for m := range c.Tiers { // also where measured lengths take its place: states have so many buckets
		l, _ := newLaw(&c.Tiers[m])
		longest = max(longest, len(l))
	}
	if o.workload, err = o.scaled(w); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	if o.load, err = openLoad(&o.cfg, o.workload); err != nil {
		return nil, fmt.Errorf("%s: %w", id, err)
	}
	o.observer = newPriceObserver(&o.cfg)
	o.slotObserver = newSlotObserver(&o.cfg, o.fn, o.cfg.Acts)
	o.makeState(buckets(max(longest, int(c.Load)+1)), buckets(ahead+1))
	o.meter()
	h := fnv.New64a()
	c.Work.Latencies, c.Work.Pods = "", "" // where the files are, not what they hold
	c.Demand.Mean = o.cfg.Demand.Mean
	fmt.Fprintf(h, "%s %s %v", id, state.Settings(c, Default()), o.work)
	if c.Demand.Source == FromWorkload {
		fmt.Fprintf(h, " %s %v", o.workload.Identity(), o.load.fixed)
	}
	o.fingerprint = h.Sum64()
	return o, nil
}

// functionsOf returns the functions of all tiers, and which each tier has.
func (c *Config) functionsOf(work measured) (fn []function, tiers []tierPlan) {
	for m := range c.Tiers {
		t := &c.Tiers[m]
		l, mean := newLaw(t)
		patience := int32(c.Late * float64(t.SLA))
		from := len(fn)
		var all float64
		for i := range t.Functions {
			share := portable.Pow(float64(i+1), -c.Zipf)
			all += share
			if n := len(work.slots); n > 0 {
				mean = max(1, work.slots[i%n])
				l = constantLaw(mean)
			}
			fn = append(fn, function{tier: m, share: share, sla: int32(t.SLA), patience: patience, law: l, mean: mean})
		}
		for f := from; f < len(fn); f++ {
			fn[f].share /= all
		}
		tiers = append(tiers, tierPlan{from, len(fn)})
	}
	return fn, tiers
}

// makeState gives every slice its length.
func (w *world) makeState(vgpuBuckets, jobBuckets int) {
	n, nf, nt := w.cfg.VGPUs, len(w.fn), len(w.tiers)
	gpus := (n + w.cfg.Layout.GPU - 1) / w.cfg.Layout.GPU
	s := &w.episode
	for _, p := range [...]*[]float64{&s.prices, &s.rates, &w.shares, &w.expected} {
		*p = make([]float64, nt)
	}
	all := accounts + tierAccounts*nt
	if w.cfg.Market.fails() {
		all++ // accPresent
	}
	for _, p := range [...]*[]float64{&s.slotAcc, &s.winAcc, &s.lastAcc, &s.total} {
		*p = make([]float64, all)
	}
	s.baseline, s.tierKeep, s.estimate = make([]int32, nt), make([]int32, nt), make([]float64, nf)
	for _, p := range [...]*[]int32{
		&s.nextBurst, &s.burstEnd, &s.bursts, &s.arrived, &s.violated, &s.begun, &s.keep, &s.trans, &s.loading, &s.owed,
		&s.unfiled, &s.drawn, &s.room,
	} {
		*p = make([]int32, nf)
	}
	for _, p := range [...]*[]int32{&s.patient, &s.firstImpatient, &s.waiting} {
		*p = make([]int32, 2*nf)
	}
	s.idle, s.off, s.queues = make([]list, 2*nf), make([]list, nf+2), make([]list, 2*nf)
	s.vgpus, s.link, s.allLink = make([]vgpu, n), newArena(n, s.idle, s.off[:nf+1]), newArena(n, s.off[nf+1:])
	s.vgpuRing = newRing(vgpuBuckets, n)
	s.jobRing, s.jobLinks = newRing(jobBuckets, 0), newArena(0, s.queues)
	if w.shared {
		s.roomList, s.byOff = make([]list, nf), make([]list, w.cfg.Layout.GPU+1)
		s.gpuOff, s.filed, s.roomLink, s.gpuLink = make([]int32, gpus), make([]int32, n), newArena(n,
			s.roomList), newArena(gpus, s.byOff)
	}
	w.perSlot, w.uniform, w.switched = newRates(2*nf), make([]int64, nf), make([]int32, nf)
}

// allOff is the list of all vGPUs that are off, and of those that are on in a fixed pool but host nothing.
func (w *world) allOff() *list { return &w.off[len(w.fn)+1] }

// begin starts an episode.
func (w *world) begin(seed uint64, options envs.Options) error {
	at, err := w.options(seed, options)
	if err != nil {
		return err
	}
	w.phase = unbegun
	if err := w.drawLoads(seed); err != nil {
		return fmt.Errorf("%s: %w", w.id, err)
	}
	s := &w.episode
	s.seed, s.first, s.window, s.slot = int64(seed), int64(at), -1, 0
	s.freeJob, s.busy, s.transients, s.short = none, 0, 0, 0
	for _, p := range [...][]int32{s.tierKeep, s.burstEnd, s.bursts, s.arrived, s.violated, s.begun, s.keep, s.trans,
		s.loading, s.owed, s.patient, s.waiting, s.unfiled, s.drawn, s.room} {
		clear(p)
	}
	for _, p := range [...][]float64{s.rates, s.slotAcc, s.winAcc, s.lastAcc, s.total, s.estimate} {
		clear(p)
	}
	nf := len(w.fn)
	s.link.reset(s.idle, s.off[:nf+1])
	s.allLink.reset(s.off[nf+1:])
	s.roomLink.reset(s.roomList)
	s.gpuLink.reset(s.byOff)
	s.jobs, s.jobLinks.places, s.jobRing.after = s.jobs[:0], s.jobLinks.places[:s.jobLinks.heads],
		s.jobRing.after[:len(s.jobRing.tail)]
	s.jobLinks.reset(s.queues)
	for _, p := range [...][]int32{s.firstImpatient, s.filed} {
		for i := range p {
			p[i] = none
		}
	}
	s.vgpuRing.reset()
	s.jobRing.reset()
	clear(s.gpuOff)
	for g := range s.gpuOff {
		s.gpuLink.push(&s.byOff[0], int32(g))
	}
	for j := range s.vgpus {
		s.vgpus[j] = vgpu{host: none, last: none}
		w.goOff(int32(j))
	}
	copy(s.prices, w.cfg.Prices)
	for m, n := range w.cfg.Baselines {
		s.baseline[m] = int32(n)
	}
	w.setKeys()
	w.slot = -1 // so that a burst may begin in the first slot
	for f := range w.fn {
		w.drawBurst(f)
	}
	w.slot = 0
	if w.cfg.Market.moves() {
		w.beginMarket()
	}
	w.phase = running
	return nil
}

// setKeys names the episode's draws.
func (w *world) setKeys() {
	seed := uint64(w.seed)
	w.keys.demand = rng.New(seed, "pricing/demand")
	w.keys.sensitivity, w.keys.failures = rng.New(seed, "pricing/sensitivity"), rng.New(seed, "pricing/failures")
	w.keys.rival = rng.New(seed, "pricing/rival")
	arrivals, service := rng.New(seed, "pricing/arrivals"), rng.New(seed, "pricing/service")
	burst, load, width := rng.New(seed, "pricing/burst"), rng.New(seed, "pricing/load"), rng.New(seed, "pricing/width")
	for f := range w.fn {
		p, i := &w.fn[f], uint64(f)
		p.arrivalKey, p.serviceKey, p.burstKey, p.loadKey = arrivals.With(i), service.With(i), burst.With(i), load.With(i)
		p.widthKey = width.With(i)
	}
}

// options returns the first window of an episode.
func (w *world) options(seed uint64, options envs.Options) (int, error) {
	at := w.cfg.Demand.Start
	if at < 0 {
		at = rng.New(seed, "pricing/start").IntN(w.load.windows)
	}
	for name, v := range options {
		if name != "start" {
			return 0, fmt.Errorf("%s: no option %q, want start", w.id, name)
		}
		x, ok := v.(int)
		if !ok || x < 0 || x >= w.load.windows {
			return 0, fmt.Errorf("%s: option start is %v, want a window from 0 to %d", w.id, v, w.load.windows-1)
		}
		at = x
	}
	return at, nil
}

func (w *world) traced(purpose string, a, b, c uint64, value float64) {
	if w.trace != nil {
		w.trace(purpose, a, b, c, value)
	}
}

// TraceDraws implements [envs.DrawTracer].
func (w *world) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) { w.trace = f }

// derive makes what follows from the episode.
func (w *world) derive() {
	w.measured = false
	w.setKeys()
	w.rival = w.divide(w.shares, false)
	w.setRates()
}

// episode is all that changes in an episode and all that copies and saved states hold.
type episode struct {
	progress
	market

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
	phase        int64 // one of the phases above
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
	if w.cfg.Market.moves() {
		state.Value(c, &w.market)
	}
	if c.Loaded() {
		c.Fail(w.restore())
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
