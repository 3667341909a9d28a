package steps

import (
	"testing"

	"github.com/stoker-rl/stoker/envs/steps"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

func schedules(t *testing.T, miss float64, limit string) (*Replan, *Lookahead, *StepConf) {
	t.Helper()
	r, l, s := DefaultReplan(), DefaultLookahead(), DefaultStepConf()
	r.Quantile, r.Cap, l.Cap, s.Cap = 0.98, limit, limit, limit
	if l.Miss = miss; limit == Scheduled {
		s.Cap = Siblings
	}
	return must.Get(NewReplan(r))(t), must.Get(NewLookahead(l))(t), must.Get(NewStepConf(s))(t)
}

// Where sibling steps contend for cores, planners with a cap are late less often or cheaper: on dag, at 1.35 times the
// fastest time, with a miss of 10 units. The front of replan without a cap takes seconds there, so that it is compared with
// StepConf.
func TestCaps(t *testing.T) {
	m := must.Get(must.Get(steps.Preset("dag"))(t).Compile())(t)
	price := func(d steps.Decider) (sum float64) {
		var p steps.Player
		for k := range uint64(5) {
			slo, miss := 1.35*m.Fastest, 10*m.Unit
			x := p.Play(m, d, rng.New(k, "test"), slo, miss)
			if sum += x.USD / m.Unit / 5; x.Seconds > slo {
				sum += 10.0 / 5
			}
		}
		return sum
	}
	_, blindly, conf := schedules(t, 1, NoCap)
	replan, ahead, capped := schedules(t, 1, Scheduled)
	_, shared, _ := schedules(t, 1, Siblings)
	for name, x := range map[string][2]float64{
		"replan": {price(conf), price(replan)}, "steps-lookahead": {price(blindly), price(ahead)},
		"stepconf": {price(conf), price(capped)},
	} {
		if x[1] > 0.7*x[0] {
			t.Errorf("%s: %.3g units with the cap and %.3g without, want at most 0.7 times as much", name, x[1], x[0])
		}
	}
	if a, b := price(shared), price(blindly); a >= b {
		t.Errorf("steps-lookahead: %.3g units with the cap siblings and %.3g without, want less", a, b)
	}
}

// Where cores are not bounded a cap changes nothing.
func TestCapsOnAWS(t *testing.T) {
	w := generated(t, 7, 8, 8, steps.DAGShape)
	blind, blindly, conf := schedules(t, 1, NoCap)
	for _, limit := range []string{Siblings, Scheduled} {
		r, l, s := schedules(t, 1, limit)
		for name, pair := range map[string][2]steps.Decider{"replan": {blind, r}, "steps-lookahead": {blindly, l}, "stepconf": {conf, s}} {
			for k := range 5 {
				a := w.play(pair[0], 1.4*w.m.Fastest, w.m.Unit, draws(k))
				b := w.play(pair[1], 1.4*w.m.Fastest, w.m.Unit, draws(k))
				if a.seconds != b.seconds || a.usd != b.usd {
					t.Errorf("%s, cap %s, request %d: %g s and %g USD, want %g and %g", name, limit, k, b.seconds, b.usd, a.seconds, a.usd)
				}
			}
		}
	}
}
