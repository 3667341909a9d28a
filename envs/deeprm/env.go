package deeprm

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// ID names the environment.
const ID = "stoker/DeepRM-v1"

// Env is a cluster in which at most one job arrives in each time step. A job waits, in a visible place or in the
// backlog behind them, until the scheduler starts it. An action is the number of a visible place, whose job starts, or
// the number of places, which lets one time step (1 s) pass. A start takes no time: the step's Elapsed is 0.
//
// Letting time pass earns −Σ 1/length over the jobs in the system afterwards (HotNets eq. 1, undiscounted); a start
// earns 0. An episode's return is thus minus the sum of all slowdowns, up to jobs that arrive and leave in the same
// step.
//
// Options: set (int) names one of the job sets that recur.
type Env struct {
	c           Config
	spec        *envs.Spec
	source      source
	fingerprint uint64    // of the configuration
	booking     bool      // a start may be booked for a later time step
	inverse     []int64   // 1/length, in units of 1/one
	usage       []float64 // share of all slots in use, by the number of those free
	screen      screen

	episode
	jobs    []job     // by time step of arrival
	visible []int32   // job in each visible place, −1 where there is none
	backlog []int32   // a ring
	active  []int32   // jobs that run or are booked, in the order of their placement
	ends    []float64 // slowdowns of the jobs that left in the last step

	// The rest follows from the fields above, see [Env.restore].
	sums
	cluster cluster
	needs   []uint64 // demand of the job in each visible place, [never] where there is none
}

// episode holds the numbers of an episode that do not follow from others.
type episode struct {
	seed    uint64
	begun   bool // there has been a Reset
	running bool // the episode is under way
	now     int32
	first   int // place of the backlog's oldest job in its ring
	waiting int // jobs in the backlog
	started int // jobs started so far
	tally   tally
}

// sums are totals over the jobs in the system.
type sums struct {
	shown   int   // visible jobs
	weight  int64 // Σ 1/length over all jobs, in units of 1/one
	soonest int32 // no active job leaves before this time step
}

// one is 1 in the fixed-point numbers in which 1/length is summed: such sums are exact in any order.
const one = 1 << 40

// second is the length of a time step in microseconds. The published code gives its time steps no length.
const second = 1_000_000

// Info of a step, in this order.
const (
	infoSlowdown = iota
	infoFinished
	infoDropped
	infoWaiting
	infoUtilisation
	infos
)

// New returns an environment; call Reset before Step.
func New(c Config) (*Env, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	e := &Env{
		c: c, fingerprint: fingerprint(&c), booking: c.Start == StartEarliest, inverse: make([]int64, c.longest()+1),
		cluster: cluster{free: make([]uint64, c.Horizon)}, jobs: make([]job, c.Steps), visible: make([]int32, c.Visible),
		needs:   make([]uint64, c.Visible),
		backlog: make([]int32, c.Backlog), active: make([]int32, 0, c.Steps),
		ends: make([]float64, 0, c.Steps),
	}
	e.source = newSource(&e.c)
	for n := 1; n < len(e.inverse); n++ {
		e.inverse[n] = one / int64(n)
	}
	all := c.Resources * c.Slots
	e.usage = make([]float64, all+1)
	for free := range e.usage {
		e.usage[free] = float64(all-free) / float64(all)
	}
	for r := range c.Resources {
		e.cluster.full |= uint64(c.Slots) << (16 * r)
	}
	e.screen = newScreen(&e.c)
	e.spec = e.describe()
	return e, nil
}

func (e *Env) describe() *envs.Spec {
	layout := NewLayout(&e.c)
	features, units, docs := envs.Columns(layout.components())
	some := envs.AtLeast(0)
	return &envs.Spec{
		ID: ID, Doc: "Start waiting jobs on a cluster of several resources, one after another, then let a time step pass.",
		Kinds: []envs.Kind{{
			Name: "scheduler", Agents: 1, Observation: layout.space(), Action: envs.Discrete{N: e.c.Visible + 1},
			Doc: layout.doc(), Features: features, FeatureUnits: units, FeatureDocs: docs,
			Actions: []string{"place"}, ActionUnits: []string{""}, ActionDocs: []string{fmt.Sprintf(
				"0 to %d starts the job in that place, %d lets a time step pass", e.c.Visible-1, e.c.Visible)},
		}},
		Step: envs.Timing{Unit: "decision"}, Objective: "slowdown",
		Info: []envs.Quantity{
			{Name: "slowdown", Unit: "1", Better: envs.Lower, Reduce: envs.Last, Bounds: some,
				Doc: "mean over the jobs finished so far of (finish − arrival) / length; " +
					"at a cut the others count too, with their time so far"},
			{Name: "finished", Unit: "jobs", Better: envs.Higher, Reduce: envs.Last, Bounds: some,
				Doc: "jobs finished so far"},
			{Name: "dropped", Unit: "jobs", Better: envs.Lower, Reduce: envs.Last, Bounds: some,
				Doc: "jobs that found the backlog full so far"},
			{Name: "waiting", Unit: "jobs", Better: envs.Lower, Reduce: envs.PerTime, Bounds: some,
				Doc: "jobs that are visible or in the backlog"},
			{Name: "utilisation", Unit: "1", Better: envs.Higher, Reduce: envs.PerTime, Bounds: envs.Share(),
				Doc: "share of the slots in use, mean over resources"},
		},
		Samples: []envs.Quantity{{Name: "slowdown", Unit: "1", Better: envs.Lower, Reduce: envs.Mean,
			Doc: "of each job that finished"}},
	}
}

