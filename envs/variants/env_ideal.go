package variants

import (
	"context"
	"fmt"
)

// ideal returns the outcome that an episode's plans are measured by.
func (s *shelf) ideal(t *task) (Outcome, error) {
	if s.config.Ideal != Best || s.blind {
		return t.ideal, nil
	}
	m, p := t.menu.model, t.problem
	return shared(question{m, p}, func() (Outcome, error) {
		plan, err := m.Solve(context.Background(), p)
		if err != nil {
			return Outcome{}, fmt.Errorf("the exact plan of %s, %v: %w", m.App.Name, p, err)
		}
		return plan.Outcome, nil
	})
}

// Measure says whether steps report how far plans are from the ideal, which can take seconds an episode. Without it they
// are measured by the relaxed problem's plan. What is seen and rewarded does not depend on it.
func (e *Each) Measure(on bool) { e.shelf.blind = !on }

// Measure is as that of [Each].
func (e *Env) Measure(on bool) { e.shelf.blind = !on }
