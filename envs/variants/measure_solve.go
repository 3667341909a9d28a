package variants

import (
	"context"
	"fmt"
	"sort"
)

// quantity is what a problem's percentile is of what was measured.
func (m *Measured) quantity(percentile float64) (*Interval, error) {
	switch percentile {
	case 0:
		return &m.Mean, nil
	case 50:
		return &m.P50, nil
	case 95:
		return &m.P95, nil
	case 99:
		return &m.P99, nil
	}
	return nil, fmt.Errorf("the percentile is %g, want 50, 95 or 99, or 0 for the mean", percentile)
}

// Solve searches for the cheapest plan whose response time, as measured, is within a problem's latency: the optimum of
// the mean model with the margin that fits. It goes along the model's exact trade-offs between mean time and cost
// ([Model.Front]) and takes the slowest plan that keeps the bound, found by bisection and then among the slower ones
// next to it, since what is measured does not rise with the mean everywhere. The plan kept the bound in this period;
// on other draws it may miss it by about its interval. A plan off the front could be cheaper: means know nothing of
// cold starts.
//
// The objective is [Cost]; a budget is not read. Where not even the fastest plan keeps the bound the error says what it
// has.
func (x *Measurer) Solve(ctx context.Context, p Problem, d Period) (Plan, Measured, error) {
	if p.Objective != Cost || !(p.Latency > 0) {
		return Plan{}, Measured{}, fmt.Errorf("the objective is %s with a latency of %g s, want %s with a latency",
			p.Objective, p.Latency, Cost)
	}
	if err := p.Validate(); err != nil {
		return Plan{}, Measured{}, err
	}
	front, err := x.model.Front(ctx, p.Accuracy)
	if err != nil {
		return Plan{}, Measured{}, err
	}
	if len(front) == 0 {
		_, err := x.model.Solve(ctx, p)
		return Plan{}, Measured{}, err
	}
	var best Measured
	found := -1
	try := func(i int) bool {
		if err != nil || ctx.Err() != nil {
			return false
		}
		var m Measured
		if m, err = x.Measure(front[i].Choice, d); err != nil {
			return false
		}
		var q *Interval
		if q, err = m.quantity(p.Percentile); err != nil || q.Value > p.Latency {
			return false
		}
		if i > found {
			best, found = m, i
		}
		return true
	}
	slow := sort.Search(len(front), func(i int) bool { return !try(i) })
	for i := slow + 1; i < min(slow+neighbours, len(front)); i++ {
		try(i)
	}
	switch {
	case ctx.Err() != nil:
		return Plan{}, Measured{}, ctx.Err()
	case err != nil:
		return Plan{}, Measured{}, err
	case found < 0:
		m, err := x.Measure(front[0].Choice, d)
		if err != nil {
			return Plan{}, Measured{}, err
		}
		q, err := m.quantity(p.Percentile)
		if err != nil {
			return Plan{}, Measured{}, err
		}
		return Plan{}, Measured{}, fmt.Errorf("nothing on the model's front keeps %g s here: the fastest plan takes %.4g s, "+
			"with a cold start in %.3g %% of the requests", p.Latency, q.Value, 100*m.ColdRequests)
	}
	return front[found], best, nil
}

// neighbours is how many slower plans are tried beside the one that bisection finds.
const neighbours = 8
