package gnn

import (
	"fmt"

	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
)

// transfer is a policy trained from scratch where the other was only trained further, both played there.
type transfer struct {
	size generalSize
	*field
	budget    float64          // steps of the further training, in % of those from scratch
	moved     report.Estimate  // performance after the further training
	untouched *report.Estimate // and before it; nil where that policy does not play
}

// newTransfer sets up the target of the transfer, as the policy trained from scratch knows it.
func newTransfer(r *suite.Report, size generalSize) (*transfer, error) {
	t := &transfer{size: size}
	if size.scratch == nil || size.transfer == nil {
		return t, nil
	}
	own := size.scratch.serverless()
	if own == nil {
		return nil, fmt.Errorf("%s was trained in %s", size.scratch.Source, size.scratch.Experiment.Env.Name)
	}
	w := newWorld()
	w.config.Workload, w.config.System, w.config.Load, w.config.TPCH = own.Workload, own.System, size.load, own.TPCH
	if size.change != nil {
		size.change(&w.config)
	}
	var err error
	t.field, err = newField(r, fmt.Sprintf("target of the transfer: %s, system %d, load %.0f %%", own.Workload,
		own.System, 100*size.load), w, true,
		size.scratch, size.transfer, size.gnn)
	if err != nil {
		return nil, err
	}
	if t.find(size.scratch.Source) < 0 || t.find(size.transfer.Source) < 0 {
		r.Note("transfer is not measured: a policy does not fit its target")
		t.field = nil
	}
	return t, nil
}

// report shows the policies where they were moved to, and holds the transfer against the paper's 92 %.
func (t *transfer) report(r *suite.Report) {
	if t.field == nil {
		suite.Judge(r, t, transferClaims)
		return
	}
	// Of whole runs: each policy is the best checkpoint of its own.
	t.budget = 100 * float64(t.size.transfer.Experiment.Train.Steps) / float64(t.size.scratch.Experiment.Train.Steps)
	moved := t.performance(t.size.transfer.Source)
	r.Measured(suite.Row{
		Figure: "4.3, transfer", Quantity: "performance of the policy further trained, of the one from scratch", Unit: "%",
		Paper: new(paperTransfer),
		Note:  fmt.Sprintf("one over slowdown; after %.0f %% of the steps, the paper: %g %%", t.budget, paperBudget),
	}, moved)
	t.moved = r.Estimate(moved)
	if t.size.gnn != nil && t.find(t.size.gnn.Source) >= 0 {
		untouched := t.performance(t.size.gnn.Source)
		r.Measured(suite.Row{
			Figure: "4.3, transfer", Unit: "%",
			Quantity: "performance of the policy without further training, of the one from scratch",
		}, untouched)
		t.untouched = new(r.Estimate(untouched))
	}
	suite.Judge(r, t, transferClaims)
	t.compare(t.find(t.size.transfer.Source), quantities[0], withAll)
	tab := report.Table{
		Name: "transfer", Title: "Slowdown where the policy was moved to",
		Columns: report.Head("policy", "slowdown"),
	}
	for i := range t.players {
		tab.Rows = append(tab.Rows, []any{t.players[i].Name, t.estimate(i, "slowdown")})
	}
	r.Table(tab)
}

// performance is one over a policy's slowdown, in % of that of the policy trained from scratch.
func (t *transfer) performance(name string) stats.Scores {
	return t.slowdowns(t.find(t.size.scratch.Source), t.find(name),
		func(scratch, own float64) float64 { return 100 * scratch / own })
}

var transferClaims = []suite.Statement[*transfer]{{
	Claim: "a policy fine-tuned for 20 % of the training iterations reaches 92 % of the performance of one trained " +
		"from scratch",
	Parts: []suite.Part[*transfer]{
		{Rule: suite.Over(paperTransfer), Measure: fineTuned},
		{Measure: notTuned, Lead: "; without any further training "},
	},
}}

func fineTuned(t *transfer, rule suite.Rule) []suite.Finding {
	if t.field == nil {
		return []suite.Finding{{Text: "no pair of policies, trained from scratch and further trained, plays",
			Verdict: suite.Unknown}}
	}
	out := suite.Found(suite.Unknown, "%s %% after %.0f %% of the steps", t.moved, t.budget)
	if t.budget <= 1.1*paperBudget { // more than the claim allows shows nothing
		out.Verdict = rule(t.moved)
	}
	return []suite.Finding{out}
}

func notTuned(t *transfer, _ suite.Rule) []suite.Finding {
	if t.untouched == nil {
		return nil
	}
	return []suite.Finding{{Text: t.untouched.String() + " %"}}
}
