package pricing

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// table is a scheduler's observation and action, written by hand.
type table struct {
	t    *testing.T
	env  *pricing.Slots
	obs  *envs.Observation
	act  *envs.Action
	seen []float32
}

// newTable makes an environment with n functions of one slot's mean service in one tier.
func newTable(t *testing.T, n int, change func(*pricing.Config)) *table {
	t.Helper()
	c := pricing.Default()
	c.VGPUs = 8
	c.Tiers = []pricing.Tier{{SLA: 2, Functions: n, Service: 1, Demand: 1, Penalty: 1, Rate: 1}}
	c.Prices, c.Baselines = []float64{1}, []int{0}
	if change != nil {
		change(&c)
	}
	e := must.Get(pricing.NewSlots(c, workload.Default(), nil))(t)
	x := &table{t: t, env: e, obs: envs.NewObservation(e.Spec()), act: envs.NewAction(e.Spec())}
	x.seen = x.obs.Kinds[0].Values
	for f := range n {
		x.set(f, pricing.SeesService, 1)
		x.set(f, pricing.SeesSLA, 2)
		x.set(f, pricing.SeesPenalty, 1)
		x.set(f, pricing.SeesLeft, 0.5)
	}
	return x
}

func (x *table) set(f, what int, v float64) { x.seen[f*pricing.Sees+what] = float32(v) }

// off sets how many vGPUs are off.
func (x *table) off(n float64) {
	for f := range len(x.seen) / pricing.Sees {
		x.set(f, pricing.SeesOff, n)
	}
}

// does runs the policy and compares one function's row: warm, cold, release, give, take.
func (x *table) does(p envs.Policy, want ...[pricing.Acts]float32) {
	x.t.Helper()
	if err := p.Act(x.obs, x.act, true); err != nil {
		x.t.Fatal(err)
	}
	for f, w := range want {
		if got := [pricing.Acts]float32(x.act.Kinds[0][f*pricing.Acts : (f+1)*pricing.Acts]); got != w {
			x.t.Errorf("function %d: does %v, want %v (warm, cold, release, give, take)", f, got, w)
		}
	}
}

type row = [pricing.Acts]float32

func fixed(c *pricing.Config)   { c.Pool = pricing.Fixed }
func elastic(c *pricing.Config) { c.Pool, c.Layout.Warm = pricing.Elastic, pricing.WarmShared }

// Eq. 14 with the tier's slack of (2+1)/2 slots: ⌈5·1/1.5⌉ = 4 of function 0 and ⌈1.2⌉ = 2 of function 1 by its
// forecast; literally ⌈5 + 0⌉ = 5. Deficits raise the score slot by slot until they are met.
func TestARMSRequirement(t *testing.T) {
	x := newTable(t, 2, nil)
	x.set(0, pricing.SeesQueue, 5)
	x.set(1, pricing.SeesEstimate, 1.2)
	x.off(8)
	x.set(0, pricing.SeesWarm, 1)
	p, err := NewARMS(pricing.DefaultARMS(), x.env)
	must.Do(t, err)
	x.does(p, row{1, 3, 0, 0, 0}, row{0, 2, 0, 0, 0})
	literal := pricing.DefaultARMS()
	literal.Requirement = pricing.LiteralRequirement
	if p, err = NewARMS(literal, x.env); err != nil {
		t.Fatal(err)
	}
	x.does(p, row{1, 4, 0, 0, 0}, row{0, 2, 0, 0, 0})
}

