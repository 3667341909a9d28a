package placement

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// What is imagined to arrive is something else for every seed, and as much as what will.
func TestImagine(t *testing.T) {
	const from, seeds = 10_000_000, 200 // µs
	for _, kind := range []string{Steady, Poisson, Bursty, Periodic, Mixed} {
		c := Default()
		c.Workload, c.Seconds, c.Load, c.LoadTo = kind, 30, 0.5, 1
		e := must.Get(New(c, workload.Default()))(t)
		copied := must.Get(e.System().Environment())(t)
		obs := envs.NewObservation(e.Spec())
		later := func(a *arrivals) (times []int64) {
			for ; a.next != noEvent; a.advance(false) {
				times = append(times, a.next)
			}
			return times
		}
		var real, imagined []float64
		for seed := range uint64(seeds) {
			must.Do(t, e.Reset(seed, envs.Options{"load": 0.7}, obs))
			for e.arrivals.next < from {
				e.arrivals.advance(false)
			}
			e.now = from // as if all of that had been served
			var futures [][]int64
			for _, k := range []uint64{seed, seed, seed + 1} {
				must.Do(t, copied.CopyFrom(e))
				copied.Imagine(1e6 + k)
				futures = append(futures, later(&copied.arrivals))
			}
			if !slices.Equal(futures[0], futures[1]) {
				t.Fatalf("%s, seed %d: the same seed imagines %d and %d arrivals", kind, seed, len(futures[0]), len(futures[1]))
			}
			will := later(&e.arrivals)
			if slices.Equal(futures[0], futures[2]) || slices.Equal(futures[0], will) {
				t.Fatalf("%s, seed %d: what is imagined does not differ", kind, seed)
			}
			real, imagined = append(real, float64(len(will))), append(imagined, float64(len(futures[0])))
		}
		a, va := meanAndVariance(real)
		b, vb := meanAndVariance(imagined)
		if z := (a - b) / math.Sqrt((va+vb)/seeds+1e-9); math.Abs(z) > 3.5 {
			t.Errorf("%s: %.1f requests arrive later and %.1f are imagined: z %.1f", kind, a, b, z)
		}
	}
}

func meanAndVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, variance
}
