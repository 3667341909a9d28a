package spsa

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"
)

// optimum solves the market's first-order conditions
//
//	∂Π/∂p_m = q_m (g_m − β g_m (p_m − c_m) + β Θ) = 0,   Θ = Σ_k q_k g_k (p_k − c_k) = Π
//
// for p_m = c_m + 1/β + Θ/g_m, by bisection on Θ: the right side of Θ falls as Θ and with it every price rises beyond
// the optimum.
func optimum(demand [3]float64) (p [3]float64) {
	at := func(theta float64) {
		for m := range p {
			p[m] = marketCost[m] + 1/marketBeta + theta/demand[m]
		}
	}
	lo, hi := 0.0, 100.0
	for range 200 {
		mid := (lo + hi) / 2
		at(mid)
		if marketProfit(p, demand) > mid {
			lo = mid
		} else {
			hi = mid
		}
	}
	at((lo + hi) / 2)
	return p
}

// searched finds the optimum without derivatives, by golden-section search along one price after the other.
func searched(demand [3]float64) (p [3]float64) {
	p = [3]float64{1, 1, 1}
	ratio := (math.Sqrt(5) - 1) / 2
	for range 60 {
		for m := range p {
			f := func(x float64) float64 { q := p; q[m] = x; return marketProfit(q, demand) }
			lo, hi := 0.0, 5.0
			for hi-lo > 1e-9 {
				if a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo); f(a) > f(b) {
					hi = b
				} else {
					lo = a
				}
			}
			p[m] = (lo + hi) / 2
		}
	}
	return p
}

// The optimum is compared with its first-order conditions by central differences, with a search without derivatives,
// and with reference figures.
func TestOptimum(t *testing.T) {
	for _, c := range []struct {
		name      string
		demand    [3]float64
		published [3]float64
	}{
		{"the profile's own g", recommended, [3]float64{1.158, 1.302, 1.477}},
		{"equal g", [3]float64{1, 1, 1}, [3]float64{1.1, 1.3, 1.5}},
	} {
		p := optimum(c.demand)
		worst, away := 0.0, 0.0
		for m := range p {
			// A fourth-order difference with h = 1e-3: its error is of order h⁴.
			f := func(h float64) float64 { x := p; x[m] += h; return marketProfit(x, c.demand) }
			const h = 1e-3
			slope := (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
			worst = max(worst, math.Abs(slope)/c.demand[m])
			if curve := f(h) + f(-h) - 2*f(0); curve >= 0 {
				t.Errorf("%s: the profit is not concave along price %d", c.name, m+1)
			}
		}
		found := searched(c.demand)
		for m := range p {
			away = max(away, math.Abs(found[m]-p[m]))
			if math.Abs(p[m]-c.published[m]) > 0.005 {
				t.Errorf("%s: price %d is %.4f, want %.3f", c.name, m+1, p[m], c.published[m])
			}
		}
		proof.Claim(t, proof.Row{
			Topic:    "agents",
			Claim:    fmt.Sprintf("HOPS's demand with an outside option, %s: slope of the profit at the optimum solved from its first-order conditions, and distance to a derivative-free search's", c.name),
			Bound:    "1e-9 per billing unit; 1e-5",
			Measured: fmt.Sprintf("%.1e; %.1e (prices %.4f, %.4f, %.4f)", worst, away, p[0], p[1], p[2]),
			Holds:    worst < 1e-9 && away < 1e-5,
		})
	}
}
