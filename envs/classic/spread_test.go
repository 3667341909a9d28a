package classic

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Returns on both scales under policies whose returns are known: three agents, 25 steps. The values were measured with
// an independent port over 20,000 episodes each (their intervals are in the table), and under random actions MPE2's own
// code gives −26.39 ± 0.41.
func TestSpreadScales(t *testing.T) {
	for _, c := range []struct {
		name, physics, reward string
		random                bool
		want, interval        float64
	}{
		{"OpenAI, random", Legacy, OpenAI, true, -231.6, 0.65},
		{"OpenAI, standing still", Legacy, OpenAI, false, -218.0, 0.67},
		{"PettingZoo, random", Current, PettingZoo, true, -26.50, 0.11},
		{"PettingZoo, standing still", Current, PettingZoo, false, -24.24, 0.11},
	} {
		cfg := DefaultSpread()
		cfg.Physics, cfg.Reward = c.physics, c.reward
		env, err := NewSpread(cfg)
		p := newPlayer(t, env, err)
		s := rng.NewStream(5, c.name)
		const n = 8000
		var sum, squares float64
		for seed := range uint64(n) {
			ret, _ := p.episode(t, seed, func() {
				for i := range p.act.Kinds[0] {
					p.act.Kinds[0][i] = 0
					if c.random {
						p.act.Kinds[0][i] = float32(s.IntN(5))
					}
				}
			})
			sum += ret
			squares += ret * ret
		}
		mean := sum / n
		deviation := math.Sqrt((squares/n - mean*mean) / n)
		// Four tests: 3 standard errors of the difference leave one in a hundred.
		if limit := 3 * math.Hypot(deviation, c.interval/1.96); math.Abs(mean-c.want) > limit {
			t.Errorf("%s: mean return is %.2f ± %.2f, want %.2f ± %.2f", c.name, mean, 1.96*deviation, c.want, c.interval)
		}
	}
}

// What agents see: themselves, landmarks and the others relative to them, silence.
func TestSpreadObservation(t *testing.T) {
	env, err := NewSpread(DefaultSpread())
	p := newPlayer(t, env, err)
	must.Do(t, env.SetBodies([]float64{1, 2, 3, 4, 5, 6}, []float64{.1, .2, .3, .4, .5, .6}, []float64{7, 8, 9, 10, 11, 12},
		p.obs))
	want := []float32{.3, .4, 3, 4, 4, 4, 6, 6, 8, 8, -2, -2, 2, 2, 0, 0, 0, 0}
	for i, x := range p.obs.Kinds[0].Values[18:36] {
		if x != want[i] {
			t.Errorf("agent 1 sees %g as %s, want %g", x, env.Spec().Kinds[0].Features[i], want[i])
		}
	}
	if env.SetBodies(nil, nil, nil, p.obs) == nil {
		t.Error("an empty state was accepted")
	}
}

// Agents at one point have no direction to part in; nothing may become NaN.
func TestSpreadAgentsAtOnePoint(t *testing.T) {
	env, err := NewSpread(DefaultSpread())
	p := newPlayer(t, env, err)
	must.Do(t, env.SetBodies(make([]float64, 6), make([]float64, 6), make([]float64, 6), p.obs))
	must.Do(t, env.Step(p.act, p.obs, p.out))
	// Three pairs overlap, and each agent itself: −(3 + 2·3).
	if p.out.Rewards[0][0] != -9 || p.out.Info[1] != 3 || p.out.Info[2] != 3 {
		t.Errorf("rewards %v and infos %v", p.out.Rewards, p.out.Info)
	}
}

// The random policy's return on OpenAI's scale per agent: each agent draws one of its five actions uniformly at every
// step.
func TestSpreadUnderRandomActions(t *testing.T) {
	const want, within = -231.4, 0.6
	n, episodes := 50_000.0, "50,000"
	if os.Getenv(proof.Folder) != "" {
		n, episodes = 200_000, "200,000"
	}
	cfg := DefaultSpread()
	env, err := NewSpread(cfg)
	p := newPlayer(t, env, err)
	s := rng.NewStream(6, "random policy")
	var sum, squares float64
	for seed := range uint64(n) {
		ret, _ := p.episode(t, seed, func() {
			for i := range p.act.Kinds[0] {
				p.act.Kinds[0][i] = float32(s.IntN(5))
			}
		})
		sum += ret
		squares += ret * ret
	}
	mean := sum / n
	half := 1.96 * math.Sqrt((squares/n-mean*mean)/n)
	proof.Claim(t, proof.Row{
		Topic:    "environments",
		Claim:    "simple_spread, three agents, 25 steps, OpenAI's scale per agent: mean return of uniformly random actions over " + episodes + " episodes",
		Bound:    "-231.4 ± 0.6",
		Measured: fmt.Sprintf("%.2f ± %.2f (95 %% interval)", mean, half),
		Holds:    math.Abs(mean-want) <= within,
	})
}
