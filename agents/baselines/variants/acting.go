package variants

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/variants"
)

// World is an environment whose episode is a problem of an application.
type World interface {
	envs.Env
	// Model is the application, Problem what is wanted of it.
	Model() *variants.Model
	Problem() variants.Problem
	// Present returns the options of the environment's own plan.
	Present(choice []int) []int
	// Follow writes the action that comes nearest to a plan.
	Follow(choice []int, act *envs.Action)
}

// Acting plays plans in an environment: at the first step of an episode it plans, then it follows the plan. Where a
// heuristic finds none that keeps the constraints, the environment's own plan stands in for it.
type Acting struct {
	name   string
	plan   func(World, []int) ([]int, error)
	choice []int // of this episode; empty before it is planned
}

// NewActing returns the planner of a heuristic such as [PRCP], for environments such as env.
func NewActing(name string, env envs.Env, o Options, plan func(*variants.Model, variants.Problem, Options) (
	variants.Plan, error)) (*Acting, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newActing(name, env, func(w World, choice []int) ([]int, error) {
		p, err := plan(w.Model(), w.Problem(), o)
		if errors.Is(err, ErrMissed) {
			return w.Present(choice), nil
		}
		return append(choice, p.Choice...), err
	})
}

// NewExact returns the planner of the best configuration of all.
func NewExact(_ struct{}, env envs.Env) (*Acting, error) {
	return newActing("exact", env, func(w World, choice []int) ([]int, error) {
		p, err := w.Model().Solve(context.Background(), w.Problem())
		return append(choice, p.Choice...), err
	})
}

func newActing(name string, env envs.Env, plan func(World, []int) ([]int, error)) (*Acting, error) {
	if _, ok := envs.As[World](env); !ok {
		return nil, fmt.Errorf("%s: plans for %s, not for %s", name, variants.EachID, env.Spec().ID)
	}
	return &Acting{name: name, plan: plan}, nil
}

// Name implements [envs.Planner].
func (a *Acting) Name() string { return a.name }

// Reset implements [envs.Planner].
func (a *Acting) Reset(uint64) error {
	a.choice = a.choice[:0]
	return nil
}

// Plan implements [envs.Planner].
func (a *Acting) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	w, ok := envs.As[World](env)
	if !ok {
		return fmt.Errorf("%s: cannot plan for %s", a.name, env.Spec().ID)
	}
	if len(a.choice) == 0 {
		choice, err := a.plan(w, a.choice)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		a.choice = choice
	}
	w.Follow(a.choice, act)
	return nil
}

// AppendBinary saves nothing: a plan is made anew.
func (a *Acting) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary implements the other half.
func (a *Acting) UnmarshalBinary([]byte) error {
	a.choice = a.choice[:0]
	return nil
}
