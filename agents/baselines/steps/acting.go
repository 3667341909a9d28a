package steps

import (
	"fmt"
	"math"

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
	// Follow writes the action of an option, or has the environment take it where no action says it. Say writes the nearest
	// action, and leaves the environment as it is.
	Follow(option int, act *envs.Action)
	Say(option int, act *envs.Action)
	// Draw returns what a step would take in seconds and cost in USD with an option if it began now: only a bound may ask.
	Draw(step, option int) (seconds, usd float64)
	// Request is the number of the request that is decided, and a place that no other request has while it runs; Requests
	// how many an episode has.
	Request() (number, place int)
	Requests() int
}

// Acting lets a decider play in the environments. In a stream each request under way has a decider of its own.
type Acting struct {
	name     string
	build    func() (steps.Decider, error)
	deciders []deciding // by place
}

// deciding is a decider with the request that it decides for, -1 before the first.
type deciding struct {
	steps.Decider
	request int
}

// NewActing returns the planner of the deciders that build makes, for environments such as env.
func NewActing(name string, env envs.Env, build func() (steps.Decider, error)) (*Acting, error) {
	w, ok := envs.As[World](env)
	if !ok {
		return nil, fmt.Errorf("%s: decides in %s and %s, not in %s", name, steps.ID, steps.FlatID, env.Spec().ID)
	}
	a := &Acting{name: name, build: build}
	if err := a.room(0); err != nil {
		return nil, err
	}
	if _, ok := a.deciders[0].Decider.(Knowing); ok && w.Requests() > 1 {
		return nil, fmt.Errorf("%s: knows what options take in a request alone, not in a stream: want env.requests=1", name)
	}
	return a, nil
}

// room makes deciders up to a place.
func (a *Acting) room(place int) error {
	for len(a.deciders) <= place {
		d, err := a.build()
		if err != nil {
			return err
		}
		a.deciders = append(a.deciders, deciding{d, -1})
	}
	return nil
}

// Name implements [envs.Planner].
func (a *Acting) Name() string { return a.name }

// Reset implements [envs.Planner].
func (a *Acting) Reset(uint64) error {
	for i := range a.deciders {
		a.deciders[i].request = -1
	}
	return nil
}

// Plan implements [envs.Planner].
func (a *Acting) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	return a.plan(env, func(w World, option int) { w.Follow(option, act) })
}

// plan decides, and tells do the option.
func (a *Acting) plan(env envs.Env, do func(w World, option int)) error {
	w, ok := envs.As[World](env)
	if !ok {
		return fmt.Errorf("%s: cannot decide for %s", a.name, env.Spec().ID)
	}
	at, step := w.Moment(), w.NextStep()
	if step < 0 {
		return nil
	}
	request, place := w.Request()
	if err := a.room(place); err != nil {
		return err
	}
	d := &a.deciders[place]
	if d.request != request {
		m := w.Model()
		if s, ok := d.Decider.(Choosy); ok {
			if err := s.Suits(m); err != nil {
				return err
			}
		}
		if k, ok := d.Decider.(Knowing); ok {
			k.Foresee(w.Draw)
		}
		d.Begin(m, at.SLO, at.Miss)
		d.request = request
	}
	do(w, d.Decide(at, step))
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

// Memoryless deciders keep nothing of a request but what its moments say: begun in the middle of a request they decide
// as they would had they decided all of it.
type Memoryless interface {
	steps.Decider
	Memoryless()
}

// Memoryless implements [Memoryless].
func (*Lookahead) Memoryless() {}

// Memoryless implements [Memoryless].
func (*Replan) Memoryless() {}

// Memoryless implements [Memoryless].
func (*DP) Memoryless() {}

// Teaching is the planner of a memoryless decider. Nothing of it is to be saved, so learners can imitate it, or compare
// their choices with its own, and still resume exactly.
type Teaching struct{ *Acting }

// NewTeaching returns the planner of the deciders that build makes, for environments such as env.
func NewTeaching[D Memoryless](name string, env envs.Env, build func() (D, error)) (Teaching, error) {
	a, err := NewActing(name, env, func() (steps.Decider, error) { return build() })
	return Teaching{a}, err
}

// Show writes the action that comes nearest to what it decides. A learner imitates actions, and its environment stays as it
// is.
func (t Teaching) Show(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	return t.plan(env, func(w World, option int) { w.Say(option, act) })
}

// AppendBinary saves nothing.
func (Teaching) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary has the decider begin anew.
func (t Teaching) UnmarshalBinary(b []byte) error {
	if len(b) > 0 {
		return fmt.Errorf("%s: a state of %d bytes, want none", t.name, len(b))
	}
	return t.Reset(0)
}

// recall fills in the places of options that were chosen and are not known: another decided, or this decider began
// later. An option that is not on the menu stands at the one whose mean time is nearest.
func (r *Replan) recall(at *steps.Moment) {
	for v, code := range at.Choice {
		if code < 0 || r.chosen[v] >= 0 {
			continue
		}
		o := r.model.Option(v, code)
		nearest := math.Inf(1)
		for i, c := range r.menus[v] {
			if far := math.Abs(c.option.Mean - o.Mean); far < nearest {
				r.chosen[v], nearest = i, far
			}
		}
	}
}
