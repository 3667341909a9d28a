package steps

import (
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

// BenchmarkCompile works generated workflows of 3 to 16 steps out.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	steps, options := 0, 0
	for n := uint64(0); b.Loop(); n++ {
		a := must.Get(Generate(n%200, DefaultGenerated()))(b)
		m := must.Get(a.Compile())(b)
		steps += m.NumSteps()
		for _, o := range m.Options {
			options += len(o)
		}
	}
	b.ReportMetric(float64(options)/float64(steps), "options/step")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(steps), "µs/step")
}
