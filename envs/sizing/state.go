package sizing

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/state"
)

// world is the state of an episode, except for the requests' walk.
type world struct {
	progress
	lastLoad float64
	// The current window so far.
	begun, failures int
	// The last window's numbers.
	result
	inForce []Resources
	action  []float32
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
}

func (w *world) init(a *app) {
	n := a.flow.NumFunctions()
	w.inForce = make([]Resources, n)
	w.action = make([]float32, n*a.rng.Components())
	w.interference = make([]float64, n)
	w.durations = make([][]float64, n)
	w.functions = make([]functionResult, n)
}

// reset empties the world for a new episode.
func (w *world) reset(seed uint64) {
	w.clear()
	w.progress = progress{seed: seed, keys: newKeys(seed)}
	w.lastLoad, w.result, w.trend = 0, result{}, trend{}
	clear(w.functions)
}

// clear empties the window's measurements.
func (w *world) clear() {
	w.begun, w.failures, w.latencies = 0, 0, w.latencies[:0]
	for f := range w.durations {
		w.durations[f] = w.durations[f][:0]
	}
}

// CopyFrom implements [envs.Env].
func (e *Env) CopyFrom(src envs.Env) error { return envs.CopyState(e, src) }

// AppendBinary implements [envs.Env].
func (e *Env) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, e.id, e) }

// UnmarshalBinary implements [envs.Env].
func (e *Env) UnmarshalBinary(b []byte) error { return state.Load(b, e.id, e) }

// State implements [state.Stater].
func (e *Env) State(c *state.Codec) {
	c.Same("configuration", e.fingerprint)
	e.walk.List(c, serve.Parts)
	state.Value(c, &e.progress)
	e.walk.List(c, serve.Load)
	state.Value(c, &e.lastLoad)
	state.Value(c, &e.begun)
	state.Value(c, &e.failures)
	state.Value(c, &e.result)
	if len(e.cfg.Reward.Dial) > 0 {
		state.Value(c, &e.dial)
	}
	if e.observer.described != nil {
		state.Value(c, &e.trend)
	}
	e.walk.List(c, serve.Asked)
	state.Fixed(c, e.inForce)
	state.Fixed(c, e.action)
	e.walk.List(c, serve.Requests)
	state.Fixed(c, e.interference)
	state.Slice(c, &e.latencies)
	state.Fixed(c, e.functions)
	if c.Loaded() {
		c.Fail(e.consistent())
	}
	if c.Filled() {
		e.name()
		// A function's durations are used up at the end of each window, and copies are made between windows.
		for f := range e.durations {
			e.durations[f] = e.durations[f][:0]
		}
	}
}

// consistent refuses states that no episode reaches.
func (e *Env) consistent() error {
	switch {
	case e.windows < 0 || e.windows > e.cfg.Windows || e.all < 0 || e.all > e.needed():
		return fmt.Errorf("window %d of %d, %d of %d with those before the episode", e.windows, e.cfg.Windows, e.all,
			e.needed())
	case e.userCount < 0 || e.walk.NumUsers() != e.userCount:
		return fmt.Errorf("%d users, of whom %d have asked", e.userCount, e.walk.NumUsers())
	case e.userCount > 0 && !e.source.Closed():
		return fmt.Errorf("%d users, but the load is not one of users", e.userCount)
	case e.dial < 0 || !(e.dial <= 1e6):
		return fmt.Errorf("a dial of %g, want 0 to 1e6", e.dial)
	case !e.trend.finite():
		return fmt.Errorf("a trend of %+v", e.trend)
	}
	for f, r := range e.inForce {
		if r.Replicas < 0 || r.Replicas > 1<<16 || r.Concurrency < 0 || r.Concurrency > 1<<16 {
			return fmt.Errorf("function %d has %d replicas of concurrency %d, want 0 to %d", f, r.Replicas, r.Concurrency, 1<<16)
		}
	}
	return e.walk.Check()
}
