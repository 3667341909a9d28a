package sizing

import (
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/state"
)

// OfEach makes the constructor of a policy for one workflow that of a policy for several side by side, too: each
// workflow then has its own.
func OfEach[C any, P envs.Policy](build func(C, envs.Env) (P, error)) func(C, envs.Env) (envs.Policy, error) {
	return func(c C, env envs.Env) (envs.Policy, error) {
		m, ok := envs.As[*sizing.Many](env)
		if !ok {
			p, err := build(c, env)
			if err != nil {
				return nil, err // not p: an interface around a nil pointer would not be nil
			}
			return p, nil
		}
		s := &sidePolicy{many: m, view: sizing.NewView()}
		for _, e := range m.Workflows() {
			p, err := build(c, e)
			if err != nil {
				return nil, err
			}
			s.each = append(s.each, p)
		}
		return s, nil
	}
}

// PlansOfEach is OfEach for planners.
func PlansOfEach[C any, P envs.Planner](build func(C, envs.Env) (P, error)) func(C, envs.Env) (envs.Planner, error) {
	return func(c C, env envs.Env) (envs.Planner, error) {
		m, ok := envs.As[*sizing.Many](env)
		if !ok {
			p, err := build(c, env)
			if err != nil {
				return nil, err
			}
			return p, nil
		}
		s := &sidePlanner{view: sizing.NewView()}
		for _, e := range m.Workflows() {
			p, err := build(c, e)
			if err != nil {
				return nil, err
			}
			s.each = append(s.each, p)
		}
		return s, nil
	}
}

// sidePolicy acts in several workflows side by side by a policy of each.
type sidePolicy struct {
	many *sizing.Many
	view *sizing.View
	each []envs.Policy
}

// Name implements [envs.Policy].
func (s *sidePolicy) Name() string { return s.each[0].Name() }

// Reset implements [envs.Policy].
func (s *sidePolicy) Reset(seed uint64) error {
	for i, p := range s.each {
		if err := p.Reset(sizing.SeedOf(seed, i)); err != nil {
			return err
		}
	}
	return nil
}

// Act implements [envs.Policy].
func (s *sidePolicy) Act(obs *envs.Observation, act *envs.Action, deterministic bool) error {
	for i, p := range s.each {
		s.many.Look(i, obs, act, s.view)
		if err := p.Act(&s.view.Observation, &s.view.Action, deterministic); err != nil {
			return err
		}
	}
	return nil
}

// State implements [state.Stater].
func (s *sidePolicy) State(c *state.Codec) {
	for _, p := range s.each {
		state.Member(c, p)
	}
}

// CopyFrom implements [envs.Policy].
func (s *sidePolicy) CopyFrom(src envs.Policy) error { return envs.CopyPolicy(s, src) }

// AppendBinary implements [envs.Policy].
func (s *sidePolicy) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, s.Name(), s) }

// UnmarshalBinary implements [envs.Policy].
func (s *sidePolicy) UnmarshalBinary(b []byte) error { return state.Load(b, s.Name(), s) }

// sidePlanner plans for several workflows side by side by a planner of each.
type sidePlanner struct {
	view *sizing.View
	each []envs.Planner
}

// Name implements [envs.Planner].
func (s *sidePlanner) Name() string { return s.each[0].Name() }

// Reset implements [envs.Planner].
func (s *sidePlanner) Reset(seed uint64) error {
	for i, p := range s.each {
		if err := p.Reset(sizing.SeedOf(seed, i)); err != nil {
			return err
		}
	}
	return nil
}

// Plan implements [envs.Planner].
func (s *sidePlanner) Plan(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	m, ok := envs.As[*sizing.Many](env)
	if !ok || len(m.Workflows()) != len(s.each) {
		return elsewhere(s.Name(), env)
	}
	for i, p := range s.each {
		m.Look(i, obs, act, s.view)
		if err := p.Plan(m.Workflows()[i], &s.view.Observation, &s.view.Action); err != nil {
			return err
		}
	}
	return nil
}
