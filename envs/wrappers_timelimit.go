package envs

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

// TimeLimit truncates episodes after a number of steps, unless they have ended before.
type TimeLimit struct {
	wrapped
	most, steps int
	ended       bool
}

// NewTimeLimit wraps an environment. A limit of its own that is lower stays.
func NewTimeLimit(e Env, steps int) (*TimeLimit, error) {
	if steps < 1 {
		return nil, fmt.Errorf("envs: time limit of %d steps, want at least 1", steps)
	}
	t := &TimeLimit{most: steps}
	t.wrapped = wrap(e, t)
	if m := t.spec.MaxSteps; m == 0 || m > steps {
		t.spec.MaxSteps = steps
	}
	return t, nil
}

// Reset implements [Env].
func (t *TimeLimit) Reset(seed uint64, options Options, obs *Observation) error {
	if err := t.Env.Reset(seed, options, obs); err != nil {
		return err
	}
	t.steps, t.ended = 0, false
	return nil
}

// Step implements [Env].
func (t *TimeLimit) Step(act *Action, obs *Observation, out *Outcome) error {
	if t.ended {
		return fmt.Errorf("%s: step after the time limit of %d steps, want Reset", t.spec.ID, t.most)
	}
	if err := t.Env.Step(act, obs, out); err != nil {
		return err
	}
	t.steps++
	if t.steps >= t.most {
		out.Truncated, t.ended = true, true
	}
	return nil
}

// State implements [state.Stater].
func (t *TimeLimit) State(c *state.Codec) {
	state.Member(c, t.Env)
	state.Value(c, &t.steps)
	state.Value(c, &t.ended)
	if c.Loaded() {
		c.Check(t.steps >= 0 && t.steps <= t.most, "%d steps under a time limit of %d", t.steps, t.most)
	}
}
