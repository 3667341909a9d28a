package reinforce

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice"
)

// parts is what a state holds.
func (l *Learner) parts() *choice.Parts {
	p := choice.NewParts()
	l.m.weights(p)
	policy, value := l.m.optimisers()
	p.AddAdam("policy", policy)
	if value != nil {
		p.AddAdam("value", value)
	}
	p.Counters["steps"] = &l.steps
	p.Blobs["exploration"], p.Blobs["replay"] = l.explore, l.replayed
	p.Blobs["trajectories"], p.Blobs["metrics"] = l.store, &l.sums
	if l.imitation != nil {
		p.Blobs["school"] = l.imitation
	}
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error {
	if err := l.parts().Save(s, l.ctx.Train); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	return nil
}

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	l.acted = false
	if err := errors.Join(l.parts().Load(s), l.m.syncActor()); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	return nil
}

// Adopt implements [agents.Learner].
func (l *Learner) Adopt(s *agents.State) error {
	if err := errors.Join(l.parts().Adopt(s), l.m.syncActor()); err != nil {
		return fmt.Errorf("reinforce: %w", err)
	}
	return nil
}
