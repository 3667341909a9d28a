package variants

import (
	"context"
	"fmt"
)

// Infeasible says that a problem's constraints cannot be met together.
type Infeasible struct {
	Problem Problem
	// Reason says which constraint is in the way, and how far it would have to go.
	Reason string
	// Nearest is the configuration that comes nearest.
	Nearest Plan
}

func (e *Infeasible) Error() string { return e.Reason }

// maxEnumerated bounds the configurations that Solve goes through.
const maxEnumerated = 1 << 24

// Solve returns the best configuration, by going through all.
func (m *Model) Solve(ctx context.Context, p Problem) (Plan, error) {
	if err := p.Validate(); err != nil {
		return Plan{}, err
	}
	total := 1
	for _, o := range m.Options {
		if total *= len(o); total > maxEnumerated {
			return Plan{}, fmt.Errorf("the application has more than %d configurations", maxEnumerated)
		}
	}
	s := m.NewScratch()
	choice := make([]int, len(m.Options))
	var best Plan
	for i := range total {
		if i%65536 == 0 && ctx.Err() != nil {
			return Plan{}, ctx.Err()
		}
		rest := i
		for f := len(choice) - 1; f >= 0; f-- {
			choice[f] = rest % len(m.Options[f])
			rest /= len(m.Options[f])
		}
		o := m.EvaluateWith(s, choice)
		if p.Keeps(o) && (best.Choice == nil || p.Better(o, best.Outcome)) {
			best = Plan{append(best.Choice[:0], choice...), o}
		}
	}
	if best.Choice == nil {
		return Plan{}, &Infeasible{Problem: p, Reason: "no configuration has " + p.String()}
	}
	return best, nil
}
