package dqn

import (
	"flag"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/tools/proof"
)

var (
	long  = flag.Bool("long", false, "learn CartPole to its known return: seconds a seed")
	seeds = flag.Uint64("seeds", 20, "with -long: the last seed")
	first = flag.Uint64("first", 1, "with -long: the first seed; nothing is claimed unless it is 1")
	set   = flag.String("set", "", "with -long: keys to change, as in agent.double=true,agent.loss=huber; nothing is claimed then")
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
		sets = strings.Split(*set, ",")
	}
	plan := choicetest.Shipped(t, "../../configs/classic/cartpole-dqn.yaml", &problem, &c, sets...)
	curves, last := choicetest.Seeds(t, *first, *seeds, plan, 50, func() (envs.Env, error) { return classic.NewCartPole(problem) },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	if *set != "" || *first != 1 {
		return
	}
	choicetest.WriteCurves(t, "cartpole", curves)
	choicetest.Draw(t, "cartpole", "DQN on CartPole-v1, CleanRL's settings", curves, choicetest.Mark{Text: "CleanRL at 500,000 steps, 488.7", Y: 488.7})
	five := last[:min(5, len(last))]
	reached := 0
	for _, x := range five {
		if x >= 475 {
			reached++
		}
	}
	mean, half := choicetest.Interval(five)
	what := fmt.Sprintf("DQN on CartPole-v1, configs/classic/cartpole-dqn.yaml: last %d training episodes by %d steps", choicetest.Window, plan.Steps)
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: what + ", seeds 1 to 5",
		Bound:    "≥ 475 on at least 4 of 5 seeds, ≥ 480 on average",
		Measured: fmt.Sprintf("%d of %d seeds, mean %.1f ± %.1f (95 %% over seeds), seeds %.1f", reached, len(five), mean, half, five),
		Holds:    reached >= 4 && mean >= 480,
	})
	if len(last) < 20 {
		return
	}
	mean, half = choicetest.Interval(last)
	apart := (cleanRL - mean) / math.Hypot(cleanRLDeviation/math.Sqrt(cleanRLSeeds), stat.StdDev(last, nil)/math.Sqrt(float64(len(last))))
	proof.Claim(t, proof.Row{
		Topic: "agents", Claim: fmt.Sprintf("%s, %d seeds, against CleanRL's %g ± %g (%d seeds)", what, len(last), cleanRL, cleanRLDeviation, cleanRLSeeds),
		Bound:    "two standard errors of the difference",
		Measured: fmt.Sprintf("mean %.1f ± %.1f (95 %% over seeds), %.1f standard errors below", mean, half, apart),
		Holds:    apart <= 2,
	})
}

// What CleanRL's documentation reports for the same settings: mean and deviation over three seeds.
const (
	cleanRL, cleanRLDeviation = 488.69, 16.11
	cleanRLSeeds              = 3
)
