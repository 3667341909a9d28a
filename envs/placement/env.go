package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// ID names the environment.
//
// Version 2 shows how much of each waiting invocation fits each node as a table of integers ([Layout.Fits]). Dynamics, graphs, masks and
// rewards are those of version 1, in which masks were computed again from the graph's features.
const ID = "stoker/Placement-v2"

// Env is a cluster of unlike nodes that serves requests, each of one or several invocations of functions that depend on each other. An
// action says which of the waiting invocations that are seen is started, with how much, and on which node; or it waits. Starting takes no time: the step's
// Elapsed is 0. A wait lets time pass, as [Config.Wait] says.
//
// An invocation waits from when those before it are done. Started, it fetches what those before it left on other nodes, over its share of the network; it
// runs cold unless an instance of its function is warm on the node; and it holds its resources to the end. Then its instance stays warm, holding
// its memory, until another invocation uses it, it has been idle for KeepAlive seconds, or a cold start needs its memory (the one
// that has been idle for longest goes first).
//
// The reward is the weighted sum of four terms, each of which is minus something: latency Σ over requests in the system of time passed / ideal response time
// (an episode's sum is that of all slowdowns, as in DeepRM), utilisation the share of the cluster that was idle while an invocation waited, times the seconds that
// it was, violations the deadlines missed, counted as requests end, and cost in USD. Undiscounted, an episode's return is so minus a weighted
// sum of what it reports.
//
// Options: load (float64) is the episode's load, up to the larger of Load and LoadTo.
type Env struct {
	s      *System
	c      *Config
	spec   *envs.Spec
	layout Layout

	arrivals arrivals
	sketch   sketch

	episode
	requests []request
	free     []int32    // places of requests that are free
	calls    []call     // invocations, [requests, steps]
	window   []int32    // invocations that wait and are seen, the first to wait first
	backlog  []int32    // those behind them, from head on
	active   []int32    // those that run, the first to be started first
	idle     []instance // warm instances, the longest idle first
	tally    tally

	// What follows from all this, see [Env.restore].
	sums
	rows      []float32 // features of invocations that do not change while they wait
	levels    []int32   // invocations of each level that are done, [requests, steps]
	ends      []int32   // those that run as a heap, the first to end on top
	nodes     []node
	pairs     []pair   // [functions, nodes]
	fits      []int8   // [functions, nodes]: how many of the amounts, from the smallest on, fit now
	warm      []uint64 // nodes on which a function has idle instances, as bits
	functions []load
}

// episode is the numbers of an episode that do not follow from others.
type episode struct {
	seed    uint64
	load    float64
	begun   bool  // there has been a Reset
	running bool  // the episode is under way
	now     int64 // µs
	elapsed int64 // µs that the last step took
	head    int   // of the backlog
	meter   meter
}

// sums are over what is in the system.
type sums struct {
	used   [NumResources]int64
	weight int64 // Σ 1/ideal of the requests, in 1/s × 2³²
	rate   int64 // pUSD a second
}

// request is a request in the system.
type request struct {
	number   uint64
	template int32
	priority int32
	left     int32 // invocations that are not done; 0 where the place is free
	arrived  int64
	deadline int64
	size     float64
	ideal    float64 // seconds
	inverse  int64   // 1/ideal in 1/s × 2³²
	work     float64 // of those not done, in shares of the largest nodes × seconds
	used     vector
	held     float64 // the largest share of the cluster's resources that its invocations hold
}

// call is an invocation of a request in the system.
type call struct {
	request, step, function int32
	node, amount            int32 // −1 before it is started
	pending                 int32 // invocations before it that are not done
	cold                    bool
	since                   int64 // from when it waits
	start, expected, finish int64
	work                    float64 // seconds at amount 1 and speed 1
	noise                   float64
	input                   float64 // MB
	shares                  [NumResources]float32
}

// Info of a step, in this order.
const (
	inSlowdown = iota
	inCallSlowdown
	inFinished
	inInvocations
	inDropped
	inViolations
	inColdStarts
	inColdShare
	inEvictions
	inCost
	inUtilisation
	inUsed // and one for each further resource
	_
	_
	_
	inEfficiency
	inWaiting
	inBacklog
	inRewards // of latency, and those of utilisation, violations and cost
	_
	_
	_
	infos
)

// New returns the environment, which wants Reset. w says which trace, and which part of it, workload azure has.
func New(c Config, w workload.Config) (*Env, error) {
	s, err := NewSystem(c, w)
	if err != nil {
		return nil, err
	}
	return s.Environment()
}

// Environment returns another environment of the same system.
func (s *System) Environment() (*Env, error) {
	e := &Env{s: s, c: &s.config, layout: s.layout()}
	var err error
	if e.arrivals, err = newArrivals(s); err != nil {
		return nil, err
	}
	n, f := len(s.nodes), len(s.functions)
	e.nodes, e.pairs, e.fits, e.functions = make([]node, n), make([]pair, f*n), make([]int8, f*n), make([]load, f)
	e.warm = make([]uint64, f*e.layout.words())
	e.window = make([]int32, 0, s.config.Window)
	e.sketch = newSketch(s, &e.layout)
	e.spec = e.describe()
	return e, nil
}

// Spec implements [envs.Env].
func (e *Env) Spec() *envs.Spec { return e.spec }

