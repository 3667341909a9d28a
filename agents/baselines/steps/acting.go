package steps

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/steps"
)

// World is an environment in which requests walk through workflows of steps.
type World interface {
	envs.Env
	// Model is the request's workflow, Moment what is known of it now, NextStep the step to decide.
	Model() *steps.Model
	Moment() *steps.Moment
	NextStep() int
	// Follow writes the action of an option, or has the environment take it where no action says it.
	Follow(option int, act *envs.Action)
	// Draw returns what a step would take in seconds and cost in USD with an option if it began now: only a bound may ask.
	Draw(step, option int) (seconds, usd float64)
}

// Acting lets a decider play in the environments.
type Acting struct {
	name    string
	decider steps.Decider
	begun   *steps.Moment // of the request under way; nil before its first step
}

// NewActing returns the planner of a decider, for environments such as env.
func NewActing(name string, env envs.Env, d steps.Decider) (*Acting, error) {
	if _, ok := envs.As[World](env); !ok {
		return nil, fmt.Errorf("%s: decides in %s and %s, not in %s", name, steps.ID, steps.FlatID, env.Spec().ID)
	}
	return &Acting{name: name, decider: d}, nil
}

// Name implements [envs.Planner].
func (a *Acting) Name() string { return a.name }

// Reset implements [envs.Planner].
func (a *Acting) Reset(uint64) error {
	a.begun = nil
	return nil
}

// Plan implements [envs.Planner].
func (a *Acting) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	w, ok := envs.As[World](env)
	if !ok {
		return fmt.Errorf("%s: cannot decide for %s", a.name, env.Spec().ID)
	}
	at, step := w.Moment(), w.NextStep()
	if step < 0 {
		return nil
	}
	if a.begun == nil {
		m := w.Model()
		if s, ok := a.decider.(Choosy); ok {
			if err := s.Suits(m); err != nil {
				return err
			}
		}
		if k, ok := a.decider.(Knowing); ok {
			k.Foresee(w.Draw)
		}
		a.decider.Begin(m, at.SLO, at.Miss)
		a.begun = at
	}
	w.Follow(a.decider.Decide(at, step), act)
	return nil
}

// Choosy deciders say which workflows they cannot decide for.
type Choosy interface {
	steps.Decider
	Suits(m *steps.Model) error
}

// Knowing deciders are told the draws of a request before it begins.
type Knowing interface {
	steps.Decider
	Foresee(draw func(step, option int) (seconds, usd float64))
}
