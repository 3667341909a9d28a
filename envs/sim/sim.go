package sim

import (
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// none ends index-linked lists.
const none = -1

// plan is what a Config compiles to. It never changes, and copies share it.
type plan struct {
	cfg         Config
	fn          []functionPlan
	bits        int    // of sketches; 0: none
	fingerprint uint64 // of all that shapes results
}

type functionPlan struct {
	demand, cold drawer
}

// list is a doubly linked list of pool indices.
type list struct{ head, tail int32 }

var emptyList = list{none, none}

// link is an element's place in a list.
type link struct{ prev, next int32 }

// function is a function's state.
type function struct {
	gauge       gauge
	tally       Tally
	latency     moments
	wait        moments
	demandKey   rng.Key
	coldKey     rng.Key
	dispatchKey rng.Key
	launches    uint64 // instances launched since time 0: names the cold-start draws
	keepAlive   Time

	revision int32 // of new instances
	min, max int32

	queue      list // waiting requests, through request.link
	queued     int32
	ages       list  // requests in the system by arrival, through request.age; kept where there is a Timeout
	all        list  // instances, oldest first
	idle       list  // idle instances, longest idle first
	pending    list  // pending instances, through instance.idle
	live       int32 // instances of the present revision that take or will take requests
	old        int32 // ready instances of earlier revisions that still take requests
	nPending   int32
	nStarting  int32
	nIdle      int32
	nBusy      int32
	nDraining  int32
	bucket     int32 // first of the function's lists of available instances
	buckets    int32 // how many: one per number of running requests, or a single one
	mask       int32 // first word of the bitmap of buckets in use
	row        int32 // first place of the row of ready instances where Dispatch is Random; else none
	rowLen     int32 // its length
	rowUsed    int32 // how many of its places are in use
	expire     int32 // handles
	queueTimer int32
	ageTimer   int32
}

// revision is a sizing as instances of it run.
type revision struct {
	Sizing
	refs  int32 // instances of it, and one for being its function's present one
	next  int32 // in the free list
	rates [rateTable]uint64
}

// instance is one instance's state. Free pool places have state Gone.
type instance struct {
	v     uint64 // service that each of its running requests has attained, in 2^-rateBits µs, modulo 2^64
	vAt   Time   // when v was brought up to date
	rate  uint64 // growth of v per µs
	born  Time
	since Time // of its last change between idle and busy
	cold  Time // its cold-start delay
	gen   uint32
	fn    int32
	node  int32
	rev   int32
	h     int32
	n     int32 // running requests
	root  int32 // the one that completes first (heap of request.heap), or the one bound while cold; none if none
	level int32 // bucket it is in, none if unavailable
	all   link
	avail link
	idle  link
	state InstanceState
	// onDemand says that it was launched for waiting requests, not for a limit or by the caller.
	onDemand bool
}

// requestState is where a request is; a free pool place is in reqFree.
type requestState uint8

const (
	reqFree    requestState = iota
	reqComing               // its arrival is scheduled
	reqQueued               // in its function's queue
	reqBound                // waits for the starting instance inst
	reqRunning              // in instance inst
	reqEnding               // has ended; the report is due
	reqStates
)

// request is one request's state.
type request struct {
	id, tag  uint64
	seq      uint64 // order of arrival
	finish   uint64 // the instance's v at which it completes
	arrived  Time
	started  Time // -1 until it runs
	demand   Time
	slo      Time
	h        int32
	fn       int32
	inst     int32
	attempt  int32
	link     link // queue; while running, its siblings in the instance's heap
	child    int32
	age      link
	state    requestState
	outcome  Outcome
	cold     bool
	given    bool // demand came with the request
	servedBy InstanceID
	node     int32
}

// timer is a caller's scheduled event.
type timer struct {
	Timer
	h    int32
	next int32 // in the free list
	gen  uint32
	live bool
}

// node is a machine's state.
type node struct {
	free      Node
	instances int32
	since     Time
	area      [nodeLevels]wide
}

const nodeLevels = 4 // CPU, memory, GPU, instances

// scalars are the simulation's single numbers.
type scalars struct {
	seed     uint64
	arrivals uint64 // requests that have arrived since time 0
	from     Time   // start of the meters' window
	// First of the free places of each pool, none if there is none.
	freeRev, freeInst, freeReq, freeTim int32
}

// Sim is a simulation. It is not safe for concurrent use; copies are independent.
type Sim struct {
	plan *plan

	scalars
	starts   starter
	cal      calendar
	fns      []function
	revs     []revision
	insts    []instance
	reqs     []request
	timers   []timer
	nodes    []node
	finder   finder
	waiting  []int32 // functions with pending instances, in the order in which they became so
	buckets  []list  // of available instances, function by function
	masks    []uint64
	rows     []int32 // of ready instances, function by function
	sketches []Sketch

	// Not part of the state:
	handler Handler
	paused  bool
	running bool
}

// newPlan checks and compiles a configuration.
func newPlan(cfg Config) (*plan, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	p := &plan{cfg: cfg}
	p.cfg.Functions, p.cfg.Nodes = slices.Clone(cfg.Functions), slices.Clone(cfg.Nodes)
	switch cfg.SketchBits {
	case NoSketch:
	case 0:
		p.bits = 6
	default:
		p.bits = cfg.SketchBits
	}
	for i := range cfg.Functions {
		p.fn = append(p.fn, functionPlan{demand: newDrawer(cfg.Functions[i].Demand),
			cold: newDrawer(cfg.Functions[i].ColdStart)})
	}
	var err error
	if p.fingerprint, err = state.Fingerprint(shape{&p.cfg}); err != nil {
		return nil, err
	}
	return p, nil
}

// New builds a simulation at time 0 with the first instances of every function launched. Errors name the field.
func New(cfg Config, seed uint64) (*Sim, error) {
	p, err := newPlan(cfg)
	if err != nil {
		return nil, err
	}
	s := &Sim{plan: p, handler: silent{}}
	s.Reset(seed)
	return s, nil
}

// Reset puts the simulation back to time 0 under another seed, sizings and keep-alives as configured, meters
// empty. It allocates nothing that the simulation has not held before.
func (s *Sim) Reset(seed uint64) {
	cfg := &s.plan.cfg
	s.seed, s.arrivals, s.from, s.starts = seed, 0, 0, starter{}
	s.cal.reset()
	s.fns, s.revs, s.insts, s.reqs, s.timers = s.fns[:0], s.revs[:0], s.insts[:0], s.reqs[:0], s.timers[:0]
	s.freeRev, s.freeInst, s.freeReq, s.freeTim = none, none, none, none
	s.nodes, s.waiting, s.buckets, s.masks, s.rows = s.nodes[:0], s.waiting[:0], s.buckets[:0], s.masks[:0], s.rows[:0]
	for i := range cfg.Nodes {
		s.nodes = append(s.nodes, node{free: cfg.Nodes[i]})
	}
	s.finder.reset(cfg.Placement, s.nodes)
	s.resetSketches()
	for i := range cfg.Functions {
		s.addFunction(int32(i))
	}
	for i := range cfg.Functions {
		s.deploy(int32(i))
	}
}

func (s *Sim) resetSketches() {
	if s.plan.bits == 0 {
		return
	}
	if s.sketches == nil {
		n := sketchLen(s.plan.bits)
		counts := make([]uint64, n*len(s.plan.fn))
		s.sketches = make([]Sketch, len(s.plan.fn))
		for i := range s.sketches {
			s.sketches[i] = Sketch{bits: s.plan.bits, counts: counts[i*n : (i+1)*n : (i+1)*n]}
		}
	}
	for i := range s.sketches {
		s.sketches[i].Reset()
	}
}

// keys sets the names under which function fi's draws are made.
func (s *Sim) keys(fi int32) {
	f := &s.fns[fi]
	f.demandKey = rng.New(s.seed, "sim/demand").With(uint64(fi))
	f.dispatchKey = rng.New(s.seed, "sim/dispatch").With(uint64(fi))
	f.coldKey = rng.New(s.seed, "sim/cold").With(uint64(fi))
}

func (s *Sim) addFunction(fi int32) {
	c := &s.plan.cfg.Functions[fi]
	s.fns = append(s.fns, function{
		queue: emptyList, ages: emptyList, all: emptyList, idle: emptyList, pending: emptyList, revision: none,
		keepAlive: c.KeepAlive,
		expire:    s.cal.handle(evExpire, fi), queueTimer: s.cal.handle(evQueueTimeout, fi),
		ageTimer: s.cal.handle(evTimeout, fi),
	})
	s.keys(fi)
	f := &s.fns[fi]
	f.row = none
	if c.Dispatch == Random {
		f.row, f.rowLen = int32(len(s.rows)), 1
		s.rows = append(s.rows, none)
	}
	s.newRevision(f, c.Sizing)
	s.makeBuckets(fi, c.Sizing.Concurrency)
}

// deploy launches function fi's first instances.
func (s *Sim) deploy(fi int32) {
	f := &s.fns[fi]
	for range f.min {
		starts := s.starts
		i := s.launch(fi, AnyNode)
		if s.plan.cfg.Functions[fi].Warm && s.insts[i].state == Starting {
			s.cal.cancel(s.insts[i].h)
			f.tally.ColdStarts--
			s.starts = starts
			s.ready(i, false)
		}
	}
}

// Now is the present moment.
func (s *Sim) Now() Time { return s.cal.now }

// Seed is the seed of the last Reset.
func (s *Sim) Seed() uint64 { return s.seed }

// Run lets everything before until happen and sets the clock to until (with Forever, to the last event). Windows
// are half open: what a caller changes at a boundary precedes what happens there. It returns true if Pause stopped
// it early; Now is then the moment of the pause. A nil handler ignores everything. Called from a handler it does
// nothing and returns true.
func (s *Sim) Run(h Handler, until Time) (paused bool) {
	if s.running {
		return true
	}
	if h == nil {
		h = silent{}
	}
	s.handler, s.paused, s.running = h, false, true
	for !s.paused {
		e, ok := s.cal.pop(min(until, maxClock))
		if !ok {
			break
		}
		r := s.cal.what[e]
		i := r.index()
		switch r.kind() {
		case evRequest:
			if s.reqs[i].state == reqEnding {
				s.report(i)
			} else {
				s.arrive(i)
			}
		case evInstance:
			s.advance(i)
		case evExpire:
			s.expire(i)
		case evQueueTimeout:
			s.giveUp(i)
		case evTimeout:
			s.timeOut(i)
		case evTimer:
			s.fire(i)
		}
	}
	s.handler, s.running = silent{}, false
	if !s.paused && until != Forever {
		s.cal.now = max(s.cal.now, min(until, maxClock))
	}
	return s.paused
}

// Pause makes Run, from one of whose callbacks it is called, return after the present event.
func (s *Sim) Pause() { s.paused = true }

// Next is the time of the next event; ok is false if nothing is left to happen.
func (s *Sim) Next() (t Time, ok bool) { return s.cal.next() }

// silent is the handler of a caller who does not listen.
type silent struct{}

func (silent) Finished(*Sim, Response) {}
func (silent) Fired(*Sim, Timer)       {}

// Functions is the number of functions.
func (s *Sim) Functions() int { return len(s.fns) }
