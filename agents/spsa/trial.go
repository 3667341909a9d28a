package spsa

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// trials evaluates actions on counterfactual copies: one spare environment that is made equal to the real one before
// each trial. Draws are keyed by their purpose, so every copy has the workload that the real environment will have.
type trials struct {
	env    envs.Env
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
	metric int // index of Spec.Info, −1 for the reward
	sign   float64
}

// newTrials returns trials on spare, an environment that nothing else uses; spare is nil where nothing is tried.
func newTrials(c *Config, s *envs.Spec, spare envs.Env) (*trials, error) {
	t := &trials{env: spare, obs: envs.NewObservation(s), act: envs.NewAction(s), out: envs.NewOutcome(s), metric: -1,
		sign: 1}
	if c.Objective == "" {
		return t, nil
	}
	var err error
	if t.metric, err = s.InfoIndex(c.Objective); err != nil {
		return nil, fmt.Errorf("objective: %w", err)
	}
	switch s.Info[t.metric].Better {
	case envs.Neither:
		return nil, fmt.Errorf("objective: neither direction of %q is better", c.Objective)
	case envs.Lower:
		t.sign = -1
	}
	return t, nil
}

// profit is Φ of the window that world is about to run, with the action t.act. It does not change world.
func (t *trials) profit(world envs.Env) (float64, error) {
	if err := t.env.CopyFrom(world); err != nil {
		return 0, err
	}
	if err := t.env.Step(t.act, t.obs, t.out); err != nil {
		return 0, err
	}
	x := t.realised(t.out.Rewards[0], t.out.Info)
	return t.sign * x, finite(x, t.act.Kinds[0])
}

// finite returns an error for an objective that is not finite.
func finite(x float64, act []float32) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("the objective is %g after action %v, want a finite number", x, act)
	}
	return nil
}

// realised is the objective of a step, not negated where lower is better.
func (t *trials) realised(rewards []float32, info []float64) float64 {
	if t.metric >= 0 {
		return info[t.metric]
	}
	var sum float64
	for _, r := range rewards {
		sum += float64(r)
	}
	return sum / float64(len(rewards))
}
