package problems

import (
	"context"
	"fmt"

	"github.com/stoker-rl/stoker/envs/frontier"
	"github.com/stoker-rl/stoker/envs/variants"
)

// Sizer finds the exact memory sizes for given variants. So it tells what an answer loses by its variants, and what by
// its sizes. It is for one goroutine and for the models of one application, whatever their formula.
type Sizer struct{ fronts map[string]frontier.Front }

// OfIdeal returns how near the variants of a choice come to the ideal in percent where their sizes are the best ones; 0
// where no sizes keep the constraints.
func (s *Sizer) OfIdeal(ctx context.Context, c Case, choice []int) (float64, error) {
	front, accuracy, err := s.front(ctx, c.Model, choice)
	if err != nil {
		return 0, err
	}
	best := 0.0
	for _, p := range front {
		o := variants.Outcome{Seconds: p.Seconds, USD: variants.Executions * (p.USD + c.Model.OrchestrationUSD(p.Seconds)),
			Accuracy: accuracy}
		if c.Problem.Keeps(o) {
			best = max(best, OfIdeal(c.Problem, o, c.Ideal.Outcome))
		}
	}
	return best, nil
}

// front returns the exact trade-off between time and price of a choice's variants, and their accuracy score.
func (s *Sizer) front(ctx context.Context, m *variants.Model, choice []int) (frontier.Front, float64, error) {
	p := frontier.Problem{Flow: m.Flow, Delays: m.Delays}
	chosen := make([]int, len(choice))
	for f, c := range choice {
		chosen[f] = m.Options[f][c].Variant
		from, to := m.VariantOptions(f, chosen[f])
		var options []frontier.Option
		for _, o := range m.Options[f][from:to] {
			options = append(options, frontier.Option{Seconds: o.Seconds, USD: o.USD})
		}
		p.Options = append(p.Options, options)
	}
	key := fmt.Sprint(chosen)
	front, ok := s.fronts[key]
	if !ok {
		var err error
		if front, err = frontier.Exact(ctx, p); err != nil {
			return nil, 0, err
		}
		if s.fronts == nil {
			s.fronts = map[string]frontier.Front{}
		}
		s.fronts[key] = front
	}
	return front, m.Accuracy(chosen), nil
}
