package variants

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// Distribution returns the distribution of the response time of a choice, for requests that find warm instances: runs are
// independent, each lognormal with its option's mean and coefficient of variation, and loops repeat as often as they
// happen to. The grid's zero value is one that suits.
func (m *Model) Distribution(choice []int, grid workflow.Grid) (workflow.Distribution, error) {
	laws := make([]workflow.Law, m.Flow.NumNodes())
	for n := range laws {
		f := m.Flow.Function(n)
		laws[n] = m.Options[f][choice[f]].law()
	}
	d, err := m.Flow.Distribution(laws, m.Delays, grid)
	if err != nil {
		err = fmt.Errorf("%s: percentiles: %s", m.App.Name, strings.TrimPrefix(err.Error(), "workflow: "))
	}
	return d, err
}

// law is that of a run's time.
func (o Option) law() workflow.Law {
	if o.CV == 0 {
		return bill.Always(o.Seconds)
	}
	return bill.Lognormal{M: o.Seconds, CV: o.CV}
}

// Optimal reports whether the plan is the optimum of its problem, up to the error of the percentiles.
func (t *Tail) Optimal(p Problem) bool {
	value := p.Value(t.Outcome)
	switch p.Objective {
	case Accuracy:
		return t.Proved <= value*(1+slack)
	case Time:
		value = t.Quantile
	}
	return value <= t.Proved*(1+1e-3)
}
