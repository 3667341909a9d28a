package suite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
)

// heuristic is a policy of the catalog, by name, in DeepRM's cluster.
func heuristic(name string) (suite.Entry, error) {
	r, err := catalog.Default().Rival(name)
	if err != nil {
		return suite.Entry{}, err
	}
	return suite.Entry{
		Contestant: eval.Contestant{Name: name, Kind: r.Kind, Versions: []eval.Version{{
			New: func(env envs.Env) (rollout.Actor, error) { return r.New(r.Config(), env) },
		}}},
		NewEnv: func() (envs.Env, error) { return deeprm.New(deeprm.Default()) },
	}, nil
}

// play has both policies face the same sequences of jobs, and reports.
func play(ctx context.Context, o suite.Options, r *suite.Report) error {
	var entries []suite.Entry
	for _, name := range []string{"sjf", "fcfs"} {
		e, err := heuristic(name)
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	games, err := suite.Play(ctx, &o, suite.Plan{Stage: "sequences", Entries: entries, Seeds: o.Seeds})
	if err != nil {
		return err
	}
	paper := map[string]float64{"sjf": 9}
	var all []suite.Scored
	for i, e := range games.Entries {
		scores, err := games.Scores(i, "slowdown")
		if err != nil {
			return err
		}
		row := suite.Row{Figure: "3", Quantity: "mean slowdown, " + e.Name, Unit: "1"}
		if x, ok := paper[e.Name]; ok {
			row.Paper = &x
		}
		r.Measured(row, scores)
		all = append(all, suite.Scored{Name: e.Name, Scores: scores})
	}
	r.Compare("default load", eval.Metric{Name: "slowdown", Better: envs.Lower}, all[0], all[1:]...)
	r.Note("one load only")
	return nil
}

// A suite of two policies: their rows, a verdict, and what lies in the folder.
func Example() {
	s := suite.Suite{
		Name: "slowdown", Doc: "mean slowdown of two rules in DeepRM's cluster", Paper: "Mao et al., Resource Management with Deep Reinforcement Learning",
		Seeds: 40, QuickSeeds: 10, Run: play,
	}
	dir, err := os.MkdirTemp("", "suite")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	res, err := suite.Run(context.Background(), s, suite.Options{}, filepath.Join(dir, "out"), suite.Made{Version: "v0", Revision: "none"})
	if err != nil {
		panic(err)
	}
	for _, row := range res.Rows {
		fmt.Printf("%s, %d seeds: between 1 and 40: %t\n", row.Quantity, len(res.Seeds), row.Lo > 1 && row.Hi < 40)
	}
	c := res.Comparisons[0]
	fmt.Printf("%s is %s than %s\n", c.A, c.Verdict, c.B)
	fmt.Println(res.Command)
	// Output:
	// mean slowdown, sjf, 40 seeds: between 1 and 40: true
	// mean slowdown, fcfs, 40 seeds: between 1 and 40: true
	// sjf is better than fcfs
	// stoker suite slowdown --seeds 1-40
}
