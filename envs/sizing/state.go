package sizing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
)

// world is the state of an episode, except for the simulation, the tracker and the arrivals.
type world struct {
	progress
	asked    []uint32 // number of requests of each user in this generation
	inForce  []Resources
	action   []float32
	requests []request
	gates    []gate
	visited  []sim.Time // per run and node, where there are gates
	held     []uint64   // per run, where there are gates: the bit set of the nodes whose gate it has entered and not left
	// interference is the factor on each function's work in this window.
	interference []float64
	dial         float64          // of the episode; 0 where the reward has none
	trend        trend            // where the described features show it
	latencies    []float64        // of successes in this window, in seconds
	durations    [][]float64      // of each function's completed visits in this window, in seconds
	functions    []functionResult // of the last window
}

// progress holds the scalars of the world.
type progress struct {
	seed           uint64
	keys           keys
	started, ended bool
	windows        int // windows of the episode so far
	all            int // windows so far, with those before the episode
	qos            QoS
	userCount      int
	slot           int // window of the workload at which the windows before the episode begin
	// offset is the workload's time minus the simulation's.
	offset int64
	next   workload.Arrival
	more   bool
	until  sim.Time // end of the current window
	// open: users may send requests. counting: requests that end count in the window's measurements.
	open, counting bool
	// muted: no new request begins.
	muted bool
	// generation numbers the deployments of the fresh protocol.
	generation uint32
	lastLoad   float64
	// The current window so far.
	begun, failures int
	// The last window's numbers.
	result
}

func (w *world) init(a *app) {
	n := a.flow.NumFunctions()
	w.inForce = make([]Resources, n)
	w.action = make([]float32, n*a.rng.Components())
	w.gates = make([]gate, n)
	w.interference = make([]float64, n)
	w.durations = make([][]float64, n)
	w.functions = make([]functionResult, n)
}

// reset empties the world for a new episode.
func (w *world) reset(seed uint64) {
	w.clear()
	w.progress = progress{seed: seed, keys: newKeys(seed)}
	w.trend = trend{}
	w.asked, w.requests, w.visited, w.held = w.asked[:0], w.requests[:0], w.visited[:0], w.held[:0]
	for i := range w.gates {
		w.gates[i].clear()
	}
	clear(w.functions)
}

// clear empties the window's measurements.
func (w *world) clear() {
	w.begun, w.failures, w.latencies = 0, 0, w.latencies[:0]
	for f := range w.durations {
		w.durations[f] = w.durations[f][:0]
	}
}

// CopyFrom implements [envs.Env]. Whether the copy is quiet does not change.
func (e *Env) CopyFrom(src envs.Env) error { return envs.CopyState(e, src) }

// AppendBinary implements [envs.Env].
func (e *Env) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, e.id, e) }

// UnmarshalBinary implements [envs.Env].
func (e *Env) UnmarshalBinary(b []byte) error { return state.Load(b, e.id, e) }

// State implements [state.Stater].
func (e *Env) State(c *state.Codec) {
	c.Same("configuration", e.fingerprint)
	c.Part(e.tracker)
	if e.arrivals != nil {
		state.Member(c, e.arrivals)
	}
	c.Part(e.sim)
	state.Value(c, &e.progress)
	if len(e.cfg.Reward.Dial) > 0 {
		state.Value(c, &e.dial)
	}
	if e.observer.described != nil {
		state.Value(c, &e.trend)
	}
	state.Slice(c, &e.asked)
	state.Fixed(c, e.inForce)
	state.Fixed(c, e.action)
	state.Slice(c, &e.requests)
	for f, gated := range e.app.gated {
		if gated {
			c.Part(&e.gates[f])
		}
	}
	state.Slice(c, &e.visited)
	state.Slice(c, &e.held)
	state.Fixed(c, e.interference)
	state.Slice(c, &e.latencies)
	state.Fixed(c, e.functions)
	if c.Loaded() {
		c.Fail(e.consistent())
	}
	if c.Filled() {
		// A function's durations are used up at the end of each window, and copies are made between windows.
		for f := range e.durations {
			e.durations[f] = e.durations[f][:0]
		}
		if e.source.Closed() {
			var err error
			e.users, err = e.source.Users(e.seed)
			c.Fail(err)
		}
	}
}

// State implements [state.Stater].
func (g *gate) State(c *state.Codec) {
	if o := state.Source(c, g); o != nil {
		g.taken, g.queue, g.head = o.taken, append(g.queue[:0], o.queue[o.head:]...), 0
	}
	if !c.Stored() {
		return
	}
	waiting := g.queue[g.head:]
	state.Value(c, &g.taken)
	state.Slice(c, &waiting)
	if c.Loaded() {
		g.queue, g.head = waiting, 0
	}
}

// consistent refuses states that no episode reaches.
func (e *Env) consistent() error {
	switch {
	case e.windows < 0 || e.windows > e.cfg.Windows || e.all < 0 || e.all > e.needed():
		return fmt.Errorf("window %d of %d, %d of %d with those before the episode", e.windows, e.cfg.Windows, e.all,
			e.needed())
	case e.userCount < 0 || len(e.asked) != e.userCount:
		return fmt.Errorf("%d users, of whom %d have asked", e.userCount, len(e.asked))
	case e.userCount > 0 && !e.source.Closed():
		return fmt.Errorf("%d users, but the load is not one of users", e.userCount)
	case e.dial < 0 || !(e.dial <= 1e6):
		return fmt.Errorf("a dial of %g, want 0 to 1e6", e.dial)
	case !e.trend.finite():
		return fmt.Errorf("a trend of %+v", e.trend)
	case e.tracker.Live() > len(e.requests):
		return fmt.Errorf("%d requests are in flight, but %d known", e.tracker.Live(), len(e.requests))
	}
	nodes := e.app.flow.NumNodes()
	if e.app.anyGated() && len(e.visited) != nodes*len(e.requests) {
		return fmt.Errorf("%d visits of %d requests to %d nodes", len(e.visited), len(e.requests), nodes)
	}
	words := e.app.words()
	if len(e.held) != words*len(e.requests) {
		return fmt.Errorf("%d words for the slots of %d requests, want %d for each", len(e.held), len(e.requests), words)
	}
	for i, w := range e.held {
		if last := nodes - 64*(i%words); last < 64 && w>>last != 0 {
			return fmt.Errorf("request %d holds slots %b beyond the last of %d nodes", i/words, w, nodes)
		}
	}
	for f, r := range e.inForce {
		if r.Replicas < 0 || r.Replicas > 1<<16 || r.Concurrency < 0 || r.Concurrency > 1<<16 {
			return fmt.Errorf("function %d has %d replicas of concurrency %d, want 0 to %d", f, r.Replicas, r.Concurrency, 1<<16)
		}
	}
	for f := range e.gates {
		for _, t := range e.gates[f].queue {
			run, node, _, _ := untag(t)
			if int(run) >= len(e.requests) || int(node) >= nodes || e.app.flow.Function(int(node)) != f {
				return fmt.Errorf("function %d has node %d of request %d of %d in line", f, node, run, len(e.requests))
			}
		}
	}
	users := 1 // the load as a whole
	if e.source.Closed() {
		users = e.userCount
	}
	for i := range e.requests {
		if q := &e.requests[i]; q.user < 0 || int(q.user) >= users {
			return fmt.Errorf("request %d is of user %d of %d", i, q.user, users)
		}
	}
	return nil
}
