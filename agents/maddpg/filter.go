package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
)

// Filter changes exploring actions before they are used, such as those of agents that are to stay as they are.
type Filter interface {
	// Filter changes the actions act, [agents, components], of the agents of environment i, who see o. What it leaves lies
	// within the action's bounds. It does not allocate.
	Filter(i int, o *envs.KindObservation, act []float32) error
}

// NewFiltered is [New] with a filter, for continuous actions. Critics and replay see what the filter leaves. What a
// filter remembers is not part of the learner's state.
func NewFiltered(c Config, ctx agents.Context, f Filter) (*Learner, error) {
	l, err := New(c, ctx)
	if err != nil {
		return nil, err
	}
	if l.p.discrete() {
		return nil, fmt.Errorf("maddpg: %s: a filter needs continuous actions, want no choices", ctx.Spec.ID)
	}
	l.filter = f
	return l, nil
}

// filtered applies the filter to the actions of copy i. u is the same actions as critics see them.
func (l *Learner) filtered(i int, o *envs.KindObservation, act, u []float32) error {
	if err := l.filter.Filter(i, o, act); err != nil {
		return err
	}
	k := l.p.actionCodec.components()
	for j := range l.p.kind.Agents {
		l.p.squeeze(act[j*k:(j+1)*k], u[j*k:(j+1)*k])
	}
	return nil
}
