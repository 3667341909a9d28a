// Package offpolicy is what learners have in common that learn from a replay: when transitions are stored and updates are
// due ([Loop]), the annealing of learning rates, and what a checkpoint holds.
//
// A learner embeds a Loop and is its [Method]. What is left of it is its configuration, how it explores, and its update.
//
// Not here: the replay's rows (agents/replay), the updates (agents/dqn, agents/sac, agents/maddpg).
package offpolicy

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
)

// Schedule says when updates are due. Steps are environment steps, over all copies.
type Schedule struct {
	// LearningStarts is the number of steps before the first update, UpdateEvery the number between two rounds of updates,
	// GradientSteps the number of updates in a round.
	LearningStarts, UpdateEvery int64
	GradientSteps               int
	// Batch is the number of rows that the replay must hold.
	Batch int
	// RateFinal is the factor of learning rates at the end of training; they fall linearly from 1.
	RateFinal float64
}

// Method is what a learner adds to a [Loop]. Its State lists its random streams.
type Method interface {
	state.Stater
	// Store adds copy i's last transition to the replay.
	Store(v *envs.Vector, i int) error
	// SetRates multiplies the configured learning rates by a factor, before a round of updates.
	SetRates(factor float64)
	// Step does one update on a new minibatch.
	Step() error
	// EndRound is called after a round of updates.
	EndRound()
	// Sync copies what was learned to the network that acts.
	Sync() error
	// Parts adds what a checkpoint holds.
	Parts(p *saved.Parts)
}

// Sum is a metric that updates add up on the device. A checkpoint has it as sum.Name.
type Sum struct {
	Metric, Name string
	Of           nets.Tensor
}

// Loop is the part of an [agents.Learner] that does not depend on the method. The learner's Act ends with [Loop.Acted].
type Loop struct {
	// Steps counts environment steps, Pending those since the last round of updates.
	Steps, Pending int64

	name     string
	method   Method
	schedule Schedule
	ctx      *agents.Context
	buf      *replay.Buffer
	sums     []Sum
	summed   int64 // updates in the sums
	acted    bool
}

// NewLoop returns the loop of a learner; name begins errors and is the one in the table of agents.
func NewLoop(name string, m Method, s Schedule, ctx *agents.Context, buf *replay.Buffer, sums ...Sum) Loop {
	return Loop{name: name, method: m, schedule: s, ctx: ctx, buf: buf, sums: sums}
}

// SetRates implements [Method] for methods whose rates are constant.
func (*Loop) SetRates(float64) {}

// EndRound implements [Method] for methods with nothing to do after a round.
func (*Loop) EndRound() {}

// Acted says that actions were chosen for the next step.
func (l *Loop) Acted() { l.acted = true }

// Observe implements [agents.Learner].
func (l *Loop) Observe(v *envs.Vector) error {
	if !l.acted {
		return errors.New(l.name + ": Observe without Act before it")
	}
	l.acted = false
	for i := range l.ctx.NumEnvs {
		if v.ResetStep[i] {
			continue // the action was not used
		}
		if err := l.method.Store(v, i); err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
	}
	l.Steps += int64(l.ctx.NumEnvs)
	if l.Steps > l.schedule.LearningStarts {
		l.Pending += int64(l.ctx.NumEnvs)
	}
	return nil
}

// Update implements [agents.Learner].
func (l *Loop) Update() error {
	if l.Pending < l.schedule.UpdateEvery || l.buf.Len() < l.schedule.Batch {
		return nil
	}
	l.setRates()
	for ; l.Pending >= l.schedule.UpdateEvery; l.Pending -= l.schedule.UpdateEvery {
		for range l.schedule.GradientSteps {
			if err := l.learn(); err != nil {
				return err
			}
		}
	}
	l.method.EndRound()
	return l.sync()
}

func (l *Loop) setRates() {
	if l.schedule.RateFinal < 1 {
		l.method.SetRates(l.RateFactor())
	}
}

func (l *Loop) learn() error {
	if err := l.method.Step(); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	l.summed++
	return nil
}

func (l *Loop) sync() error {
	if err := l.method.Sync(); err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	return nil
}

// Learn does one update that counts as a step, for learners that are [agents.Offline].
func (l *Loop) Learn() error {
	if l.buf.Len() == 0 {
		return errors.New(l.name + ": an update without transitions: there is nothing in the replay")
	}
	l.setRates()
	if err := l.learn(); err != nil {
		return err
	}
	l.Steps++
	return l.sync()
}

// RateFactor is the present factor of the learning rates.
func (l *Loop) RateFactor() float64 {
	return learning.Linear(1, l.schedule.RateFinal, float64(l.Steps), float64(l.ctx.Steps))
}

// Replay implements [agents.Learner].
func (l *Loop) Replay() *replay.Buffer { return l.buf }

// Means calls f with the mean of each sum over the updates since the last call, and resets them. It leaves them out where
// there was no update.
func (l *Loop) Means(f func(name string, value float64)) {
	if l.summed == 0 {
		return
	}
	for _, s := range l.sums {
		f(s.Metric, learning.TakeMean(s.Of, l.summed))
	}
	l.summed = 0
}

// parts is what a checkpoint holds; the replay is saved beside it.
func (l *Loop) parts() *saved.Parts {
	p := saved.New(l.name, l.ctx.Train)
	for _, s := range l.sums {
		p.Optimiser["sum."+s.Name] = s.Of
	}
	p.Blobs["streams"] = l.method
	p.Counters["steps"], p.Counters["pending_steps"], p.Counters["summed_updates"] = &l.Steps, &l.Pending, &l.summed
	l.method.Parts(p)
	return p
}

// Save implements [agents.Learner].
func (l *Loop) Save(s *agents.State) error { return l.parts().Save(s) }

// Load implements [agents.Learner].
func (l *Loop) Load(s *agents.State) error {
	l.acted = false
	return errors.Join(l.parts().Load(s), l.sync())
}

// Adopt implements [agents.Learner].
func (l *Loop) Adopt(s *agents.State) error { return l.AdoptWith(s) }

// AdoptWith is Adopt with blobs, entries that belong to the weights.
func (l *Loop) AdoptWith(s *agents.State, blobs ...string) error {
	return errors.Join(l.parts().Adopt(s, blobs...), l.sync())
}