// System returns what stays the same from episode to episode.
func (e *Env) System() *System { return e.s }

// Layout says where numbers stand in an observation.
func (e *Env) Layout() Layout { return e.layout }

// Load is the episode's load.
func (e *Env) Load() float64 { return e.load }

// TraceDraws implements [envs.DrawTracer].
func (e *Env) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) {
	e.arrivals.traced = f
}

// AppendSamples implements [envs.Sampler].
func (e *Env) AppendSamples(i int, dst []float64) []float64 {
	if i == 0 {
		return append(dst, e.tally.slowdowns...)
	}
	return append(dst, e.tally.responses...)
}

// Reset implements [envs.Env].
func (e *Env) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	load, err := e.chooseLoad(seed, options)
	if err != nil {
		return err
	}
	e.begin(seed, load)
	e.see(obs)
	return nil
}

// begin starts an episode.
func (e *Env) begin(seed uint64, load float64) {
	e.episode, e.sums = episode{seed: seed, load: load, begun: true, running: true}, sums{}
	e.requests, e.free, e.calls, e.rows, e.levels = e.requests[:0], e.free[:0], e.calls[:0], e.rows[:0], e.levels[:0]
	e.window, e.backlog, e.active, e.ends, e.idle = e.window[:0], e.backlog[:0], e.active[:0], e.ends[:0], e.idle[:0]
	e.tally.clear()
	clear(e.pairs)
	clear(e.fits)
	clear(e.warm)
	for f := range e.functions {
		e.functions[f] = newLoad()
	}
	for n := range e.nodes {
		e.nodes[n] = node{free: e.s.nodes[n].capacity}
		e.refit(int32(n))
	}
	e.arrivals.begin(seed, load)
}

// Step implements [envs.Env].
func (e *Env) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !e.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", ID)
	}
	if len(act.Kinds) != 1 || len(act.Kinds[0]) != 3 {
		return envs.CheckAction(e.spec, nil, act)
	}
	a := act.Kinds[0]
	which, amount, at := int(a[0]), int(a[1]), int(a[2])
	if float32(which) != a[0] || float32(amount) != a[1] || float32(at) != a[2] || // also for NaN
		uint(which) > uint(e.layout.Wait()) || uint(amount) >= uint(len(e.c.Amounts)) || uint(at) >= uint(len(e.nodes)) {
		return envs.CheckAction(e.spec, nil, act)
	}
	if err := e.allowed(which, amount, at); err != nil {
		return err
	}
	e.apply(which, amount, at, out)
	e.report(out)
	e.see(obs)
	return nil
}

// allowed says why an action is not.
func (e *Env) allowed(which, amount, at int) error {
	if which == e.layout.Wait() {
		if amount != 0 || at != 0 {
			return fmt.Errorf("%s: waiting takes amount 0 and node 0, not %d and %d; the mask forbids it", ID, amount, at)
		}
		if !e.c.Hold {
			for c, i := range e.window {
				if e.functions[e.calls[i].function].fits > 0 {
					return fmt.Errorf("%s: waiting is not allowed (hold: false) while invocation %d fits; the mask forbids it", ID, c)
				}
			}
		}
		return nil
	}
	if which >= len(e.window) {
		return fmt.Errorf("%s: invocation %d is chosen, but %d wait in the window; the mask forbids it", ID, which, len(e.window))
	}
	f := e.calls[e.window[which]].function
	if int(e.fitting(f)[at]) <= amount {
		return fmt.Errorf("%s: invocation %d of %s does not fit node %d with amount %d (%g); the mask forbids it",
			ID, which, e.s.functions[f].name, at, amount, e.c.Amounts[amount])
	}
	return nil
}

// apply does what an allowed action says.
func (e *Env) apply(which, amount, at int, out *envs.Outcome) {
	before := e.now
	e.meter = meter{}
	e.tally.slowdowns, e.tally.responses = e.tally.slowdowns[:0], e.tally.responses[:0]
	terminated, truncated := false, false
	if which == e.layout.Wait() {
		terminated, truncated = e.wait()
		e.running = !terminated && !truncated
	} else {
		e.place(which, int32(amount), int32(at))
	}
	e.elapsed = e.now - before
	out.Terminated, out.Truncated, out.Elapsed = terminated, truncated, e.elapsed
}

// Imagine draws anew what arrives from now on, for planners that are not to see what will. Two things stay as they would have been: when the
// next request arrives where the workload is steady, whose gaps are nearly equal, and how long the executions take of what has arrived.
// Whether a source is in a burst is drawn anew. Reset, and CopyFrom of another environment, end imagining.
func (e *Env) Imagine(seed uint64) { e.arrivals.imagine(seed, e.now) }

// chooseLoad returns the option's load, or the seed's.
func (e *Env) chooseLoad(seed uint64, options envs.Options) (float64, error) {
	load, most := e.arrivals.load(seed), max(e.c.Load, e.c.LoadTo)
	for name, v := range options {
		if name != "load" {
			return 0, fmt.Errorf("%s: unknown option %q, want load", ID, name)
		}
		x, ok := v.(float64)
		if !ok || !(x >= 0 && x <= most) {
			return 0, fmt.Errorf("%s: option load is %v, want a float64 from 0 to %g, the largest that is configured", ID, v, most)
		}
		load = x
	}
	return load, nil
}
