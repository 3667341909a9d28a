package classic

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
)

// The control costs what its closed form says, and less than gains beside it.
func TestRiccatiIsTheOptimum(t *testing.T) {
	c := classic.DefaultLQR()
	env := must.Get(classic.NewLQR(c))(t)
	p := must.Get(NewRiccati(DefaultRiccati(), env))(t)
	cost := func(p *Riccati) float64 {
		r, sum, n := rollout.NewRunner(env), 0.0, uint64(2000)
		for seed := range n {
			e := must.Get(r.Episode(rollout.Actor{Policy: p}, seed))(t)
			sum -= e.Return
		}
		return sum / float64(n)
	}
	best := cost(p)
	_, gain := c.Riccati(1)
	// An episode's cost has a deviation of about 2.
	if want := c.Cost(gain); math.Abs(best-want) > 0.2 {
		t.Errorf("an episode costs %.3f, want %.3f", best, want)
	}
	for _, factor := range []float32{0.7, 1.4} {
		if other := cost(&Riccati{gain: p.gain * factor, bound: p.bound}); other <= best {
			t.Errorf("%g times the gain costs %.3f, no more than %.3f", factor, other, best)
		}
	}
}

func TestRiccatiKnowsItsProblem(t *testing.T) {
	env := must.Get(classic.NewBandit(classic.DefaultBandit()))(t)
	if _, err := NewRiccati(DefaultRiccati(), envs.Env(env)); err == nil ||
		!strings.Contains(err.Error(), "riccati: acts in stoker/LQR-v1 only, not in stoker/Bandit-v1") {
		t.Errorf("another environment gives %v", err)
	}
}
