package serve

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Walk is a simulation whose requests walk a workflow. It is not safe for concurrent use; copies are independent.
type Walk struct {
	cfg      Config
	flow     *workflow.Workflow
	nodes    int
	gated    []bool // per function: it has a gate
	words    int    // of a request's bit set of places held; 0 without gates
	sim      *sim.Sim
	tracker  *workflow.Tracker
	users    workload.Users    // in a closed loop
	arrivals workload.Arrivals // in an open loop
	closed   bool

	load
	asked    []uint32 // number of requests of each user in this generation
	requests []request
	gates    []gate
	visited  []sim.Time // per request and node, with gates: when the visit arrived
	held     []uint64   // per request, with gates: the bit set of the nodes whose gate it has entered and not left
	fans     []fan      // per request and node, where visits fan out

	// Buffers that hold nothing between calls.
	step workflow.Step
	now  Visit // that a hook is asked about
	run  Run   // that a hook is told of
	err  error // the first error inside the simulator's loop
}

// request is a request in the workflow. Its index is the tracker's run.
type request struct {
	begun sim.Time
	// a and b are the request's part of the keys of its draws: stream and arrival, or user and number.
	a, b uint64
	user int32
	// number is the request's index among those of its user.
	number uint32
	// use counts the requests that have used this run, one after another.
	use    uint32
	failed bool
}

// New returns a walk under seed 0. Errors name the field.
func New(c Config) (*Walk, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	w := &Walk{cfg: c, flow: c.Flow, nodes: c.Flow.NumNodes()}
	n := c.Flow.NumFunctions()
	w.gated, w.gates = make([]bool, n), make([]gate, n)
	for node := range w.nodes {
		if len(c.Flow.Callees(node)) > 0 && c.Hooks.Places != nil {
			w.gated[c.Flow.Function(node)] = true
		}
	}
	if slices.Contains(w.gated, true) {
		w.words = (w.nodes + 63) / 64
	}
	var err error
	if s := c.Source; s != nil {
		if w.closed = s.Closed(); w.closed {
			w.users, err = s.Users(0)
		} else {
			w.arrivals, err = s.Arrivals(0)
		}
		if err != nil {
			return nil, err
		}
	}
	if w.sim, err = sim.New(c.Platform, 0); err != nil {
		return nil, err
	}
	if err := c.Flow.Walkable(); err != nil {
		return nil, err
	}
	w.tracker = workflow.NewTracker(c.Flow, 0)
	return w, nil
}

// Sim is the platform: deploy on it and read its meters, but let [Walk.Run] run it.
func (w *Walk) Sim() *sim.Sim { return w.sim }

// Live returns the number of requests in flight.
func (w *Walk) Live() int { return w.tracker.Live() }

// Gated reports whether a function has a gate.
func (w *Walk) Gated(function int) bool { return w.gated[function] }

// Reset drops everything and begins again at time 0 under a seed.
func (w *Walk) Reset(seed uint64) error {
	if w.closed {
		var err error
		if w.users, err = w.cfg.Source.Users(seed); err != nil {
			return err
		}
	}
	if w.arrivals != nil {
		w.arrivals.Reset(seed)
	}
	w.sim.Reset(seed)
	w.tracker.Reset(seed)
	w.load = load{}
	w.asked, w.requests, w.visited, w.held, w.fans = w.asked[:0], w.requests[:0], w.visited[:0], w.held[:0], w.fans[:0]
	for i := range w.gates {
		w.gates[i].clear()
	}
	return nil
}

// Run lets everything before until happen.
func (w *Walk) Run(until sim.Time) error {
	w.sim.Run(handler{w}, until)
	err := w.err
	w.err = nil
	return err
}

// Request begins a request now, with the names of its draws. Use it where there is no load.
func (w *Walk) Request(a, b uint64) error {
	if w.cfg.Source != nil {
		return fmt.Errorf("serve: a request beside those of the load, want none")
	}
	w.begin(a, b, 0, 0)
	err := w.err
	w.err = nil
	return err
}

// handler receives the simulator's events.
type handler struct{ w *Walk }

