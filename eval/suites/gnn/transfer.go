package gnn

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/eval/stats"
	"github.com/stoker-rl/stoker/eval/suite"
)

// none is an estimate of nothing.
var none = suite.Estimate{At: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}

// transfer is a policy trained from scratch where the other was only trained further, both played there.
type transfer struct {
	size generalSize
	*field
}

const claimTransfer = "a policy fine-tuned for 20 % of the training iterations reaches 92 % of the performance of one trained from scratch"

// newTransfer sets up the target of the transfer, as the policy trained from scratch knows it.
func newTransfer(r *suite.Report, size generalSize) (*transfer, error) {
	t := &transfer{size: size}
	if size.scratch == nil || size.transfer == nil {
		return t, nil
	}
	own := size.scratch.serverless()
	if own == nil {
		return nil, fmt.Errorf("%s was trained in %s", size.scratch.source, size.scratch.x.Env.Name)
	}
	w := newWorld()
	w.config.Workload, w.config.System, w.config.Load, w.config.TPCH = own.Workload, own.System, size.load, own.TPCH
	if size.change != nil {
		size.change(&w.config)
	}
	var err error
	t.field, err = newField(r, fmt.Sprintf("target of the transfer: %s, system %d, load %.0f %%", own.Workload, own.System, 100*size.load), w, true,
		size.scratch, size.transfer, size.gnn)
	if err != nil {
		return nil, err
	}
	if t.find(size.scratch.source) < 0 || t.find(size.transfer.source) < 0 {
		r.Note("transfer is not measured: a policy does not fit its target")
		t.field = nil
	}
	return t, nil
}

// fields are what is to be played.
func (t *transfer) fields() []*field {
	if t.field == nil {
		return nil
	}
	return []*field{t.field}
}

// report holds transfer against the paper's 92 %. Performance is one over slowdown.
func (t *transfer) report(r *suite.Report) error {
	out := suite.Claim{Claim: claimTransfer, Found: "no pair of policies, trained from scratch and further trained, plays", Verdict: suite.Unknown}
	if t.field == nil {
		r.Claim(out)
		return nil
	}
	scratch, err := t.values(t.find(t.size.scratch.source), "slowdown", 1)
	if err != nil {
		return err
	}
	performance := func(name string) (stats.Scores, error) {
		v, err := t.values(t.find(name), "slowdown", 1)
		if err != nil {
			return nil, err
		}
		p := make([]float64, len(v))
		for j := range v {
			p[j] = 100 * scratch[j] / v[j]
		}
		return stats.Scores{p}, nil
	}
	moved, err := performance(t.size.transfer.source)
	if err != nil {
		return err
	}
	// Of whole runs: each policy is the best checkpoint of its own.
	budget := 100 * float64(t.size.transfer.x.Train.Steps) / float64(t.size.scratch.x.Train.Steps)
	r.Measured(suite.Row{
		Figure: "4.3, transfer", Quantity: "performance of the policy further trained, of the one from scratch", Unit: "%", Paper: new(paperTransfer),
		Note: fmt.Sprintf("one over slowdown; after %.0f %% of the steps, the paper: %g %%", budget, paperBudget),
	}, moved)
	e := r.Estimate(moved)
	out.Verdict = suite.Unknown
	switch {
	case budget > 1.1*paperBudget: // more than the claim allows: it shows nothing
	case e.Lo >= paperTransfer:
		out.Verdict = suite.Holds
	case e.Hi < paperTransfer:
		out.Verdict = suite.Fails
	}
	out.Found = fmt.Sprintf("%s %% after %.0f %% of the steps", e, budget)
	if t.size.gnn != nil && t.find(t.size.gnn.source) >= 0 {
		untouched, err := performance(t.size.gnn.source)
		if err != nil {
			return err
		}
		r.Measured(suite.Row{Figure: "4.3, transfer", Quantity: "performance of the policy without further training, of the one from scratch", Unit: "%"}, untouched)
		out.Found += fmt.Sprintf("; without any further training %s %%", r.Estimate(untouched))
	}
	r.Claim(out)
	if _, err := t.compare(r, t.find(t.size.transfer.source), quantities[0], anybody); err != nil {
		return err
	}
	tab := suite.Table{Name: "transfer", Title: "Slowdown where the policy was moved to", Columns: []suite.Column{{Name: "policy"}, {Name: "slowdown"}}}
	for i := range t.players {
		v, err := t.values(i, "slowdown", 1)
		if err != nil {
			return err
		}
		tab.Rows = append(tab.Rows, []any{t.players[i].Name, r.Estimate(stats.Scores{v})})
	}
	r.Table(tab)
	return nil
}
