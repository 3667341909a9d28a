package ppo

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	long  = flag.Bool("long", false, "learn CartPole and LQR to their known returns: seconds a seed")
	seeds = flag.Uint64("seeds", 5, "with -long: the last seed")
)

// What CleanRL's documentation reports for ppo.py on CartPole-v1, with the same settings: mean and deviation.
const cleanRL, cleanRLDeviation = 490.04, 6.12

// TestCartPole holds what the shipped configuration reaches against CleanRL's PPO.
func TestCartPole(t *testing.T) {
	if !*long {
		t.Skip("takes half a minute: -long")
	}
	problem, c := classic.DefaultCartPole(), Default()
	plan := choicetest.Shipped(t, "../../configs/classic/cartpole-ppo.yaml", &problem, &c)
	curves, last := choicetest.Seeds(t, 1, *seeds, plan, 50, func() (envs.Env, error) { return classic.NewCartPole(problem) },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	choicetest.WriteCurves(t, "cartpole", curves)
	choicetest.Draw(t, "cartpole", "PPO on CartPole-v1, CleanRL's settings", curves,
		choicetest.Mark{Text: fmt.Sprintf("CleanRL at 500,000 steps, %.1f", cleanRL), Y: cleanRL})
	mean, half := choicetest.Interval(last)
	proof.Claim(t, proof.Row{
		Topic: "agents",
		Claim: fmt.Sprintf("PPO on CartPole-v1, configs/classic/cartpole-ppo.yaml: last %d training episodes by %d steps, "+
			"seeds 1 to %d, against CleanRL's %g ± %g", choicetest.Window, plan.Steps, *seeds, cleanRL, cleanRLDeviation),
		Bound:    "≥ 475 on every seed, ≥ 484 on average: CleanRL's mean less its deviation",
		Measured: fmt.Sprintf("mean %.1f ± %.1f (95 %% over seeds), seeds %.1f", mean, half, last),
		Holds:    slices.Min(last) >= 475 && mean >= cleanRL-cleanRLDeviation,
	})
}

// regulator is the control −gain·x, within the bound.
type regulator struct {
	agents.Policy
	gain, bound float32
}

func (r regulator) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	act.Kinds[0][0] = min(max(-r.gain*obs.Kinds[0].Values[0], -r.bound), r.bound)
	return nil
}

// TestLQR compares the mean action of the policy, with the shipped configuration, with the best control: −k·x with k
// from Riccati's equation. Both play the same episodes.
func TestLQR(t *testing.T) {
	if !*long {
		t.Skip("takes half a minute: -long")
	}
	problem, c := classic.DefaultLQR(), Default()
	plan := choicetest.Shipped(t, "../../configs/classic/lqr-ppo.yaml", &problem, &c)
	_, gain := problem.Riccati(1)
	var curves []choicetest.Curve
	var ratios []float64
	for seed := uint64(1); seed <= *seeds; seed++ {
		curve, l := choicetest.Train(t, seed, plan.Envs, plan.Steps, 50,
			func() (envs.Env, error) { return classic.NewLQR(problem) },
			func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
		curves = append(curves, curve)
		p := must.Get(l.Policy())(t)
		ratio := lqrCost(t, problem, p) / lqrCost(t, problem, regulator{p, float32(gain), float32(problem.Bound)})
		t.Logf("seed %d: %.4f of the best cost", seed, ratio)
		ratios = append(ratios, ratio)
	}
	choicetest.WriteCurves(t, "lqr", curves)
	choicetest.Draw(t, "lqr", "PPO on LQR, actions drawn, from 20,000 steps on", since(curves, 20_000),
		choicetest.Mark{Text: fmt.Sprintf("the best control, which draws nothing, %.2f", -problem.Cost(gain)),
			Y: -problem.Cost(gain)})
	mean, half := choicetest.Interval(ratios)
	proof.Claim(t, proof.Row{
		Topic: "agents",
		Claim: fmt.Sprintf("PPO on LQR, configs/classic/lqr-ppo.yaml: cost of the mean action by %d steps over that of "+
			"Riccati's control, 400 episodes, seeds 1 to %d", plan.Steps, *seeds),
		Bound:    "≤ 1.02 on every seed",
		Measured: fmt.Sprintf("mean %.4f ± %.4f (95 %% over seeds), seeds %.4f", mean, half, ratios),
		Holds:    slices.Max(ratios) <= 1.02,
	})
}

// since leaves out the points before a step.
func since(curves []choicetest.Curve, step int64) []choicetest.Curve {
	var out []choicetest.Curve
	for _, c := range curves {
		from := slices.IndexFunc(c.Steps, func(at int64) bool { return at >= step })
		out = append(out, choicetest.Curve{Seed: c.Seed, Steps: c.Steps[from:], Return: c.Return[from:]})
	}
	return out
}

// lqrCost is the mean cost of 400 episodes, the same for all policies.
func lqrCost(t *testing.T, problem classic.LQRConfig, p envs.Policy) float64 {
	t.Helper()
	env := must.Get(classic.NewLQR(problem))(t)
	r, sum := rollout.NewRunner(env), 0.0
	for seed := range uint64(400) {
		e := must.Get(r.Episode(rollout.Actor{Policy: p}, 1<<40+seed))(t)
		sum -= e.Return
	}
	return sum / 400
}
