package spsa

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// trials evaluates actions on counterfactual copies: one environment that is made equal to the world before each
// trial. Draws are keyed by their purpose, so every copy faces the workload that the world will face.
type trials struct {
	env    envs.Env
	obs    *envs.Observation
	act    *envs.Action
	out    *envs.Outcome
	metric int // index of Spec.Info, −1 for the reward
	sign   float64
}

// newTrials takes an environment that nothing else uses; nil where nothing is tried.
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

// profit is Φ of the window that world is about to run, were its action t.act's. The world does not change.
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

// finite refuses an objective that is not finite.
func finite(x float64, act []float32) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("the objective is %g after action %v, want a finite number", x, act)
	}
	return nil
}

// realised is the objective of a step, in the environment's own sense.
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
