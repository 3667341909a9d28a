package steps

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
)

// forgetful begins its decider anew before every decision.
type forgetful struct {
	steps.Decider
	m         *steps.Model
	slo, miss float64
}

func (f *forgetful) Begin(m *steps.Model, slo, miss float64) { f.m, f.slo, f.miss = m, slo, miss }

func (f *forgetful) Decide(at *steps.Moment, step int) int {
	f.Decider.Begin(f.m, f.slo, f.miss)
	return f.Decider.Decide(at, step)
}

// A decider that learners may imitate decides the same when it begins anew at each moment, as it does after a saved
// training goes on.
func TestMemoryless(t *testing.T) {
	for _, shape := range []string{steps.ChainShape, steps.DAGShape} {
		replan := must.Get(NewReplan(DefaultReplan()))(t)
		look := must.Get(NewLookahead(DefaultLookahead()))(t)
		dp := must.Get(NewDP(DefaultDP()))(t)
		for n := range uint64(3) {
			w := generated(t, 200+n, 4, 6, shape)
			for _, d := range []Memoryless{replan, look, dp} {
				if s, ok := d.(Choosy); ok && s.Suits(w.m) != nil {
					continue
				}
				for request := range 30 {
					slo, miss := 1.3*w.m.Fastest, 8*w.m.Unit
					a := w.play(d, slo, miss, draws(request))
					b := w.play(&forgetful{Decider: d}, slo, miss, draws(request))
					if a.seconds != b.seconds || a.usd != b.usd {
						t.Fatalf("%T on %s %d: request %d takes %g s and costs %g, begun anew %g s and %g", d, shape, n, request,
							a.seconds, a.usd, b.seconds, b.usd)
					}
				}
			}
		}
	}
}
