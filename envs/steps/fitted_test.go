package steps

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/envtest"
	"github.com/stoker-rl/stoker/internal/must"
)

// StepConf's estimates are near the truth in the mean. At P90 they leave out that the slowest of several instances ends
// a step, and add quantiles up, which errs the other way.
func TestFittedIsNear(t *testing.T) {
	var all, p90 float64
	options := 0
	for number := range uint64(5) {
		a := must.Get(Generate(number, DefaultGenerated()))(t)
		m := must.Get(a.Compile())(t)
		k := must.Get(m.Fitted(1))(t)
		if k.Fastest != m.Fastest || k.Unit != m.Unit {
			t.Errorf("workflow %d: fastest %g and unit %g of the estimates, want %g and %g", number, k.Fastest, k.Unit, m.Fastest, m.Unit)
		}
		for s := range k.Steps {
			for i, o := range k.Options[s] {
				truth := m.evaluate(new(forecast), s, k.configuration(s, i))
				all += math.Abs(o.Mean/truth.Mean - 1)
				p90 += math.Abs(o.P90/truth.P90 - 1)
				options++
			}
		}
		again := must.Get(m.Fitted(1))(t)
		if again.Options[0][0] != k.Options[0][0] {
			t.Errorf("workflow %d: equal seeds give unequal estimates", number)
		}
	}
	all, p90 = all/float64(options), p90/float64(options)
	t.Logf("%d options: the mean is off by %.3f on average, P90 by %.3f", options, all, p90)
	if all > 0.08 || p90 > 0.15 {
		t.Errorf("%d options: the mean is off by %.3f on average, P90 by %.3f; want at most 0.08 and 0.15", options, all, p90)
	}
}

func TestFittedContract(t *testing.T) {
	c := few()
	c.Apps, c.Estimates = 3, FittedLaws
	envtest.Run(t, func() (envs.Env, error) { return New(c, Given{}) }, envtest.Options{Seeds: []uint64{1, 2}, Steps: 40})
}

func BenchmarkFitted(b *testing.B) {
	for n := uint64(0); b.Loop(); n++ {
		a := must.Get(Generate(n%50, DefaultGenerated()))(b)
		m := must.Get(a.Compile())(b)
		must.Get(m.Fitted(1))(b)
	}
}
