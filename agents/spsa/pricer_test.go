package spsa

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// Π on cases worked by hand: rounding half up, bounds, then the largest baseline lowered while the sum exceeds the
// capacity.
func TestProjection(t *testing.T) {
	for _, c := range []struct {
		name           string
		capacity       float64
		floors, x      []float64
		act            []float32
		lowered        []float64
		price, priceIs float64
	}{
		{"rounded half up", 64, []float64{0, 0, 0}, []float64{2.5, 3.49, 3.5}, []float32{3, 3, 4}, []float64{2.5, 3.49, 3.5},
			1.25, 1.25},
		{"one too many", 20, []float64{0, 0, 0}, []float64{5, 8.2, 7.6}, []float32{5, 7, 8}, []float64{5, 7.2, 7.6}, 0, 0},
		{"three too many, ties to the lowest-numbered", 18, []float64{0, 0, 0}, []float64{7, 7, 7}, []float32{6, 6, 6},
			[]float64{6, 6, 6}, 0, 0},
		{"two too many", 19, []float64{0, 0, 0}, []float64{5, 9.4, 7}, []float32{5, 7, 7}, []float64{5, 7.4, 7}, 0, 0},
		{"the largest stands on its floor", 12, []float64{0, 10, 0}, []float64{2, 10, 1.5}, []float32{1, 10, 1},
			[]float64{1, 10, 0.5}, 0, 0},
		{"two too many, the second by a tie", 10, []float64{0, 0, 0}, []float64{0.5, 5.5, 4.5}, []float32{1, 4, 5},
			[]float64{0.5, 3.5, 4.5}, 0, 0},
	} {
		s := &space{
			low: append([]float64{0}, c.floors...), high: []float64{5, 64, 64, 64}, whole: []bool{false, true, true, true},
			capacity: c.capacity,
		}
		x, act := append([]float64{c.price}, c.x...), make([]float32, 4)
		s.use(x, act, false)
		if !slices.Equal(act[1:], c.act) || float64(act[0]) != c.priceIs {
			t.Errorf("%s: %v becomes %v, want %v", c.name, c.x, act, c.act)
		}
		s.use(x, act, true)
		if !slices.Equal(act[1:], c.act) || !near(x[1:], c.lowered, 1e-12) {
			t.Errorf("%s: %v becomes %v and is kept as %v, want %v", c.name, c.x, act, x[1:], c.lowered)
		}
	}
}

func near(a, b []float64, within float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > within {
			return false
		}
	}
	return len(a) == len(b)
}

// Two windows worked by hand: one price and one baseline, Φ = −(p−2)² − ½(n−9)², so that the slopes don't depend on the
// signs drawn.
//
//	window 0, e = 1:      p = 1,    slope 2;   n = 5.4 → tries 6 and 4, slope (−½·9 + ½·25)/2 = 4
//	  p ← 1 + 0.25·1·2/1 = 1.5;     n ← 5.4 + min(1·1·4/2, 1.5) = 6.9
//	window 1, e = 3/4:    p = 1.5,  slope 1;   n = 6.9 → tries 8 and 6, slope (−½·1 + ½·9)/2 = 2
//	  p ← 1.5 + 0.25·0.75·1 = 1.6875;   n ← 6.9 + 0.75·2/2 = 7.65
func TestTwoWindowsByHand(t *testing.T) {
	o := plain(1, 1, 1, 0)
	o.h[0][0], o.best = 2, []float64{2, 9}
	c := searching(&o, []float64{1, 5.4})
	c.Prices.Perturbation, c.Prices.Step = 0.5, 0.25
	c.Baselines.Unit, c.Baselines.Most, c.Offset = 2, 1.5, 2
	p := newPricer(t, c, newQuadratic(o), 3)
	world := begun(t, newQuadratic(o), 1)
	for i, want := range [][]float64{{1.5, 6.9}, {1.6875, 7.65}} {
		must.Do(t, p.Estimate(world))
		p.Move()
		if !near(p.x, want, 1e-12) {
			t.Errorf("after window %d the strategy is %v, want %v", i, p.x, want)
		}
	}
	act := make([]float32, 2)
	if p.Action(act); act[0] != 1.6875 || act[1] != 8 {
		t.Errorf("the action is %v, want 1.6875 and 8", act)
	}
}