// With two vGPUs left, scores decide: function 0 lacks 2 with a score of 2·1 + 0.5·2 = 3, function 1 lacks 1 with 1.5.
// Function 2, which has more than it requires, gives its idle transient vGPU before a keep-alive one is switched; what
// has been idle for long is turned off first.
func TestARMSOrder(t *testing.T) {
	x := newTable(t, 3, nil)
	p, err := NewARMS(pricing.DefaultARMS(), x.env)
	must.Do(t, err)
	x.set(0, pricing.SeesEstimate, 2)
	x.set(1, pricing.SeesEstimate, 1)
	x.off(2)
	x.does(p, row{0, 2, 0, 0, 0}, row{})
	must.Do(t, p.Reset(0))
	// 3 wanted: one off, one reclaimed, one keep-alive one switched. Function 2 holds 2 idle transient and 2 idle
	// keep-alive ones, of which one is patient and goes off at once: that makes 2 off.
	x.off(1)
	x.set(2, pricing.SeesKeep, 2)
	x.set(2, pricing.SeesIdleKeep, 2)
	x.set(2, pricing.SeesTransient, 2)
	x.set(2, pricing.SeesIdle, 2)
	x.set(2, pricing.SeesPatient, 1)
	x.set(0, pricing.SeesEstimate, 4)
	x.set(1, pricing.SeesEstimate, 0)
	x.does(p, row{0, 3, 0, 0, 1}, row{}, row{0, 0, 2, 1, 0})
	// Where a switch costs less than a slot of a transient vGPU, it comes first (Algorithm 2, line 7).
	y := newTable(t, 2, func(c *pricing.Config) { c.Costs.Switch = 0.5 })
	if p, err = NewARMS(pricing.DefaultARMS(), y.env); err != nil {
		t.Fatal(err)
	}
	y.off(5)
	y.set(0, pricing.SeesEstimate, 1)
	y.set(1, pricing.SeesKeep, 1)
	y.set(1, pricing.SeesIdleKeep, 1)
	y.does(p, row{0, 0, 0, 0, 1}, row{0, 0, 0, 1, 0})
	y.set(1, pricing.SeesQueue, 2) // leaves 2 behind, at 0.5 each: 1.5 is more than 1; and function 1 needs it itself
	y.does(p, row{0, 1, 0, 0, 0}, row{0, 1, 0, 0, 0})
}

// Start tags: two jobs of function 0 begin at S = 0 and F = 2 with a mean of 1; function 1, that comes later, starts at
// virtual time.
func TestMQFQTags(t *testing.T) {
	x := newTable(t, 2, fixed)
	p := must.Get(NewMQFQ(DefaultMQFQ(), x.env))(t)
	x.off(2)
	x.set(0, pricing.SeesQueue, 4)
	x.does(p, row{0, 2, 0, 0, 0}, row{})
	if p.virtual != 0 || p.start[0] != 0 {
		t.Errorf("virtual time %g, start tag %g, want 0 and 0", p.virtual, p.start[0])
	}
	x.off(0)
	x.set(0, pricing.SeesQueue, 2)
	x.set(0, pricing.SeesBegun, 2)
	x.set(1, pricing.SeesQueue, 1)
	x.does(p, row{}, row{})
	if p.virtual != 0 || p.start[0] != 2 || p.start[1] != 0 {
		t.Errorf("virtual time %g, start tags %v, want 0 and [2 0]: S = max(VT, F), VT the least S with a backlog", p.virtual,
			p.start)
	}
	x.set(0, pricing.SeesBegun, 1)
	x.set(0, pricing.SeesQueue, 1)
	x.set(1, pricing.SeesBegun, 1)
	x.set(1, pricing.SeesQueue, 0)
	x.does(p, row{}, row{})
	if p.virtual != 3 {
		t.Errorf("virtual time %g, want 3, the only backlogged function's start tag", p.virtual)
	}
	x.set(0, pricing.SeesBegun, 0)
	x.set(1, pricing.SeesBegun, 0)
	x.set(1, pricing.SeesQueue, 1)
	x.does(p, row{}, row{})
	if p.start[1] != 3 {
		t.Errorf("a function that was empty starts at %g, want virtual time 3", p.start[1])
	}
	// An idle vGPU starts the only job of each function at once: there is no backlog, and virtual time is the largest
	// tag.
	p.start[0] = 7
	x.set(0, pricing.SeesIdle, 1)
	x.set(1, pricing.SeesIdle, 1)
	x.does(p, row{}, row{})
	if p.virtual != 7 {
		t.Errorf("without a backlog virtual time is %g, want 7", p.virtual)
	}
}

