package sim

import "github.com/stoker-rl/stoker/rng"

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
	scratch []int32
}
