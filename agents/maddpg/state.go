package maddpg

import (
	"errors"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/envs/state"
)

// State lists the learner's random streams and safe exploration; see parts for the rest.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, l.explore)
	state.Value(c, l.batch)
	state.Value(c, l.gumbel)
	if l.safe != nil {
		c.Part(l.safe)
	}
}

// observations is the checkpoint's entry for the observation statistics, which are adopted together with the weights.
const observations = "observations"

// parts is what a checkpoint holds; the replay buffer is saved beside it.
func (l *Learner) parts() *saved.Parts {
	p, u := saved.New(Name, l.ctx.Train), l.update
	critic := "critic"
	if u.separate != nil {
		critic = "critic_own_first" // its inputs have another order
	}
	p.Weights["actor"], p.Weights["actor_target"] = u.actor.Params(), u.actorTarget.Params()
	p.Weights[critic], p.Weights[critic+"_target"] = u.critic.Params(), u.criticTarget.Params()
	p.Adam("actor", u.actorAdam)
	p.Adam("critic", u.criticAdam)
	p.Optimiser["sum.critic_loss"], p.Optimiser["sum.actor_loss"] = u.sums.criticLoss, u.sums.actorLoss
	p.Optimiser["sum.critic_norm"], p.Optimiser["sum.actor_norm"] = u.sums.criticNorm, u.sums.actorNorm
	p.Counters["steps"], p.Counters["pending_steps"] = &l.steps, &l.pending
	p.Counters["summed_updates"] = &l.summed
	p.Blobs["streams"] = l
	if l.std != nil {
		p.Blobs[observations] = l.std
	}
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return l.parts().Save(s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	l.acted = false
	return errors.Join(l.parts().Load(s), l.syncActor())
}

// Adopt implements [agents.Learner].
func (l *Learner) Adopt(s *agents.State) error {
	var also []string
	switch _, had := s.Blobs[observations]; {
	case had && l.std == nil:
		return errors.New("maddpg: the weights were learned from standardised observations, want standardise: true")
	case !had && l.std != nil:
		return errors.New("maddpg: the weights were learned from observations as they are, want standardise: false")
	case had:
		also = append(also, observations)
	}
	return errors.Join(l.parts().Adopt(s, also...), l.syncActor())
}

// State implements [state.Stater].
func (s *standardiser) State(c *state.Codec) {
	for _, n := range s.of {
		c.Part(n)
	}
}
