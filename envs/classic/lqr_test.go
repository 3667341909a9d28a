package classic

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/rng"
)

// The default's equation is p² − p − 1 = 0: the golden ratio.
func TestRiccati(t *testing.T) {
	c := DefaultLQR()
	golden := (1 + math.Sqrt(5)) / 2
	if p, gain := c.Riccati(1); math.Abs(p-golden) > 1e-12 || math.Abs(gain-(golden-1)) > 1e-12 {
		t.Errorf("p is %g and the gain %g, want %g and %g", p, gain, golden, golden-1)
	}
	for _, gamma := range []float64{1, 0.9, 0.5} {
		c := LQRConfig{A: 0.9, B: 0.5, Q: 2, R: 0.3}
		p, gain := c.Riccati(gamma)
		again := c.Q + gamma*c.A*c.A*p - math.Pow(gamma*c.A*c.B*p, 2)/(c.R+gamma*c.B*c.B*p)
		if math.Abs(again-p) > 1e-12 || p < c.Q {
			t.Errorf("with discount %g, p = %g does not solve its equation: %g", gamma, p, again)
		}
		// No other gain has a lower discounted cost: the value of a gain k is (q + rk²)/(1 − γ(a−bk)²)·x².
		value := func(k float64) float64 {
			return (c.Q + c.R*k*k) / (1 - gamma*math.Pow(c.A-c.B*k, 2))
		}
		if math.Abs(value(gain)-p) > 1e-12 || value(gain+1e-3) < p || value(gain-1e-3) < p {
			t.Errorf("with discount %g, the gain %g costs %g, its neighbours %g and %g, p is %g", gamma, gain, value(gain),
				value(gain-1e-3), value(gain+1e-3), p)
		}
	}
}

// The environment costs what the closed form says, under the best gain and under another.
func TestLQRCost(t *testing.T) {
	c := DefaultLQR()
	env, err := NewLQR(c)
	p := newPlayer(t, env, err)
	_, best := c.Riccati(1)
	for _, gain := range []float64{best, 0.2} {
		const n = 4000
		var sum, squares float64
		for seed := range uint64(n) {
			ret, steps := p.episode(t, seed, func() {
				u := -float32(gain) * p.obs.Kinds[0].Values[0]
				p.act.Kinds[0][0] = min(max(u, -float32(c.Bound)), float32(c.Bound))
			})
			if steps != c.Steps {
				t.Fatalf("an episode has %d steps, want %d", steps, c.Steps)
			}
			sum -= ret
			squares += ret * ret
		}
		mean := sum / n
		if limit := 4 * math.Sqrt((squares/n-mean*mean)/n); math.Abs(mean-c.Cost(gain)) > limit {
			t.Errorf("gain %g costs %g ± %g, want %g", gain, mean, limit, c.Cost(gain))
		}
	}
	if c.Cost(best) > c.Cost(best+0.05) || c.Cost(best) > c.Cost(best-0.05) {
		t.Error("the best gain is not the cheapest")
	}
}

// The gradient against finite differences of the expected reward.
func TestBanditGradient(t *testing.T) {
	c := BanditConfig{Means: []float64{1, -0.5, 0.25}, Deviation: 1}
	expected := func(l []float64) float64 {
		var total, mean float64
		for i := range l {
			total += math.Exp(l[i])
			mean += math.Exp(l[i]) * c.Means[i]
		}
		return mean / total
	}
	logits := []float64{0.3, -1, 0.7}
	for i, g := range c.Gradient(logits) {
		const h = 1e-5
		up, down := append([]float64(nil), logits...), append([]float64(nil), logits...)
		up[i] += h
		down[i] -= h
		if d := (expected(up) - expected(down)) / (2 * h); math.Abs(d-g) > 1e-9 {
			t.Errorf("component %d is %g, the difference quotient %g", i, g, d)
		}
	}
}

// Each pull ends an episode, and its mean is the arm's.
func TestBanditArms(t *testing.T) {
	c := BanditConfig{Means: []float64{0.5, -1}, Deviation: 2}
	env, err := NewBandit(c)
	p := newPlayer(t, env, err)
	s := rng.NewStream(1, "arms")
	var sum [2]float64
	var pulls [2]float64
	for seed := range uint64(20_000) {
		arm := s.IntN(2)
		ret, steps := p.episode(t, seed, func() { p.act.Kinds[0][0] = float32(arm) })
		if steps != 1 || !p.out.Terminated || p.out.Truncated {
			t.Fatalf("an episode has %d pulls, terminated %v, truncated %v", steps, p.out.Terminated, p.out.Truncated)
		}
		sum[arm] += ret
		pulls[arm]++
		if want := 0.5 - c.Means[arm]; p.out.Info[0] != want {
			t.Fatalf("regret of arm %d is %g, want %g", arm, p.out.Info[0], want)
		}
	}
	for arm, mean := range c.Means {
		if got := sum[arm] / pulls[arm]; math.Abs(got-mean) > 4*c.Deviation/math.Sqrt(pulls[arm]) {
			t.Errorf("arm %d gives %g on average, want %g", arm, got, mean)
		}
	}
}
