package suite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/deeprm"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
)

// claims is the paper's table of claims: what it says, what is measured, and the rule.
var claims = []suite.Statement[[]suite.Comparison]{
	{Claim: "SJF has at least one job's time less slowdown than FCFS", Parts: []suite.Part[[]suite.Comparison]{
		{Rule: suite.Under(-1), Measure: difference, Lead: "SJF less FCFS: "},
	}},
}

func difference(verdicts []suite.Comparison, rule suite.Rule) []suite.Finding {
	d := verdicts[0].Interval()
	return []suite.Finding{{Text: d.String(), Verdict: rule(d)}}
}

// play has both policies face the same sequences of jobs in DeepRM's cluster, and reports.
func play(ctx context.Context, o suite.Options, r *suite.Report) error {
	request := eval.Request{
		NewEnv: func() (envs.Env, error) { return deeprm.New(deeprm.Default()) }, Seeds: o.Seeds,
	}
	for _, name := range []string{"sjf", "fcfs"} { // as the catalog has them, with their default configurations
		c, err := eval.Baseline(name, name, nil)
		if err != nil {
			return err
		}
		request.Contestants = append(request.Contestants, c)
	}
	played, err := o.Play(ctx, "sequences", request)
	if err != nil {
		return err
	}
	slowdown := eval.Metric{Name: "slowdown", Better: envs.Lower}
	paper := map[string]float64{"sjf": 9}
	var all []eval.Scored
	for i, c := range played.Contestants {
		scores := r.Scores(played, i, slowdown.Name, 1)
		row := suite.Row{Figure: "3", Quantity: "mean slowdown, " + c.Name, Unit: "1"}
		if x, ok := paper[c.Name]; ok {
			row.Paper = &x
		}
		r.Measured(row, scores)
		all = append(all, eval.Scored{Name: c.Name, Scores: scores})
	}
	verdicts := r.Compare("default load", slowdown, all[0], all[1:]...)
	suite.Judge(r, verdicts, claims)
	r.Note("one load only")
	return nil
}

// A suite of two policies: their rows, a verdict, and what lies in the folder.
func Example() {
	s := suite.Suite{
		Name: "slowdown", Doc: "mean slowdown of two rules in DeepRM's cluster",
		Paper: "Mao et al., Resource Management with Deep Reinforcement Learning",
		Seeds: 40, QuickSeeds: 10, Run: play,
	}
	dir, err := os.MkdirTemp("", "suite")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	res, err := suite.Run(context.Background(), s, suite.Options{}, filepath.Join(dir, "out"),
		suite.Made{Version: "v0", Revision: "none"})
	if err != nil {
		panic(err)
	}
	for _, row := range res.Rows {
		fmt.Printf("%s, %d seeds: between 1 and 40: %t\n", row.Quantity, len(res.Seeds), row.Lo > 1 && row.Hi < 40)
	}
	c := res.Comparisons[0]
	fmt.Printf("%s is %s than %s\n", c.A, c.Verdict, c.B)
	fmt.Println("the claim", res.Claims[0].Verdict)
	fmt.Println(res.Command)
	// Output:
	// mean slowdown, sjf, 40 seeds: between 1 and 40: true
	// mean slowdown, fcfs, 40 seeds: between 1 and 40: true
	// sjf is better than fcfs
	// the claim holds
	// stoker suite slowdown --seeds 1-40
}
