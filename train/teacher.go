package train

import (
	"encoding"
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/envs"
)

// newTeacher makes a rival, with its defaults, for a learner to imitate.
func newTeacher(c *catalog.Catalog, name string, env envs.Env) (agents.Teacher, error) {
	r, err := c.Rival(name)
	if err != nil {
		return nil, err
	}
	if !r.In(env.Spec().ID) {
		return nil, fmt.Errorf("%s acts in %s, not in %s", name, strings.Join(r.Envs, ", "), env.Spec().ID)
	}
	a, err := r.New(r.Config(), env)
	switch {
	case err != nil:
		return nil, err
	case a.Policy != nil:
		return policyTeacher{a.Policy}, nil
	}
	if p, ok := a.Planner.(saved); ok {
		return planTeacher{p}, nil
	}
	return nil, fmt.Errorf("%s can't be imitated: it learns from rewards while it acts, or its state can't be saved",
		name)
}

// saved is a planner whose state can be kept.
type saved interface {
	envs.Planner
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

type policyTeacher struct{ envs.Policy }

// Show implements [agents.Teacher].
func (t policyTeacher) Show(_ envs.Env, obs *envs.Observation, act *envs.Action) error {
	return t.Act(obs, act, true)
}

type planTeacher struct{ saved }

// Show implements [agents.Teacher].
func (t planTeacher) Show(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	return t.Plan(env, obs, act)
}
