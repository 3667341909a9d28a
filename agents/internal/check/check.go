// Package check refuses environments, engines and numbers that a learner cannot use, in the same words for all learners.
//
// Not here: bounds of configurations (package bounds), and reading configurations (package configs).
package check

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Named makes a learner by build; its errors begin with the learner's name.
func Named[C, L any](name string, build func(C, agents.Context) (*L, error), c C, ctx agents.Context) (*L, error) {
	l, err := build(c, ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// Learner is [Named] for a learner of its own: the configuration and the context must be right before it is built.
func Learner[C interface{ Validate() error }, L any](name string, build func(C, agents.Context) (*L, error), c C,
	ctx agents.Context) (*L, error) {
	return Named(name, func(c C, ctx agents.Context) (*L, error) {
		if err := c.Validate(); err != nil {
			return nil, err
		}
		if err := Context(&ctx); err != nil {
			return nil, err
		}
		return build(c, ctx)
	}, c, ctx)
}

// Context says what no learner whose state is saved as float32 can be made for: no copies of the environment, or an
// engine of another precision.
func Context(ctx *agents.Context) error {
	if ctx.NumEnvs < 1 {
		return fmt.Errorf("NumEnvs is %d, want at least 1", ctx.NumEnvs)
	}
	if d := ctx.Train.Info().DType; d != nets.Float32.String() {
		return fmt.Errorf("the engine computes in %s, want float32: states are saved as float32", d)
	}
	return nil
}

// OneKind returns the kind of an environment's agents, or an error where there are several.
func OneKind(s *envs.Spec) (*envs.Kind, error) {
	if len(s.Kinds) != 1 {
		return nil, fmt.Errorf("%s has %d kinds of agents, want one", s.ID, len(s.Kinds))
	}
	return &s.Kinds[0], nil
}

// Vector is [OneKind] for learners that observe vectors.
func Vector(s *envs.Spec) (*envs.Kind, error) {
	k, err := OneKind(s)
	if err != nil {
		return nil, err
	}
	if k.Observation.Width() == 0 {
		return nil, fmt.Errorf("%s: observation space of %s is %v, want a vector", s.ID, k.Name, k.Observation)
	}
	return k, nil
}

// Finite refuses what a network gives where it is not finite; what is each number: a choice's score, or a component.
func Finite(what string, y []float32) error {
	if i := envs.NotFinite(y); i >= 0 {
		return fmt.Errorf("the network gives %g for %s %d: training has diverged; a smaller rate, or clip, help", y[i], what, i)
	}
	return nil
}