// Adam by hand on Φ = −(p−2)²/2 from p = 0 without decay: the first move is a·g/(|g| + ε), the second a·m̂/(√v̂ + ε)
// with g = 2, 1.75.
func TestAdamByHand(t *testing.T) {
	o := plain(1, 0, 1, 2)
	c := searching(&o, []float64{0})
	c.Prices.Perturbation, c.Prices.Step, c.Decay, c.Adam = 0.5, 0.25, 0,
		Adam{On: true, Beta1: 0.5, Beta2: 0.5, Epsilon: 1e-12}
	p := newPricer(t, c, newQuadratic(o), 3)
	world := begun(t, newQuadratic(o), 1)
	// m̂ = (0.25·2 + 0.5·1.75)/0.75, v̂ = (0.25·4 + 0.5·1.75²)/0.75
	second := 0.25 + 0.25*((0.25*2+0.5*1.75)/0.75)/math.Sqrt((0.25*4+0.5*1.75*1.75)/0.75)
	for i, want := range []float64{0.25, second} {
		must.Do(t, p.Estimate(world))
		p.Move()
		if math.Abs(p.x[0]-want) > 1e-9 {
			t.Errorf("after move %d the strategy is %g, want %g", i, p.x[0], want)
		}
	}
}

// At a bound the slope is over the distance that the bound leaves; where the profit is linear it stays exact.
func TestEstimateAtBounds(t *testing.T) {
	o := plain(1, 1, 0, 0)
	o.bound, o.most = 1, 8
	o.cubic = 0
	q := &sloped{quadratic: *newQuadratic(o), a: []float64{3, -2}}
	c := searching(&o, []float64{0.75, 0})
	c.Prices.Perturbation, c.Objective = 0.5, "profit"
	p := newPricer(t, c, &sloped{quadratic: *newQuadratic(o), a: q.a}, 1)
	world := begun(t, q, 1)
	must.Do(t, p.Estimate(world))
	if !near(p.estimate, q.a, 1e-12) {
		t.Errorf("slopes at the bounds are %v, want %v", p.estimate, q.a)
	}
	for range 20 {
		p.Move()
		must.Do(t, p.Estimate(world))
	}
	if p.x[0] != 1 || p.x[1] != 0 {
		t.Errorf("the strategy is %v, want the bounds 1 and 0", p.x)
	}
}

// sloped is an environment with the profit a·x.
type sloped struct {
	quadratic
	a []float64
}

func (s *sloped) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := s.quadratic.Step(act, obs, out); err != nil {
		return err
	}
	out.Info[0] = 0
	for i, x := range act.Kinds[0] {
		out.Info[0] += s.a[i] * float64(x)
	}
	return nil
}

func (s *sloped) CopyFrom(src envs.Env) error { return s.quadratic.CopyFrom(&src.(*sloped).quadratic) }

// A block with a step of 0 stays and needs no trials.
func TestFrozenBlock(t *testing.T) {
	build, c := mixed(7)
	c.Baselines.Step = 0
	s := newTrainer(t, build, c, 1, 5)
	counted := &counting{Env: s.l.pricer.trials.env}
	s.l.pricer.trials.env = counted
	s.windows(t, 10)
	if !slices.Equal(s.l.pricer.x[3:], []float64{5, 8}) || counted.steps != 10*2*c.Pairs {
		t.Errorf("baselines are %v after %d trials, want 5 and 8 after %d", s.l.pricer.x[3:], counted.steps, 20*c.Pairs)
	}
}

type counting struct {
	envs.Env
	steps int
}

func (c *counting) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	c.steps++
	return c.Env.Step(act, obs, out)
}

// The environment always gets a feasible action, also where the best one exceeds the capacity; the search then rests on
// the capacity.
func TestCapacityBinds(t *testing.T) {
	o := plain(1, 3, 0.5, 12)
	o.best[0] = 1
	c := searching(&o, []float64{1, 5, 8, 10})
	c.Capacity = 24
	p := newPricer(t, c, newQuadratic(o), 1)
	world := begun(t, newQuadratic(o), 1)
	act := make([]float32, 4)
	for range 300 {
		if p.Action(act); act[1]+act[2]+act[3] > 24 {
			t.Fatalf("baselines %v add up to more than 24", act[1:])
		}
		must.Do(t, p.Estimate(world))
		p.Move()
	}
	for _, n := range act[1:] {
		if n < 7 || n > 9 {
			t.Errorf("baselines are %v, want about 8 each", act[1:])
		}
	}
}