// The choices: the smallest start tag; warm functions first; sticky stays with the last function; a function too far
// ahead is throttled; an idle vGPU changes its function only after the TTL, the longest idle first.
func TestMQFQChoice(t *testing.T) {
	x := newTable(t, 3, fixed)
	set := func(choice string, overrun float64) *MQFQ {
		c := DefaultMQFQ()
		c.Choice, c.Overrun = choice, overrun
		p := must.Get(NewMQFQ(c, x.env))(t)
		copy(p.start, []float64{5, 4, 6})
		copy(p.last, []float64{2, 2, 2})
		p.virtual = 4
		return p
	}
	for f := range 3 {
		x.set(f, pricing.SeesQueue, 2)
	}
	x.off(1)
	x.does(set(ChooseWarm, 10), row{}, row{0, 1, 0, 0, 0}, row{})
	x.set(2, pricing.SeesWarm, 1)
	x.does(set(ChooseWarm, 10), row{}, row{}, row{1, 0, 0, 0, 0})
	x.does(set(ChooseWarm, 1), row{}, row{0, 1, 0, 0, 0}, row{}) // function 2 is 2 ahead of virtual time: throttled
	x.set(2, pricing.SeesWarm, 0)
	sticky := set(ChooseSticky, 10)
	sticky.chosen = 0
	x.does(sticky, row{0, 1, 0, 0, 0}, row{}, row{})
	x.set(2, pricing.SeesQueue, 3)
	x.does(set(ChooseLongest, 10), row{}, row{}, row{0, 1, 0, 0, 0})

	x.off(0)
	x.set(0, pricing.SeesQueue, 0)
	x.set(0, pricing.SeesTransient, 2)
	x.set(0, pricing.SeesIdle, 2)
	x.set(0, pricing.SeesPatient, 1)
	x.set(0, pricing.SeesIdleSince, 4)
	x.does(set(ChooseWarm, 10), row{0, 0, 1, 0, 0}, row{0, 1, 0, 0, 0}, row{})
	x.set(0, pricing.SeesPatient, 0)
	x.does(set(ChooseWarm, 10), row{}, row{}, row{})
}

// The filter from x = 0, P = 1 with Q = 1, R = 10 and z = 12: P = 2, K = 1/6, x = 2, P = 5/3; then P = 8/3, K = 8/38, x
// = 2 + 10·8/38.
func TestHASFilter(t *testing.T) {
	x := newTable(t, 1, elastic)
	p, err := NewHAS(DefaultHAS(), x.env)
	must.Do(t, err)
	for _, want := range []float64{2, 2 + 80.0/38} {
		if got := p.predict(0, 12); math.Abs(got-want) > 1e-12 {
			t.Errorf("predicts %g, want %g", got, want)
		}
	}
	c := DefaultHAS()
	c.Margin, c.Floor = 1, 5
	if p, err = NewHAS(c, x.env); err != nil {
		t.Fatal(err)
	}
	if got := p.predict(0, 12); got != 17 || p.rate[0] != 2 {
		t.Errorf("with a floor of 5 above 12 it predicts %g and stores %g, want 17 and 2", got, p.rate[0])
	}
	if got, want := p.predict(0, -10), 2-12*8.0/38+math.Sqrt(30.0/38*8/3); math.Abs(got-want) > 1e-12 {
		t.Errorf("with a margin of one deviation it predicts %g, want %g", got, want)
	}
	c.WriteBack = true
	if p, err = NewHAS(c, x.env); err != nil {
		t.Fatal(err)
	}
	if p.predict(0, 12); p.rate[0] != 17 {
		t.Errorf("with write_back the filter stores %g, want 17", p.rate[0])
	}
}

// Thresholds: with 4 slices of one job a slot, 3.6 is enough and 3.7 needs 0.1 more, a slice; below 2.4 the surplus to
// 0.9 of the capacity goes, but not the last slice. Vertical comes before horizontal.
func TestHASScaling(t *testing.T) {
	x := newTable(t, 1, elastic)
	p := must.Get(NewHAS(DefaultHAS(), x.env))(t)
	for _, c := range []struct {
		predicted, slices, each float64
		want                    int
	}{{3.6, 4, 1, 0}, {3.7, 4, 1, 1}, {5, 4, 1, 2}, {5, 4, 0.5, 7}, {2.4, 4, 1, 0}, {2.3, 4, 1, -1}, {1.5, 4, 1, -2},
		{0, 4, 1, -3}, {0, 1, 1, 0}, {0.1, 0, 1, 1}} {
		if got := p.change(c.predicted, c.slices, c.each); got != c.want {
			t.Errorf("at %g with %g slices of %g: %d, want %d", c.predicted, c.slices, c.each, got, c.want)
		}
	}
	x.off(4)
	x.set(0, pricing.SeesWarm, 1)
	x.set(0, pricing.SeesArrived, 12) // predicts 2 of no capacity
	x.does(p, row{1, 1, 0, 0, 0})
	x.off(1)
	x.does(p, row{1, 0, 0, 0, 0})
	must.Do(t, p.Reset(0))
	x.set(0, pricing.SeesArrived, 0)
	x.set(0, pricing.SeesTransient, 4)
	x.set(0, pricing.SeesIdle, 2)
	x.does(p, row{0, 0, 2, 0, 0}) // three too many, two of them idle
}

