package steps

import (
	"bytes"
	"testing"

	"github.com/stoker-rl/stoker/envs"
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

// A teacher leaves the environment as it is, and says the action that comes nearest to what it would take, also where no
// action says just that.
func TestTeachingSays(t *testing.T) {
	e := must.Get(steps.NewFlat(steps.DefaultEnv(), steps.Given{}))(t)
	p := must.Get(NewTeaching("steps-lookahead", e, func() (*Lookahead, error) { return NewLookahead(DefaultLookahead()) }))(t)
	obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
	said, other := envs.NewAction(e.Spec()), 0
	for seed := range uint64(20) {
		must.Do(t, e.Reset(seed, nil, obs))
		must.Do(t, p.Reset(0))
		for out.Terminated = false; !out.Terminated; must.Do(t, e.Step(act, obs, out)) {
			before := must.Get(e.AppendBinary(nil))(t)
			must.Do(t, p.Show(e, obs, said))
			if after := must.Get(e.AppendBinary(nil))(t); !bytes.Equal(before, after) {
				t.Fatal("showing an action changes the environment")
			}
			must.Do(t, p.Plan(e, obs, act))
			if after := must.Get(e.AppendBinary(nil))(t); bytes.Equal(before, after) {
				if said.Kinds[0][0] != act.Kinds[0][0] {
					t.Fatalf("it says %g, and plays %g", said.Kinds[0][0], act.Kinds[0][0])
				}
			} else if said.Kinds[0][0] > 0 {
				other++
			}
		}
	}
	if other == 0 {
		t.Error("all that it takes has an action: the test tests less than it says")
	}
}
