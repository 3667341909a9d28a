package maddpg

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/tools/proof"
)

// The number of copies of simple_spread that train together, and of evaluations during training.
const (
	spreadCopies      = 16
	spreadEvaluations = 20
)

// learnSpread trains with OpenAI's recipe and one seed. Returns are per agent, on OpenAI's scale.
func learnSpread(t *testing.T, seed uint64) curve {
	t.Helper()
	c := Default()
	c.Mix, c.ActorRate, c.CriticRate, c.Gamma, c.Batch, c.Replay = Joint, 1e-2, 1e-2, 0.95, 1_024, 1_000_000
	c.RandomSteps, c.LearningStarts, c.UpdateEvery, c.Standardise, c.Batches = 0, 25*1_024, 100, false, Independent
	s := newTrainer(t, func() (envs.Env, error) { return classic.NewSpread(classic.DefaultSpread()) }, spreadCopies, c,
		seed, int64(*episodes)*25)
	l := curve{seed: seed}
	rounds, done := *episodes/spreadCopies, 0
	for i := range spreadEvaluations + 1 {
		next := rounds * i / spreadEvaluations
		s.steps((next - done) * 25)
		done = next
		p := point{episode: done * spreadCopies}
		p.mean, p.half = s.evaluate(s.policy(), 1_000, true)
		p.greedy, p.greedyHalf = s.evaluate(s.policy(), 1_000, false)
		l.points = append(l.points, p)
	}
	l.write(t, "spread")
	return l
}

// TestSimpleSpread trains on simple_spread with OpenAI's recipe. Returns are per agent, on OpenAI's scale: random
// actions return −231.4, the best assignment of agents to landmarks −121. We ran a plain PyTorch learner with this
// recipe 21 times: it returns −200 ± 4 after 2,500 episodes and −160.2 ± 4.1 (standard deviation) after 25,000.
func TestSimpleSpread(t *testing.T) {
	if !*long {
		t.Skip("takes minutes a seed: -long")
	}
	var curves []curve
	for seed := *first; seed <= *seeds; seed++ {
		c, ok := curve{}, false
		if *proceed {
			c, ok = readCurve(t, "spread", seed)
			ok = ok && c.last().episode == *episodes/spreadCopies*spreadCopies
		}
		if !ok {
			c = learnSpread(t, seed)
		}
		p, early := c.last(), c.at(2_500)
		t.Logf("seed %d: %.1f ± %.1f before learning, %.1f ± %.1f after %d episodes, %.1f ± %.1f after %d (greedy %.1f ± %.1f)", seed,
			c.points[0].mean, c.points[0].half, early.mean, early.half, early.episode, p.mean, p.half, p.episode, p.greedy,
			p.greedyHalf)
		curves = append(curves, c)
	}
	draw(t, "spread", "MADDPG on simple_spread, OpenAI's recipe and scale (sampled actions)", "return per agent", curves,
		func(p point) float64 { return p.mean }, mark{"random actions", -231.4},
		mark{"best assignment of agents to landmarks", -121.1})
	claimSpread(t, curves)
}

func claimSpread(t *testing.T, curves []curve) {
	t.Helper()
	row := func(claim, bound string, at func(curve) point, holds func(lo, hi, mean float64) bool) {
		t.Helper()
		x := values(curves, func(c curve) float64 { return at(c).mean })
		widest := slices.Max(values(curves, func(c curve) float64 { return at(c).half }))
		mean, half := overSeeds(x)
		lo, hi := slices.Min(x), slices.Max(x)
		measured := fmt.Sprintf("%.1f ± %.1f by the exam's 1,000 episodes", mean, widest)
		if len(x) > 1 {
			measured = fmt.Sprintf("mean %.1f ± %.1f (95 %% over seeds), seeds %.1f to %.1f, each ± %.1f by its exam's 1,000 episodes", mean, half, lo, hi, widest)
		}
		proof.Claim(t, proof.Row{
			Topic: "agents", Claim: fmt.Sprintf("MADDPG on simple_spread, scale A, sampled actions, %d seeds: %s", len(x),
				claim),
			Bound: bound, Measured: measured, Holds: holds(lo, hi, mean),
			Command: fmt.Sprintf("go test ./agents/maddpg -run Spread -long -v -timeout 0 -episodes %d -seeds %d", *episodes,
				len(x)),
		})
	}
	row("return before training", "−231 ± 5, each seed", func(c curve) point { return c.points[0] },
		func(lo, hi, _ float64) bool { return math.Abs(lo+231) <= 5 && math.Abs(hi+231) <= 5 })
	row(fmt.Sprintf("return after %d episodes", curves[0].at(2_500).episode), "better than −210, each seed",
		func(c curve) point { return c.at(2_500) }, func(lo, _, _ float64) bool { return lo > -210 })
	if last := curves[0].last().episode; last > 24_900 {
		row(fmt.Sprintf("return after %d episodes", last),
			"mean better than −164, no seed worse than −175, none better than −115 (a bug)",
			curve.last, func(lo, hi, mean float64) bool { return mean > -164 && lo >= -175 && hi < -115 })
	}
}
