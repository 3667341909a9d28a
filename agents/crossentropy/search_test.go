package crossentropy

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func space(n int) *Space {
	s := &Space{Config: func(x []float64) any { return x }}
	for range n {
		s.Names, s.Start, s.Spread = append(s.Names, "x"), append(s.Start, 0), append(s.Spread, 1)
		s.Low, s.High = append(s.Low, -4), append(s.High, 4)
	}
	return s
}

// run searches for the largest value of f, seen with noise.
func run(t *testing.T, c Config, s *Space, noise float64, f func(x []float64) float64) *Search {
	t.Helper()
	search := must.Get(New(c, s))(t)
	scores := make([]float64, c.Population)
	for g := range c.Generations {
		for i, x := range search.Propose() {
			scores[i] = f(x) + noise*rng.New(uint64(g), "noise").With(uint64(i)).Norm()
		}
		must.Do(t, search.Observe(scores))
	}
	return search
}

// It finds the top of a ridge in ten dimensions, three spreads away from the start, through noise; uniform draws with
// the same budget end a hundred times lower.
func TestFindsTheTop(t *testing.T) {
	f := func(x []float64) float64 {
		sum := 0.0
		for i := range x {
			d := x[i] - 3*math.Cos(float64(i))
			sum -= d * d * float64(1+i)
			if i > 0 {
				e := (x[i] - 3*math.Cos(float64(i))) - (x[i-1] - 3*math.Cos(float64(i-1)))
				sum -= 5 * e * e
			}
		}
		return sum
	}
	c := Default()
	found := run(t, c, space(10), 0.05, f)
	best := math.Inf(-1)
	for i := range c.Population * c.Generations {
		x := make([]float64, 10)
		for j := range x {
			x[j] = 8*rng.New(uint64(i), "uniform").With(uint64(j)).Float64() - 4
		}
		best = max(best, f(x))
	}
	if got := f(found.Mean()); got < -0.1 || best > -10 {
		t.Errorf("the search ends at %.3g, uniform draws at %.3g; want above -0.1, and below -10", got, best)
	}
	if w := found.Width(); w > 0.2 || found.Generation() != c.Generations {
		t.Errorf("after %d generations the width is %v", found.Generation(), w)
	}
}

// A top outside the bounds is found at the bound.
func TestBounds(t *testing.T) {
	got := run(t, Default(), space(3), 0, func(x []float64) float64 { return x[0] - x[1] - x[2]*x[2] })
	if m := got.Mean(); m[0] < 3.8 || m[1] > -3.8 || math.Abs(m[2]) > 0.05 {
		t.Errorf("found %v, want 4, -4 and 0", m)
	}
}

// The same seed finds the same to the bit, another one not.
func TestSeeds(t *testing.T) {
	c, f := Default(), func(x []float64) float64 { return -x[0] * x[0] }
	c.Generations = 3
	a, b := run(t, c, space(2), 0, f), run(t, c, space(2), 0, f)
	c.Seed = 2
	other := run(t, c, space(2), 0, f)
	if !slices.Equal(a.Mean(), b.Mean()) || slices.Equal(a.Mean(), other.Mean()) {
		t.Errorf("found %v, %v and %v", a.Mean(), b.Mean(), other.Mean())
	}
}

func TestRefuses(t *testing.T) {
	bad := space(1)
	bad.Start[0] = 5
	if _, err := New(Default(), bad); err == nil || !strings.Contains(err.Error(), "x starts at 5 ± 1 in -4 to 4") {
		t.Errorf("a start outside: %v", err)
	}
	c := Default()
	c.Elite = 0.7
	if _, err := New(c, space(1)); err == nil || !strings.Contains(err.Error(), "elite is 0.7") {
		t.Errorf("a wrong share: %v", err)
	}
	s := must.Get(New(Default(), space(1)))(t)
	s.Propose()
	if s.Observe([]float64{1}) == nil || s.Observe(slices.Repeat([]float64{math.NaN()}, Default().Population)) == nil {
		t.Error("wrong scores are taken")
	}
}