// Spec implements [envs.Env].
func (e *Env) Spec() *envs.Spec { return e.spec }

// Config returns the configuration.
func (e *Env) Config() Config { return e.c }

// TraceDraws implements [envs.DrawTracer].
func (e *Env) TraceDraws(f func(purpose string, a, b, c uint64, value float64)) {
	e.source.traced = f
}

// AppendSamples implements [envs.Sampler].
func (e *Env) AppendSamples(_ int, dst []float64) []float64 { return append(dst, e.ends...) }

// Set is the job set of the episode, −1 where every seed draws its own.
func (e *Env) Set() int { return e.source.set }

// Reset implements [envs.Env].
func (e *Env) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	set, err := e.chooseSet(seed, options)
	if err != nil {
		return err
	}
	e.begin(seed, set)
	e.see(obs)
	return nil
}

// chooseSet returns the option's job set, or the seed's.
func (e *Env) chooseSet(seed uint64, options envs.Options) (int, error) {
	n := e.source.sets()
	set := -1
	if n > 0 {
		set = rng.New(seed, "job set").IntN(n)
	}
	for name, v := range options {
		if name != "set" {
			return 0, fmt.Errorf("%s: unknown option %q, want set", ID, name)
		}
		k, ok := v.(int)
		if !ok || k < 0 || k >= n {
			return 0, fmt.Errorf("%s: option set is %v, want an int from 0 to below %d, the number of job sets that recur", ID,
				v, n)
		}
		set = k
	}
	return set, nil
}

// begin starts an episode at time step 0.
func (e *Env) begin(seed uint64, set int) {
	e.episode, e.sums = episode{seed: seed, begun: true, running: true}, sums{soonest: math.MaxInt32}
	e.source.begin(seed, set)
	e.cluster.clear()
	clear(e.jobs)
	for i := range e.visible {
		e.visible[i], e.needs[i] = -1, never
	}
	clear(e.backlog)
	e.active, e.ends = e.active[:0], e.ends[:0]
	e.screen.clear()
	e.screen.shuffle(seed, &e.source)
	if !e.c.Defects.SkipFirst {
		e.arrive()
	}
}

// Step implements [envs.Env].
func (e *Env) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if !e.running {
		return fmt.Errorf("%s: step outside an episode, want Reset", ID)
	}
	if len(act.Kinds) != 1 || len(act.Kinds[0]) != 1 {
		return envs.CheckAction(e.spec, nil, act)
	}
	x := act.Kinds[0][0]
	place, start := int(x), -1
	if float32(place) != x || uint(place) > uint(e.c.Visible) { // also for NaN
		return envs.CheckAction(e.spec, nil, act)
	}
	if place < e.c.Visible {
		start = e.start(place)
		if start < 0 && e.c.Mask {
			return e.forbidden(place)
		}
	}
	out.Rewards[0][0], out.Terminated, out.Truncated, out.Elapsed = 0, false, false, 0
	used := e.utilisation()
	if start >= 0 {
		e.place(place, start)
	} else {
		out.Terminated, out.Truncated = e.move()
		out.Rewards[0][0] = float32(-float64(e.weight) / one)
		out.Elapsed = second
	}
	info := out.Info[:infos]
	info[infoSlowdown], info[infoFinished], info[infoDropped] = e.tally.mean, float64(e.tally.finished),
		float64(e.tally.dropped)
	info[infoWaiting], info[infoUtilisation] = float64(e.shown+e.waiting), used
	e.see(obs)
	return nil
}

// forbidden returns the error for a place that the mask forbids.
func (e *Env) forbidden(place int) error {
	j := e.visible[place]
	if j < 0 {
		return fmt.Errorf("%s: place %d is chosen, in which no job waits; its mask forbids it", ID, place)
	}
	return fmt.Errorf("%s: place %d is chosen, whose job of %d time steps does not fit; its mask forbids it", ID, place,
		e.jobs[j].length)
}

// utilisation is the share of the slots in use in this time step, the mean over resources.
func (e *Env) utilisation() float64 {
	free := 0
	for r := range e.c.Resources {
		free += lane(e.cluster.free[0], r)
	}
	return e.usage[free]
}

// see writes the observation and its mask.
func (e *Env) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	k.Active[0] = true
	copy(k.Values, e.screen.seen())
	mask := k.Mask[:len(e.needs)+1]
	switch {
	case !e.c.Mask:
		for p := range mask {
			mask[p] = true
		}
	case e.booking:
		for p := range e.needs {
			mask[p] = e.start(p) >= 0
		}
	default:
		free := e.cluster.free[0]
		for p, n := range e.needs {
			mask[p] = room(free, n)
		}
	}
	mask[len(e.needs)] = true
}

// tally counts an episode's jobs.
type tally struct {
	finished, dropped int
	slowdown, mean    float64 // summed over finished jobs, and their mean
}

// cut is the mean slowdown when an episode is cut. The jobs left behind count with their time so far, so that a policy
// that leaves jobs waiting does not look fast.
func (e *Env) cut() float64 {
	sum, n := e.tally.slowdown, e.tally.finished
	count := func(i int32) {
		sum += float64(e.now-i) / float64(e.jobs[i].length)
		n++
	}
	for _, i := range e.active {
		count(i)
	}
	for _, i := range e.visible {
		if i >= 0 {
			count(i)
		}
	}
	for k := range e.waiting {
		count(e.backlog[(e.first+k)%len(e.backlog)])
	}
	return sum / float64(max(n, 1))
}
