package variants

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
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
	// Follow writes the action that comes nearest to a plan, which was made with a margin.
	Follow(choice []int, margin float64, act *envs.Action)
}

// Acting plays plans in an environment: at the first step of an episode it plans, then it follows the plan. Where a
// heuristic finds none that keeps the constraints, the environment's own plan stands in for it.
type Acting struct {
	name   string
	margin float64
	plan   func(World, []int) ([]int, error)
	choice []int // of this episode; empty before it is planned
}

// NewActing returns the planner of a heuristic such as [PRCP], for environments such as env.
func NewActing(name string, env envs.Env, o Options, plan func(*variants.Model, variants.Problem, Options) (
	variants.Plan, error)) (*Acting, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return newActing(name, env, 1, func(w World, choice []int) ([]int, error) {
		asked := w.Problem()
		asked.Percentile = 0
		p, err := plan(w.Model(), asked, o)
		if errors.Is(err, ErrMissed) {
			return w.Present(choice), nil
		}
		return append(choice, p.Choice...), err
	})
}

// ExactConfig configures the planner of the best configuration.
type ExactConfig struct {
	// Margin is the part of an allowed percentile that the mean time is planned with, where plans are served: the model
	// knows means alone.
	Margin float64 `yaml:"margin" json:"margin" range:"(0,1]"`
}

// DefaultExact plans with the percentile as if it were a mean.
func DefaultExact() ExactConfig { return ExactConfig{Margin: 1} }

// NewExact returns the planner of the best configuration of all, by the model. Where none keeps the margin it plays the
// quickest.
func NewExact(c ExactConfig, env envs.Env) (*Acting, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	name := "exact"
	if c.Margin != 1 {
		name = fmt.Sprintf("exact %g", c.Margin)
	}
	return newActing(name, env, c.Margin, func(w World, choice []int) ([]int, error) {
		p := w.Problem()
		if p.Percentile > 0 {
			p.Percentile, p.Latency = 0, float64(c.Margin*p.Latency)
		}
		plan, err := w.Model().Solve(context.Background(), p)
		var none *variants.Infeasible
		if errors.As(err, &none) && w.Problem().Percentile > 0 {
			plan, err = w.Model().Solve(context.Background(), variants.Problem{Objective: variants.Time, Accuracy: p.Accuracy})
		}
		return append(choice, plan.Choice...), err
	})
}

func newActing(name string, env envs.Env, margin float64, plan func(World, []int) ([]int, error)) (*Acting, error) {
	if _, ok := envs.As[World](env); !ok {
		return nil, fmt.Errorf("%s: plans for %s, not for %s", name, variants.EachID, env.Spec().ID)
	}
	return &Acting{name: name, margin: margin, plan: plan}, nil
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
	w.Follow(a.choice, a.margin, act)
	return nil
}

// AppendBinary saves nothing: a plan is made anew.
func (a *Acting) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary implements the other half.
func (a *Acting) UnmarshalBinary([]byte) error {
	a.choice = a.choice[:0]
	return nil
}
