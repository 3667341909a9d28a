package classic

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
)

// The control costs what its closed form says, and less than gains beside it.
func TestRiccatiIsTheOptimum(t *testing.T) {
	c := classic.DefaultLQR()
	env, err := classic.NewLQR(c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewRiccati(DefaultRiccati(), env)
	if err != nil {
		t.Fatal(err)
	}
	cost := func(p *Riccati) float64 {
		r, sum, n := rollout.NewRunner(env), 0.0, uint64(2000)
		for seed := range n {
			e, err := r.Episode(rollout.Actor{Policy: p}, seed)
			if err != nil {
				t.Fatal(err)
			}
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
	env, err := classic.NewBandit(classic.DefaultBandit())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewRiccati(DefaultRiccati(), envs.Env(env)); err == nil ||
		!strings.Contains(err.Error(), "riccati: acts in stoker/LQR-v1 only, not in stoker/Bandit-v1") {
		t.Errorf("another environment gives %v", err)
	}
}
