package maddpg

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
)

var _ agents.Offline = (*Learner)(nil)

// Take implements [agents.Offline]. Actions must be intervals: replayed choices would need their masks.
func (l *Learner) Take(t *agents.Transition) error {
	p, n := &l.p, l.p.kind.Agents
	if p.discrete() {
		return fmt.Errorf("maddpg: a library holds no masks, but the actions of %s are choices", l.ctx.Spec.ID)
	}
	for _, x := range []struct {
		what       string
		have, want int
	}{
		{"observations", len(t.Before), p.agents * p.obs}, {"observations", len(t.After), p.agents * p.obs},
		{"actions", len(t.Action), p.agents * p.act}, {"rewards", len(t.Rewards), n},
	} {
		if x.have != x.want {
			return fmt.Errorf("maddpg: a transition has %d numbers of %s, want %d", x.have, x.what, x.want)
		}
	}
	here := make([]bool, n)
	for i := range here {
		here[i] = true
	}
	l.std.update(t.Before, here)
	u := make([]float32, len(t.Action))
	w := p.actionCodec.width()
	for j := range n {
		p.squeeze(t.Action[j*w:(j+1)*w], u[j*w:(j+1)*w])
	}
	row := l.memory.buf.Add()
	copy(row.Column(colObservation), t.Before)
	copy(row.Column(colAction), u)
	copy(row.Column(colNext), t.After)
	l.memory.credit(row, t.Rewards, l.memory.discount.Of(t.Terminated, t.Elapsed))
	if l.memory.present > 0 {
		for j := range n {
			row.Column(l.memory.present)[j], row.Column(l.memory.present2)[j] = 1, 1
		}
	}
	return nil
}

// Learn implements [agents.Offline].
func (l *Learner) Learn() error {
	if l.memory.buf.Len() == 0 {
		return errors.New("maddpg: an update without transitions: there is nothing in the replay")
	}
	l.setRates()
	if err := l.learn(); err != nil {
		return err
	}
	l.steps++
	return l.syncActor()
}
