package spsa

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// On a quadratic the estimate's expectation is the slope, so the mean of many searches follows exact gradient ascent:
//
//	E[x_{t+1} − x*] = (I − a e_t H) E[x_t − x*],   e_t = (A+1)/(A+t+1)
//
// Deviations of the mean are in standard errors over seeds; the bound is corrected for their number.
func TestMeanPathIsAscent(t *testing.T) {
	n, windows := 4_000, 30
	if *long {
		n = 40_000
	}
	o := plain(3, 0, 1, 0)
	o.h = [][]float64{{1, 0.3, 0}, {0.3, 0.6, -0.2}, {0, -0.2, 0.4}}
	o.best, o.own, o.common = []float64{1, -2, 0.5}, 0.1, 3
	start := []float64{0, 0, 0}
	c := searching(&o, start)
	c.Prices.Step, c.Prices.Perturbation = 0.3, 0.25
	p := newPricer(t, c, newQuadratic(o), 0)
	world := newQuadratic(o)
	var away [3]sample
	want := []float64{start[0] - o.best[0], start[1] - o.best[1], start[2] - o.best[2]}
	for w := range windows {
		e := (c.Offset + 1) / (c.Offset + float64(w) + 1)
		var next [3]float64
		for i := range next {
			next[i] = want[i]
			for j := range want {
				next[i] -= c.Prices.Step * e * o.h[i][j] * want[j]
			}
		}
		copy(want, next[:])
	}
	for seed := range uint64(n) {
		begun(t, world, seed)
		p.Reset(seed)
		for w := range windows {
			world.window = w // its noise is the window's
			must.Do(t, p.Estimate(world))
			p.Move()
		}
		for i := range away {
			away[i].add(p.x[i] - o.best[i] - want[i])
		}
	}
	worst, spread := 0.0, 0.0
	for i := range away {
		worst = max(worst, math.Abs(away[i].mean())/math.Sqrt(away[i].variance()/float64(n)))
		spread = max(spread, math.Sqrt(away[i].variance()))
	}
	proof.Claim(t, proof.Row{
		Topic: "agents",
		Claim: fmt.Sprintf("PBA on a noisy quadratic: mean strategy of %d seeds after %d windows against gradient ascent's recursion, in standard errors", n, windows),
		Bound: "3.4 (two-sided 0.2 % over 3 components)",
		Measured: fmt.Sprintf("%.2f (searches lie %.3f apart, the mean within %.4f)", worst, spread,
			spread*worst/math.Sqrt(float64(n))),
		Holds: worst < 3.4,
	})
}
