package variants

import (
	"context"
	"fmt"
	"sync"
)

// ideals keeps the best plans of generated problems for all environments of the process: an evaluation plays the same
// problems once for each policy, and some take seconds to solve.
var ideals sync.Map // of question to func() (Outcome, error)

// question is a problem of a generated application.
type question struct {
	application, from, to int // its number and the range of functions that it was drawn from
	problem               Problem
}

// ideal returns the outcome that an episode's plans are measured by.
func (s *shelf) ideal(t *task, seed uint64) (Outcome, error) {
	if s.config.Ideal != Best {
		return t.ideal, nil
	}
	c := &s.config
	q := question{c.First + int(seed%uint64(c.Apps)), c.Functions[0], c.Functions[1], t.problem}
	m := t.menu.model
	solve, _ := ideals.LoadOrStore(q, sync.OnceValues(func() (Outcome, error) {
		plan, err := m.Solve(context.Background(), q.problem)
		if err != nil {
			return Outcome{}, fmt.Errorf("the exact plan of application %d, %v: %w", q.application, q.problem, err)
		}
		return plan.Outcome, nil
	}))
	return solve.(func() (Outcome, error))()
}
