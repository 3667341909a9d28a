package variants

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/envs/frontier"
)

// crossing reports whether the response time is no tree of sums and maxima, so that a front takes long.
func (m *Model) crossing() bool {
	m.fronts.shape.Do(func() {
		p := frontier.Problem{Flow: m.Flow, Delays: m.Delays}
		for _, options := range m.Options {
			p.Options = append(p.Options, []frontier.Option{{Seconds: options[0].Seconds}})
		}
		tree, err := p.Tree()
		m.fronts.crossing = err == nil && !tree
	})
	return m.fronts.crossing
}

// single returns the best plan of a floor by branch and bound, where the cost is a sum over functions: what Express
// orchestration costs grows with the time. It is one without a choice where there is none, and what none is
// below. Of plans that are equally good at the objective it is the one that is best at the other.
func (m *Model) single(ctx context.Context, l *levels, floor []int, p Problem) (Plan, float64, error) {
	q, kept := m.problem(l, floor)
	bound := func(b float64) float64 {
		if b == 0 {
			return math.Inf(1)
		}
		return b * (1 + slack)
	}
	orchestration := m.OrchestrationUSD(0) // the same for all times
	var a frontier.Answer
	var err error
	if p.Objective == Time {
		a, err = frontier.Fastest(ctx, q, bound(p.Budget)/Executions-orchestration)
	} else {
		a, err = frontier.Cheapest(ctx, q, bound(p.Latency))
	}
	switch {
	case errors.Is(err, frontier.ErrNone):
		return Plan{}, math.Inf(1), nil
	case err != nil:
		return Plan{}, 0, fmt.Errorf("%s: %s", m.App.Name, strings.TrimPrefix(err.Error(), "frontier: "))
	}
	proved := a.Bound
	if a.Exact {
		other := frontier.Fastest
		at := a.USD
		if p.Objective == Time {
			other, at = frontier.Cheapest, a.Seconds
		}
		if b, err := other(ctx, q, at); err == nil {
			a.Point = b.Point
		}
	}
	out := Plan{a.Choice, Outcome{Seconds: a.Seconds, USD: Executions * (a.USD + orchestration)}}
	if p.Objective != Time {
		proved = Executions * (proved + orchestration)
	}
	for f, i := range out.Choice {
		out.Choice[f] = kept[f][i]
	}
	if within(out.Seconds, p.Latency) && within(out.USD, p.Budget) {
		return out, proved, nil
	}
	// The bound on the other quantity. Where even the best answer misses it, no configuration keeps both bounds.
	if p.Objective == Time && !within(proved, p.Latency) || p.Objective != Time && !within(proved, p.Budget) {
		proved = math.Inf(1)
	}
	return Plan{}, proved, nil
}
