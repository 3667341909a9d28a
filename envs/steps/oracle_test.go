package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// The exact oracle is the cheapest of all choices, counted through on small chains; the relaxed one is near it. Below the
// fastest plan both are the price of the fastest options.
func TestOracles(t *testing.T) {
	for first := range 4 {
		c := few()
		c.Apps, c.First, c.Steps, c.Shape, c.Oracle = 1, first, []int{3, 3}, ChainShape, Exact
		s := must.Get(newShelf(c, nil))(t)
		n := must.Get(s.entry(0))(t)
		m := n.truth
		for _, factor := range []float64{0.9, 1, 1.2, 1.7, 3} {
			slo, least := factor*m.Fastest, math.Inf(1)
			for _, a := range m.Options[0] {
				for _, b := range m.Options[1] {
					for _, c := range m.Options[2] {
						if a.P90+b.P90+c.P90 <= slo*(1+1e-12) {
							least = min(least, a.USD+b.USD+c.USD)
						}
					}
				}
			}
			if factor < 1 {
				least = m.Options[0][0].USD + m.Options[1][0].USD + m.Options[2][0].USD
			}
			got := must.Get(s.oracle(n, slo))(t)
			if math.Abs(got-least) > 1e-9*least {
				t.Errorf("workflow %d, SLO %g: the oracle says %g USD, want %g", first, factor, got, least)
			}
			relaxed := n.cheapest.relaxed(slo)
			t.Logf("workflow %d, SLO %g: exact %.6f, relaxed %.6f USD", first, factor, got, relaxed)
			if factor > 1 && math.Abs(relaxed/got-1) > 0.1 {
				t.Errorf("workflow %d, SLO %g: the relaxed oracle says %g USD, the exact one %g", first, factor, relaxed, got)
			}
		}
	}
}
