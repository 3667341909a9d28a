package reinforce

import (
	"errors"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs/state"
)

// State lists what is neither a tensor nor a count.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, l.explore)
	state.Value(c, l.replayed)
	state.Value(c, &l.sums)
	c.Part(l.store)
	if l.imitation != nil {
		c.Part(l.imitation)
	}
}

// parts is what a checkpoint holds.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, l.ctx.Train)
	l.m.weights(p)
	policy, value := l.m.optimisers()
	p.Adam("policy", policy)
	if value != nil {
		p.Adam("value", value)
	}
	p.Counters["steps"] = &l.steps
	p.Blobs["learner"] = l
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return l.parts().Save(s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	l.acted = false
	return errors.Join(l.parts().Load(s), l.m.syncActor())
}

// Adopt implements [agents.Learner].
func (l *Learner) Adopt(s *agents.State) error {
	return errors.Join(l.parts().Adopt(s), l.m.syncActor())
}
