package classic

import (
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// A pole that is balanced is truncated after 500 steps, not terminated.
func TestCartPoleIsTruncatedWhereItStands(t *testing.T) {
	c, err := NewCartPole(DefaultCartPole())
	p := newPlayer(t, c, err)
	for seed := range uint64(20) {
		ret, steps := p.episode(t, seed, func() {
			// A linear control that balances from any start of ±0.05.
			o := p.obs.Kinds[0].Values
			p.act.Kinds[0][0] = 0
			if 0.1*o[0]+0.3*o[1]+3*o[2]+o[3] > 0 {
				p.act.Kinds[0][0] = 1
			}
		})
		if steps != 500 || ret != 500 || p.out.Terminated || !p.out.Truncated {
			t.Errorf("seed %d: return %g after %d steps, terminated %v, truncated %v", seed, ret, steps, p.out.Terminated,
				p.out.Truncated)
		}
	}
}

// Random actions last about 22 steps. The standard error of 2,000 episodes is 0.26.
func TestCartPoleUnderRandomActions(t *testing.T) {
	c, err := NewCartPole(DefaultCartPole())
	p := newPlayer(t, c, err)
	s := rng.NewStream(2, "actions")
	total := 0
	const n = 2000
	for seed := range uint64(n) {
		_, steps := p.episode(t, seed, func() { p.act.Kinds[0][0] = float32(s.IntN(2)) })
		total += steps
	}
	if mean := float64(total) / n; mean < 21 || mean > 23.5 {
		t.Errorf("random episodes last %g steps on average, want about 22.3", mean)
	}
}

func TestCartPoleOptions(t *testing.T) {
	c, err := NewCartPole(DefaultCartPole())
	p := newPlayer(t, c, err)
	if err := c.Reset(1, envs.Options{"low": 0.1, "high": 0.1}, p.obs); err != nil ||
		c.Pose() != [4]float64{0.1, 0.1, 0.1, 0.1} {
		t.Errorf("with low and high 0.1 the state is %v, error %v", c.Pose(), err)
	}
	for _, o := range []envs.Options{{"low": 1}, {"low": 0.2, "high": 0.1}, {"lo": 0.1}} {
		if c.Reset(1, o, p.obs) == nil {
			t.Errorf("options %v were accepted", o)
		}
	}
}
