package placement

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// ID names the environment.
//
// Version 2 shows the legality table ([Layout.Fits]). Dynamics, graphs, masks and rewards are those of version 1, in
// which masks were computed again from the features of the graph.
const ID = "stoker/Placement-v2"

// Env is a cluster of unlike nodes that serves requests. A request is a run of a workflow: one or several invocations
// of functions that depend on each other. An action starts one of the waiting invocations that are seen, with an amount
// of resources and on a node; or it waits. A start takes no time: the step's Elapsed is 0. A wait lets time pass, as
// [Config.Wait] says.
//
// An invocation waits from the time when its predecessors are done. Once started, it fetches the output of predecessors
// that ran on other nodes, at its share of the network. It starts cold unless an instance of its function is warm on
// the node. It holds its resources to the end. Then its instance stays warm and holds its memory, until another
// invocation uses it, it has been idle for KeepAlive seconds, or a cold start needs its memory (the instance that has
// been idle for longest is evicted first).
//
// The reward is the weighted sum of four terms, each at most 0. Latency is −Σ over requests in the system of time
// passed / ideal response time, so that an episode's sum is minus that of all slowdowns, as in DeepRM. Utilisation is
// −the idle share of the cluster while an invocation waits, times the seconds. Violations is −the deadlines missed,
// counted when requests end. Cost is −USD. Undiscounted, the return of an episode is thus minus a weighted sum of what
// the episode reports.
//
// Options: load (float64) is the episode's load, up to the larger of Load and LoadTo.
type Env struct {
	view
	spec     *envs.Spec
	arrivals arrivals

	episode
	free    []int32    // free places in requests
	backlog []int32    // invocations that wait and are not seen, from head on
	idle    []instance // warm instances, the longest idle first
	tally   tally

	// The rest follows from the fields above and those of the view, see [Env.restore].
	ends []ending // invocations that run, as a heap

	places []int // of requests in a cluster, memory of [Env.Cluster]
}

// episode holds the numbers of an episode that do not follow from others.
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

// sums are totals over what is in the system.
type sums struct {
	used   [NumResources]int64
	weight int64 // Σ 1/ideal of the requests, in 1/s × 2³²
	rate   int64 // pUSD a second
}

// request is a request in the system.
type request struct {
	number   uint64
	workflow int32
	priority int32
	left     int32 // invocations that are not done; 0 in a free place
	arrived  int64
	deadline int64
	size     float64
	ideal    float64 // seconds
	inverse  int64   // 1/ideal in 1/s × 2³²
	work     float64 // of the invocations that are not done, in shares of the largest node × seconds
	used     vector
	held     float64 // the largest share of the cluster's resources that its invocations hold
}

// invocation is an invocation of a request in the system.
type invocation struct {
	request, step, function int32
	node, amount            int32 // −1 before it is started
	pending                 int32 // predecessors that are not done
	cold                    bool
	since                   int64 // when it began to wait
	start, expected, finish int64
	work                    float64 // seconds at amount 1 and speed 1
	noise                   float64
	input                   float64 // MB
	shares                  [NumResources]float32
}

// Info of a step, in this order.
const (
	inSlowdown = iota
	inInvocationSlowdown
	inFinished
	inInvocations
	inDropped
	inViolations
	inColdStarts
	inColdShare
	inEvictions
	inCost
	inUtilisation
	inUsed // one for each resource
	_
	_
	_
	inEfficiency
	inWaiting
	inBacklog
	inRewards // latency, utilisation, violations, cost
	_
	_
	_
	infos
)

// New returns an environment; call Reset before Step. w says which trace, and which part of it, workload azure has.
func New(c Config, w workload.Config) (*Env, error) {
	s, err := NewSystem(c, w)
	if err != nil {
		return nil, err
	}
	return s.Environment()
}

// Environment returns another environment of the same system.
func (s *System) Environment() (*Env, error) {
	e := &Env{view: newView(s)}
	var err error
	if e.arrivals, err = newArrivals(s); err != nil {
		return nil, err
	}
	e.spec = e.layout.describe()
	return e, nil
}

// Spec implements [envs.Env].
func (e *Env) Spec() *envs.Spec { return e.spec }

// System returns what all episodes share.
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
	e.see(e.now, obs)
	return nil
}

// begin starts an episode.
func (e *Env) begin(seed uint64, load float64) {
	e.episode, e.sums = episode{seed: seed, load: load, begun: true, running: true}, sums{}
	e.requests, e.free, e.invocations = e.requests[:0], e.free[:0], e.invocations[:0]
	e.rows, e.levels = e.rows[:0], e.levels[:0]
	e.window, e.backlog, e.active, e.ends, e.idle = e.window[:0], e.backlog[:0], e.active[:0], e.ends[:0], e.idle[:0]
	e.tally.clear()
	clear(e.pairs)
	clear(e.fits)
	clear(e.warm)
	for f := range e.functions {
		e.functions[f] = newFunctionState()
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
	which, amount, at, ok := e.layout.choices(act.Kinds[0])
	if !ok {
		return envs.CheckAction(e.spec, nil, act)
	}
	if err := e.allowed(which, amount, at); err != nil {
		return err
	}
	e.apply(which, amount, at, out)
	e.report(out)
	e.see(e.now, obs)
	return nil
}

// allowed returns an error where an action is illegal.
func (e *Env) allowed(which, amount, at int) error {
	if which == e.layout.Wait() {
		if amount != 0 || at != 0 {
			return fmt.Errorf("%s: waiting takes amount 0 and node 0, not %d and %d; the mask forbids it", ID, amount, at)
		}
		if !e.c.Hold {
			for c, i := range e.window {
				if e.functions[e.invocations[i].function].fits > 0 {
					return fmt.Errorf("%s: waiting is not allowed (hold: false) while invocation %d fits; the mask forbids it", ID, c)
				}
			}
		}
		return nil
	}
	if which >= len(e.window) {
		return fmt.Errorf("%s: invocation %d is chosen, but %d wait in the window; the mask forbids it", ID, which,
			len(e.window))
	}
	f := e.invocations[e.window[which]].function
	if int(e.fitting(f)[at]) <= amount {
		return fmt.Errorf("%s: invocation %d of %s does not fit node %d with amount %d (%g); the mask forbids it",
			ID, which, e.s.functions[f].name, at, amount, e.c.Amounts[amount])
	}
	return nil
}

// apply carries out a legal action.
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

// Imagine draws all later arrivals anew, for planners that must not see the true ones. Two things stay as they would
// have been: the time of the next request of a steady workload, whose gaps are nearly equal, and the execution times of
// requests that have arrived. Whether a source is in a burst is drawn anew. Reset, and CopyFrom of another environment,
// end imagining.
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
			return 0, fmt.Errorf("%s: option load is %v, want a float64 from 0 to %g, the largest that is configured", ID, v,
				most)
		}
		load = x
	}
	return load, nil
}
