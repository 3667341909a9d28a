package reinforce

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	long  = flag.Bool("long", false, "learn CartPole to its known return: seconds a seed")
	first = flag.Uint64("first", 1, "with -long: the first seed; nothing is claimed unless it is 1")
	seeds = flag.Uint64("seeds", 5, "with -long: the last seed")
	set   = flag.String("set", "", "with -long: keys to change, as in agent.lambda=1,agent.rate=0.001; nothing is claimed then")
)

// TestCartPole holds the shipped configuration against what SLM-Lab reports of REINFORCE after as many steps in as many
// environments at a time as half of ours, 483 (moving average).
func TestCartPole(t *testing.T) {
	if !*long {
		t.Skip("takes a minute: -long")
	}
	problem, c := classic.DefaultCartPole(), Default()
	var sets []string
	if *set != "" {
		sets = strings.Split(*set, ",")
	}
	plan := choicetest.Shipped(t, "../../configs/classic/cartpole-reinforce.yaml", &problem, &c, sets...)
	curves, last := choicetest.Seeds(t, *first, *seeds, plan, 40, func() (envs.Env, error) { return classic.NewCartPole(problem) },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	reached := uint64(0)
	for _, x := range last {
		if x >= 450 {
			reached++
		}
	}
	if *set != "" || *first != 1 {
		return
	}
	choicetest.WriteCurves(t, "cartpole", curves)
	choicetest.Draw(t, "cartpole", "REINFORCE on CartPole-v1", curves, choicetest.Mark{Text: "bound at 200,000 steps, 450", Y: 450})
	mean, half := choicetest.Interval(last)
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: fmt.Sprintf("REINFORCE on CartPole-v1, configs/classic/cartpole-reinforce.yaml: last %d training episodes by %d steps", choicetest.Window, plan.Steps),
		Bound:    fmt.Sprintf("≥ 450 on at least %d of %d seeds", *seeds*4/5, *seeds),
		Measured: fmt.Sprintf("%d of %d seeds, mean %.1f ± %.1f (95 %% over seeds), seeds %.1f", reached, *seeds, mean, half, last),
		Holds:    reached >= *seeds*4/5,
	})
}