// Finished handles the end of a task, or its failure.
func (h handler) Finished(_ *sim.Sim, r sim.Response) {
	w := h.w
	run, node, _, use := untag(r.Tag)
	f := int(r.Function)
	if int(run) >= len(w.requests) {
		w.fail(fmt.Errorf("a visit of request %d of %d ends", run, len(w.requests)))
		return
	}
	q := &w.requests[run]
	over := q.use&useMask != use // the request has already ended
	if w.cfg.Hooks.Ran != nil {
		of := run
		if over {
			of = -1
		}
		w.run = Run{r.Function, of, r.Outcome, r.Cold, r.Arrived, r.Started, r.Ended}
		w.cfg.Hooks.Ran(&w.run)
	}
	if over {
		return
	}
	if r.Outcome != sim.Completed && (w.cfg.Ignored == nil || !w.cfg.Ignored[f]) {
		q.failed = true
		if w.cfg.Abort {
			w.fail(w.tracker.Cancel(run))
			w.finish(run, -1)
			return
		}
	}
	if w.cfg.Hooks.Tasks != nil && !w.last(run, node) {
		return
	}
	w.fail(w.tracker.Done(run, node, &w.step))
	w.proceed(run, 0)
}

// fail records the first error and stops the simulation. An error means that the walk's state is inconsistent.
func (w *Walk) fail(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.sim.Pause()
	}
}

// begin starts a request whose draws are keyed by (a, b).
func (w *Walk) begin(a, b uint64, user int32, number uint32) {
	run := w.tracker.Begin(a, b, &w.step)
	for int(run) >= len(w.requests) {
		w.requests = append(w.requests, request{})
		if w.words > 0 {
			w.visited = grow(w.visited, w.nodes)
			w.held = grow(w.held, w.words)
		}
		if w.cfg.Hooks.Tasks != nil {
			w.fans = grow(w.fans, w.nodes)
		}
	}
	w.requests[run] = request{begun: w.sim.Now(), a: a, b: b, user: user, number: number, use: w.requests[run].use + 1}
	if w.cfg.Hooks.Began != nil {
		w.cfg.Hooks.Began(w.told(run, -1))
	}
	w.proceed(run, w.cfg.Delay)
}

// grow appends n zeros.
func grow[T any](s []T, n int) []T {
	var zero T
	for range n {
		s = append(s, zero)
	}
	return s
}

// told is what hooks are told of a request.
func (w *Walk) told(run, last int32) Request {
	q := &w.requests[run]
	return Request{A: q.a, B: q.b, Run: run, Begun: q.begun, Failed: q.failed, Last: last, Counted: w.counting}
}

// proceed performs the tracker's step after a delay.
func (w *Walk) proceed(run int32, delay sim.Time) {
	for _, v := range w.step.Returned {
		if f := w.flow.Function(int(v.Node)); w.gated[f] {
			if w.cfg.Hooks.Returned != nil {
				w.cfg.Hooks.Returned(f, w.sim.Now()-*w.visit(run, v.Node))
			}
			w.leave(run, v.Node)
		}
	}
	for _, v := range w.step.Start {
		w.call(run, v, w.sim.Now()+delay+w.cfg.Hop)
	}
	if w.step.Finished {
		w.finish(run, w.step.Returned[len(w.step.Returned)-1].Node)
	}
}

// call submits a visit's tasks to its function, or queues it at the function's gate.
func (w *Walk) call(run int32, v workflow.Visit, at sim.Time) {
	f := w.flow.Function(int(v.Node))
	if w.cfg.Hooks.Tasks != nil {
		w.fanOut(run, v.Node, v.Number, at)
		return
	}
	if !w.gated[f] {
		w.submit(run, v.Node, v.Number, 0, at)
		return
	}
	w.arrive(run, v.Node, v.Number, at)
}

// submit sends a task to the simulator.
func (w *Walk) submit(run, node, number, task int32, at sim.Time) {
	q := &w.requests[run]
	f := int32(w.flow.Function(int(node)))
	w.now = Visit{A: q.a, B: q.b, Run: run, Node: node, Function: f, Number: number, Task: task, Spoilt: q.failed}
	work, id := w.cfg.Hooks.Work(&w.now)
	w.fail(w.sim.Submit(sim.Request{
		Function: f, At: at, Demand: max(sim.Seconds(work), 1), Tag: tagOf(run, node, number, q.use), ID: id,
	}))
}

// finish ends a request. In a closed loop its user thinks and then sends the next request.
func (w *Walk) finish(run, last int32) {
	q := &w.requests[run]
	w.leaveAll(run)
	q.use++
	if w.cfg.Hooks.Ended != nil {
		w.cfg.Hooks.Ended(w.told(run, last))
	}
	if w.closed && w.open {
		w.think(int(q.user))
	}
}
