package memory_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs/perfmodel/memory"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// sizes are 128 to 3008 MB in steps of 64.
func sizes() (out []float64) {
	for mb := 128.0; mb <= 3008; mb += 64 {
		out = append(out, mb)
	}
	return out
}

// A function of the law itself: the first three sizes tell all, further ones lie around the cheapest size, until enough
// is known there.
func TestParrotfish(t *testing.T) {
	law := memory.Exp{A: 2, B: 4, C: 0.004}
	var order []float64
	b := must.Get(memory.PublishedParrotfish().Buy(sizes(), func(mb float64) (float64, error) {
		if n := len(order); n == 0 || order[n-1] != mb {
			order = append(order, mb)
		}
		return law.Seconds(mb), nil
	}, func(memory.Bought) bool { return true }))(t)
	if order[0] != 128 || order[1] != 128+64*16 || order[2] != 3008 {
		t.Errorf("the first sizes are %v, want 128, 1152, 3008", order[:3])
	}
	if b.Runs != 3*len(b.Sizes) || len(order) != len(b.Sizes) || !(b.Known > 3) || len(b.Sizes) > 12 {
		t.Errorf("%d runs of %d sizes, knowledge %g; want three runs each, and more than 3", b.Runs, len(b.Sizes), b.Known)
	}
	for _, mb := range sizes() {
		if got, want := b.Law.Seconds(mb), law.Seconds(mb); math.Abs(got-want) > 1e-3*want {
			t.Errorf("%g MB: %g s, want %g", mb, got, want)
		}
	}
	// 2·m + 4·m·exp(-0.004·m) is least at the smallest size, 128 MB, near which the others are.
	near := 0
	for _, mb := range order[3:] {
		if mb < 800 {
			near++
		}
	}
	if near < len(order[3:])/2 {
		t.Errorf("sizes %v, want most after the third near 128", order)
	}
}

// Runs that vary are repeated, at most eight times, and the worst one is replaced.
func TestParrotfishRepeats(t *testing.T) {
	s := rng.NewStream(1, "test/parrotfish")
	p := memory.PublishedParrotfish()
	runs := map[float64]int{}
	b := must.Get(p.Buy(sizes(), func(mb float64) (float64, error) {
		runs[mb]++
		return 1000 / mb * (1 + 0.4*s.Float64()), nil
	}, func(b memory.Bought) bool { return len(b.Sizes) < 5 }))(t)
	sum, repeated := 0, false
	for _, x := range b.Sizes {
		n := runs[x.MB]
		sum += n
		repeated = repeated || n > 3
		if x.Runs != 3 || n < 3 || n > 11 || n < 11 && x.SD/x.Mean > 0.05 {
			t.Errorf("%g MB: %d of %d runs kept, variation %.3f", x.MB, x.Runs, n, x.SD/x.Mean)
		}
	}
	if sum != b.Runs || !repeated || len(b.Sizes) != 5 {
		t.Errorf("%d runs of %d sizes, %d counted", sum, len(b.Sizes), b.Runs)
	}
}

func TestParrotfishWrong(t *testing.T) {
	p := memory.PublishedParrotfish()
	yes := func(memory.Bought) bool { return true }
	down := errors.New("no such function")
	if _, err := p.Buy(sizes(), func(float64) (float64, error) { return 0, down }, yes); !errors.Is(err, down) {
		t.Errorf("error %v, want %v", err, down)
	}
	if _, err := p.Buy(sizes()[:2], nil, yes); err == nil {
		t.Error("two sizes: no error")
	}
	p.Samples = 0
	if _, err := p.Buy(sizes(), nil, yes); err == nil {
		t.Error("no samples: no error")
	}
}
