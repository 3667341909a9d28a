package maddpg

import (
	"encoding"
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// arrays lists the tensors of the state by name.
func (l *Learner) arrays() (weights, optimiser map[string]nets.Tensor) {
	u := l.update
	critic := "critic"
	if u.separate != nil {
		critic = "critic_own_first" // the same numbers, but for another order of what it sees
	}
	weights = map[string]nets.Tensor{
		"actor": u.actor.Params(), "actor_target": u.actorTarget.Params(),
		critic: u.critic.Params(), critic + "_target": u.criticTarget.Params(),
	}
	am, av := u.actorAdam.Moments()
	cm, cv := u.criticAdam.Moments()
	optimiser = map[string]nets.Tensor{
		"actor.first_moment": am, "actor.second_moment": av, "critic.first_moment": cm, "critic.second_moment": cv,
		"sum.critic_loss": u.sums.criticLoss, "sum.actor_loss": u.sums.actorLoss,
		"sum.critic_norm": u.sums.criticNorm, "sum.actor_norm": u.sums.actorNorm,
	}
	return weights, optimiser
}

// state is a blob that saves and restores itself.
type state interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// blobs calls f for everything that is saved as a blob, until f fails.
func (l *Learner) blobs(f func(name string, s state) error) error {
	list := []struct {
		name string
		s    state
	}{{"exploration", l.explore}, {"minibatches", l.batch}, {"relaxed_choices", l.gumbel}}
	for _, b := range list {
		if err := f(b.name, b.s); err != nil {
			return err
		}
	}
	if l.safe != nil {
		if err := f("safe", l.safe); err != nil {
			return err
		}
	}
	if l.std == nil {
		return nil
	}
	for i, n := range l.std.of {
		if err := f(observations(i), n); err != nil {
			return err
		}
	}
	return nil
}

// observations names the blob of the i-th statistics of observations.
func observations(i int) string { return fmt.Sprintf("observations.%d", i) }

var _ state = (*envs.Normalizer)(nil)

// maxCount bounds what a state counts, so that counting on from a forged one can't overflow.
const maxCount = 1 << 60

// counters lists the counts of the state by name.
func (l *Learner) counters() map[string]*int64 {
	return map[string]*int64{"steps": &l.steps, "pending_steps": &l.pending, "summed_updates": &l.summed}
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error {
	w, o := l.arrays()
	for name, t := range w {
		agents.PutTensor(s.Weights, name, t)
	}
	for name, t := range o {
		agents.PutTensor(s.Optimiser, name, t)
	}
	if err := l.ctx.Train.Err(); err != nil {
		return fmt.Errorf("maddpg: saving: %w", err)
	}
	for name, n := range l.counters() {
		s.Counters[name] = *n
	}
	s.Counters["actor_updates"], s.Counters["critic_updates"] = l.update.actorAdam.Steps(), l.update.criticAdam.Steps()
	return l.blobs(func(name string, b state) error {
		x, err := b.AppendBinary(nil)
		s.Blobs[name] = x
		return err
	})
}

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	w, o := l.arrays()
	for name, t := range w {
		if err := agents.GetTensor(s.Weights, name, t); err != nil {
			return fmt.Errorf("maddpg: weights: %w", err)
		}
	}
	for name, t := range o {
		if err := agents.GetTensor(s.Optimiser, name, t); err != nil {
			return fmt.Errorf("maddpg: optimiser: %w", err)
		}
	}
	counters := l.counters()
	var actor, critic int64
	counters["actor_updates"], counters["critic_updates"] = &actor, &critic
	for name, n := range counters {
		x, ok := s.Counters[name]
		if !ok || x < 0 || x > maxCount {
			return fmt.Errorf("maddpg: counter %q of the state is %d (there: %v), want 0 to %d", name, x, ok, int64(maxCount))
		}
		*n = x
	}
	l.update.actorAdam.SetSteps(actor)
	l.update.criticAdam.SetSteps(critic)
	err := l.blobs(func(name string, b state) error {
		x, err := s.GetBlob(name)
		if err == nil {
			err = b.UnmarshalBinary(x)
		}
		if err != nil {
			return fmt.Errorf("maddpg: %s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	l.acted = false
	return l.hand()
}

// Adopt implements [agents.Learner].
func (l *Learner) Adopt(s *agents.State) error {
	w, _ := l.arrays()
	for name, t := range w {
		if err := agents.GetTensor(s.Weights, name, t); err != nil {
			return fmt.Errorf("maddpg: weights: %w", err)
		}
	}
	switch _, had := s.Blobs[observations(0)]; {
	case had && l.std == nil:
		return errors.New("maddpg: the weights were learned from standardised observations, want standardise: true")
	case !had && l.std != nil:
		return errors.New("maddpg: the weights were learned from observations as they are, want standardise: false")
	case had:
		for i, n := range l.std.of {
			b, err := s.GetBlob(observations(i))
			if err == nil {
				err = n.UnmarshalBinary(b)
			}
			if err != nil {
				return fmt.Errorf("maddpg: %s: %w", observations(i), err)
			}
		}
	}
	return l.hand()
}