// Required request counts at the 98th percentile: of 100 requests 97 in time, (98 - 97)/0.02 = 50 more are needed; of
// 100 all in time, -100.
func TestTorporOrder(t *testing.T) {
	x := newTable(t, 3, fixed)
	p := must.Get(NewTorpor(DefaultTorpor(), x.env))(t)
	for _, c := range [][3]float64{{100, 97, 50}, {100, 100, -100}, {0, 0, 0}} {
		if got := p.required(c[0], c[1]); math.Abs(got-c[2]) > 1e-9 {
			t.Errorf("of %g requests %g in time: %g, want %g", c[0], c[1], got, c[2])
		}
	}
	// 1 violation of 10 each: RRC (9.8 - 9)/0.02 = 40; none: -10; 5 of 10: 240. With the threshold at 40 functions 1, 0
	// come first, then 2.
	for f, failed := range []float64{1, 0, 5} {
		x.set(f, pricing.SeesArrived, 10)
		x.set(f, pricing.SeesViolated, failed)
		x.set(f, pricing.SeesLate, 1)
	}
	p.threshold = 40.5
	x.off(2)
	x.does(p, row{0, 1, 0, 0, 0}, row{0, 1, 0, 0, 0}, row{})
	if p.order[0] != 1 || p.order[1] != 0 || p.order[2] != 2 {
		t.Errorf("the order is %v, want [1 0 2]", p.order)
	}
	// A new window: the threshold is the median of the three, and the counts start at zero.
	x.set(0, pricing.SeesLeft, 1)
	x.does(p)
	if math.Abs(p.threshold-40) > 1e-9 || p.arrived[0] != 10 {
		t.Errorf("the threshold is %g and 10 requests count as %g, want 40 and 10", p.threshold, p.arrived[0])
	}
}

// Placement: a resident model needs no swap; then a vGPU that holds nothing; then one is evicted: with another copy,
// else light, else the least recently used.
func TestTorporPlacement(t *testing.T) {
	x := newTable(t, 4, fixed)
	p := must.Get(NewTorpor(DefaultTorpor(), x.env))(t)
	x.set(0, pricing.SeesQueue, 2)
	x.set(0, pricing.SeesIdle, 1)
	x.set(0, pricing.SeesTransient, 1)
	for f := 1; f < 4; f++ {
		x.set(f, pricing.SeesIdle, 1)
		x.set(f, pricing.SeesTransient, 1)
		x.set(f, pricing.SeesService, 1.19)
		x.set(f, pricing.SeesIdleSince, float64(f))
	}
	x.off(1)
	x.does(p, row{0, 1, 0, 0, 0}, row{}, row{}, row{}) // one resident, one on the vGPU that holds nothing
	x.off(0)
	x.does(p, row{0, 1, 0, 0, 0}, row{}, row{}, row{0, 0, 1, 0, 0}) // all heavy: the least recently used
	x.set(2, pricing.SeesService, 1)
	x.does(p, row{0, 1, 0, 0, 0}, row{}, row{0, 0, 1, 0, 0}, row{}) // a light one before it
	x.set(1, pricing.SeesTransient, 2)
	x.does(p, row{0, 1, 0, 0, 0}, row{0, 0, 1, 0, 0}, row{}, row{}) // a copy before that
	x.set(1, pricing.SeesLate, 1)
	x.does(p, row{0, 1, 0, 0, 0}, row{}, row{0, 0, 1, 0, 0}, row{}) // but not what has work itself, while others are idle
	x.set(0, pricing.SeesLoading, 1)
	x.does(p, row{}, row{}, row{}, row{}) // one loads already
}

func TestSPSS(t *testing.T) {
	e := must.Get(pricing.New(pricing.Default(), workload.Default(), nil))(t)
	p := must.Get(NewSPSS(DefaultSPSS(), e))(t)
	act := envs.NewAction(e.Spec())
	must.Do(t, p.Act(nil, act, true))
	for i, want := range []float32{1, 1, 1, 14, 14, 15} {
		if act.Kinds[0][i] != want {
			t.Errorf("component %d is %g, want %g", i, act.Kinds[0][i], want)
		}
	}
	c := DefaultSPSS()
	c.Baselines = []int{30, 30, 30}
	if _, err := NewSPSS(c, e); err == nil || !strings.Contains(err.Error(), "baselines is [30 30 30]") {
		t.Errorf("baselines beyond the vGPUs give %v", err)
	}
}
