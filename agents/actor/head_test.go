package actor

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func TestUnit(t *testing.T) {
	c := must.Get(NewSpread(envs.Box{Low: []float32{-1, 1, 5}, High: []float32{3, 8, 5},
		Integer: []bool{false, true, false}}))(t)
	out := make([]float32, 3)
	for _, k := range []struct{ u, want []float32 }{
		{[]float32{0, 0, 0}, []float32{-1, 1, 5}},
		{[]float32{1, 1, 1}, []float32{3, 8, 5}},
		{[]float32{0.25, 0.5, 0.3}, []float32{0, 5, 5}}, // 1 + 3.5 rounds to 5 (half away from zero)
	} {
		c.Unit(k.u, out)
		if !slices.Equal(out, k.want) {
			t.Errorf("%v became %v, want %v", k.u, out, k.want)
		}
	}
}

func TestActionsStayInTheirSpace(t *testing.T) {
	// Bounds at which rounding in float32 could step outside.
	b := envs.Box{Low: []float32{-0.1, 0.1, -1e7}, High: []float32{0.3, 0.7, 1}}
	c := must.Get(NewSpread(b))(t)
	s := rng.NewStream(1, "test")
	u, out := make([]float32, 3), make([]float32, 3)
	for range 10_000 {
		for i := range u {
			u[i] = float32(s.Float64())
		}
		c.Unit(u, out)
		if err := b.Contains(out); err != nil {
			t.Fatalf("%v: %v", u, err)
		}
	}
}

func TestGumbelLaw(t *testing.T) {
	// Mean is Euler's constant, variance π²/6.
	s := rng.NewStream(1, "gumbel")
	const n = 200_000
	var sum, sum2 float64
	for range n {
		x := float64(Noise(s))
		sum += x
		sum2 += x * x
	}
	mean := sum / n
	if d := math.Abs(mean - 0.57722); d > 5*1.2825/math.Sqrt(n) {
		t.Errorf("mean is %g, want 0.57722", mean)
	}
	if v := sum2/n - mean*mean; math.Abs(v-math.Pi*math.Pi/6) > 0.05 {
		t.Errorf("variance is %g, want %g", v, math.Pi*math.Pi/6)
	}
}

// Actions reach the bounds and are whole numbers where the space asks for them.
func TestCentred(t *testing.T) {
	c := Spread{Low: []float32{-2, 0, 5}, High: []float32{2, 10, 5}, Integer: []bool{false, true, false}}
	for u, want := range map[float32][]float32{-1: {-2, 0, 5}, 0: {0, 5, 5}, 1: {2, 10, 5}, 0.25: {0.5, 6, 5}} {
		got := make([]float32, 3)
		if c.Centred([]float32{u, u, u}, got); !slices.Equal(got, want) {
			t.Errorf("%g becomes %v, want %v", u, got, want)
		}
	}
}
