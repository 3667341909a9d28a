package shipped

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
	"github.com/stoker-rl/stoker/train"
)

var long = flag.Bool("long", false, "evaluate the zoo's policies against their baselines")

// TestVerdicts: what the zoo's policies for HOPS beat, under 40 workload seeds that training has not seen.
func TestVerdicts(t *testing.T) {
	if !*long {
		t.Skip("needs -long")
	}
	foreseen := []string{"env.demand.noise=0.3"}
	azure := []string{"env.demand.source=workload", "eval.split=all"}
	for _, c := range []struct {
		name, baseline, world string
		sets                  []string
	}{
		{"hops-pricer", "pba", "HOPS' generated load", foreseen},
		{"hops-pricer", "spss", "HOPS' generated load", foreseen},
		{"hops-pricer", "pba", "the Azure day", azure},
		{"hops-scheduler", "arms", "HOPS' generated load", nil},
		{"hops-scheduler", "arms", "the Azure day", azure},
	} {
		t.Run(c.name+" "+c.baseline+" "+c.world, func(t *testing.T) {
			got := compare(t, c.name, c.baseline, append(c.sets, "eval.seeds=101-140", "eval.metrics=[profit]"))
			proof.Claim(t, proof.Row{
				Topic: "zoo",
				Claim: fmt.Sprintf("zoo:%s earns more than %s on %s", c.name, label(c.baseline), c.world),
				Bound: "verdict better: p under 0.05, simultaneous paired interval above 0",
				Measured: fmt.Sprintf("%+.0f [%+.0f, %+.0f] an episode, p %.2g, 40 workload seeds", got.Difference,
					got.SimultaneousLo, got.SimultaneousHi, got.PHolm),
				Holds: got.Verdict == eval.Better,
			})
		})
	}
}

// label says what a baseline is in the configurations of the zoo's policies.
func label(baseline string) string {
	return map[string]string{"pba": "PBA within the episode", "spss": "the best fixed prices and baselines",
		"arms": "ARMS"}[baseline]
}

// compare plays an entry and the first baseline of a name in its configuration.
func compare(t *testing.T, name, baseline string, sets []string) eval.Comparison {
	t.Helper()
	choice := must.Get(eval.Choose(catalog.Default(), []string{zoo.Prefix + name}, "", sets))(t)
	x := choice.Experiment
	seeds := must.Get(configs.ParseSeeds(x.Eval.Seeds))(t)
	newEnv := func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }
	env := must.Get(newEnv())(t)
	metrics := must.Get(eval.Metrics(env.Spec(), x.Eval.Metrics))(t)
	p := must.Get(eval.Run(t.Context(), eval.Request{NewEnv: newEnv, Contestants: choice.Contestants, Seeds: seeds,
		Workers: 1}))(t)
	s := must.Get(eval.Summarise(p, eval.Analysis{Metrics: metrics, Resamples: 10_000, Seed: 1}))(t)
	for _, c := range s.Comparisons {
		if c.A == name && c.B == baseline {
			return c
		}
	}
	t.Fatalf("%s is not compared with %s: %+v", name, baseline, s.Comparisons)
	return eval.Comparison{}
}
