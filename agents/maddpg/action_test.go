package maddpg

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

func TestStretch(t *testing.T) {
	c, err := newActionCodec(envs.Box{Low: []float32{-1, 1, 5}, High: []float32{3, 8, 5},
		Integer: []bool{false, true, false}})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, 3)
	for _, k := range []struct{ u, want []float32 }{
		{[]float32{0, 0, 0}, []float32{-1, 1, 5}},
		{[]float32{1, 1, 1}, []float32{3, 8, 5}},
		{[]float32{0.25, 0.5, 0.3}, []float32{0, 5, 5}}, // 1 + 3.5 rounds to 5 (half away from zero)
	} {
		c.stretch(k.u, out)
		if !slices.Equal(out, k.want) {
			t.Errorf("%v became %v, want %v", k.u, out, k.want)
		}
	}
}

func TestActionsStayInTheirSpace(t *testing.T) {
	// Bounds at which rounding in float32 could step outside.
	b := envs.Box{Low: []float32{-0.1, 0.1, -1e7}, High: []float32{0.3, 0.7, 1}}
	c, err := newActionCodec(b)
	if err != nil {
		t.Fatal(err)
	}
	s := rng.NewStream(1, "test")
	u, out := make([]float32, 3), make([]float32, 3)
	for range 10_000 {
		for i := range u {
			u[i] = float32(s.Float64())
		}
		c.stretch(u, out)
		if err := b.Contains(out); err != nil {
			t.Fatalf("%v: %v", u, err)
		}
	}
}

func TestChoose(t *testing.T) {
	c, _ := newActionCodec(envs.MultiDiscrete{N: []int{3, 2}})
	hot, out := make([]float32, 5), make([]float32, 2)
	c.choose([]float32{1, 4, 4, -2, -1}, hot, out)
	if want := []float32{0, 1, 0, 0, 1}; !slices.Equal(hot, want) {
		t.Errorf("one-hot is %v, want %v", hot, want)
	}
	if want := []float32{1, 1}; !slices.Equal(out, want) {
		t.Errorf("choices are %v, want %v", out, want)
	}
}

func TestSpacesRefused(t *testing.T) {
	for _, k := range []struct {
		s    envs.Space
		want string
	}{
		{envs.Unbounded(2), "component 0 ranges over [-Inf, +Inf], want finite bounds"},
		{envs.Tuple{Spaces: []envs.Space{envs.Discrete{N: 2}}}, "want Box, Discrete or MultiDiscrete"},
	} {
		if _, err := newActionCodec(k.s); err == nil || !strings.Contains(err.Error(), k.want) {
			t.Errorf("%v: error %v, want one with %q", k.s, err, k.want)
		}
	}
}

func TestStoredMasks(t *testing.T) {
	s := rng.NewStream(1, "masks")
	for _, n := range []int{1, 5, 23, 24, 25, 60} {
		mask := make([]bool, n)
		for i := range mask {
			mask[i] = s.IntN(2) == 0
		}
		words := make([]float32, maskWords(n))
		packMask(mask, words)
		got, want := make([]float32, n), make([]float32, n)
		forbidPacked(got, words)
		forbid(want, mask)
		if !slices.Equal(got, want) {
			t.Errorf("%d choices: %v after storing, want %v", n, got, want)
		}
	}
}

func TestGumbelLaw(t *testing.T) {
	// Mean is Euler's constant, variance π²/6.
	s := rng.NewStream(1, "gumbel")
	const n = 200_000
	var sum, sum2 float64
	for range n {
		x := float64(gumbel(s))
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
