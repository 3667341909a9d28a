package dqn

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/proof"
)

var (
	long  = flag.Bool("long", false, "learn CartPole to its known return: seconds a seed")
	seeds = flag.Uint64("seeds", 5, "with -long: the number of seeds")
	first = flag.Uint64("first", 1, "with -long: the first seed; nothing is claimed unless it is 1")
	set   = flag.String("set", "", "with -long: a key to change, as in agent.double=true; nothing is claimed then")
)

// TestCartPole holds what the shipped configuration reaches against CleanRL's DQN, whose documentation has 488.7 ± 16.1 over three
// seeds for the same settings.
func TestCartPole(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	problem, c := classic.DefaultCartPole(), Default()
	var sets []string
	if *set != "" {
		sets = []string{*set}
	}
	plan := choicetest.Shipped(t, "../../configs/classic/cartpole-dqn.yaml", &problem, &c, sets...)
	var curves []choicetest.Curve
	var last []float64
	reached := uint64(0)
	for seed := *first; seed <= *seeds; seed++ {
		curve, _ := choicetest.Train(t, seed, plan.Copies, plan.Steps, 50, func() (envs.Env, error) { return classic.NewCartPole(problem) },
			func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
		t.Logf("seed %d: %.1f; on the way %.0f", seed, curve.Last(), curve.Return)
		curves, last = append(curves, curve), append(last, curve.Last())
		if curve.Last() >= 475 {
			reached++
		}
	}
	if *set != "" || *first != 1 {
		return
	}
	choicetest.Keep(t, "cartpole", curves)
	choicetest.Draw(t, "cartpole", "DQN on CartPole-v1, CleanRL's settings", curves, choicetest.Mark{Text: "CleanRL at 500,000 steps, 488.7", Y: 488.7})
	mean, half := choicetest.Interval(last)
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: fmt.Sprintf("DQN on CartPole-v1, configs/classic/cartpole-dqn.yaml: last %d training episodes by %d steps", choicetest.Window, plan.Steps),
		Bound:    fmt.Sprintf("≥ 475 on at least %d of %d seeds, ≥ 480 on average", *seeds*4/5, *seeds),
		Measured: fmt.Sprintf("%d of %d seeds, mean %.1f ± %.1f (95 %% over seeds), seeds %.1f", reached, *seeds, mean, half, last),
		Holds:    reached >= *seeds*4/5 && mean >= 480,
	})
}
