package maddpg

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Learner is MADDPG or one of the methods that [Config.Mix] names.
type Learner struct {
	c   Config
	ctx agents.Context
	p   problem

	update  *update
	memory  *memory
	sampler *sampler
	std     *standardiser
	safe    *guard // safe exploration, nil where off
	filter  Filter // nil where there is none

	acting *acting
	params []float32 // buffer of syncActor
	taken  []float32 // actions of the last Act, as critics see them: [copies, agents, act]
	acted  bool

	explore, batch, gumbel *rng.Stream
	choices                *noise    // Gumbel noise of exploration, for choices
	draws                  []float32 // noise of the last Act, [copies, agents, act]; nil for continuous actions

	steps   int64 // environment steps over all copies
	pending int64 // steps since the last round of updates
	summed  int64 // updates in the metrics' sums
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// package does not support the environment.
func New(c Config, ctx agents.Context) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("maddpg: %w", err)
	}
	if err := check.Context(&ctx); err != nil {
		return nil, fmt.Errorf("maddpg: %w", err)
	}
	p, err := newProblem(c.Mix, ctx.Spec)
	if err != nil {
		return nil, err
	}
	if err := c.checkMemory(ctx.Spec, ctx.Steps, ctx.Train.Info().Device); err != nil {
		return nil, err
	}
	l := &Learner{
		c: c, ctx: ctx, p: p, taken: make([]float32, ctx.Copies*p.agents*p.act),
		explore: rng.NewStream(ctx.Seed, "maddpg: exploration"),
		batch:   rng.NewStream(ctx.Seed, "maddpg: minibatches"),
		gumbel:  rng.NewStream(ctx.Seed, "maddpg: relaxed choices"),
	}
	if l.std, err = newStandardiser(&l.c, &l.p); err != nil {
		return nil, err
	}
	if l.memory, err = newMemory(&l.c, &l.p); err != nil {
		return nil, fmt.Errorf("maddpg: %w", err)
	}
	if c.Safe.On {
		if l.safe, err = newGuard(&l.c, &l.p, ctx.Spec, ctx.Seed); err != nil {
			return nil, err
		}
	}
	if l.update, err = newUpdate(&l.c, &l.p, ctx.Train, rng.New(ctx.Seed, "maddpg: initial weights")); err != nil {
		return nil, err
	}
	l.sampler = newSampler(l.memory, l.update, l.std, l.batch, newNoise(l.gumbel, ctx.Act))
	if p.discrete() {
		l.choices, l.draws = newNoise(l.explore, ctx.Act), make([]float32, len(l.taken))
	}
	net, err := ctx.Act.NewNet(c.actingArch(&p))
	if err != nil {
		return nil, fmt.Errorf("maddpg: actor: %w", err)
	}
	if l.acting, err = newActing(&l.p, ctx.Act, net, ctx.Copies); err != nil {
		return nil, err
	}
	l.params = make([]float32, nets.Size(net.Params()))
	return l, l.syncActor()
}

// syncActor copies the learned actor's parameters to the network that acts.
func (l *Learner) syncActor() error {
	if err := learning.CopyParams(l.ctx.Train, l.update.actor, l.ctx.Act, l.acting.net, l.params); err != nil {
		return fmt.Errorf("maddpg: %w", err)
	}
	return nil
}

// Act implements [agents.Learner].
func (l *Learner) Act(v *envs.Vector) error {
	obs := &v.Obs.Kinds[0]
	for i := range l.ctx.Copies {
		o := &v.Obs.Env(i).Kinds[0]
		l.std.update(o.Values, o.Active)
	}
	random := l.steps < l.c.RandomSteps
	if !random {
		l.acting.see(obs.Values)
		l.std.apply(l.acting.x)
		if l.memory.present > 0 {
			l.acting.hide(obs.Active)
		}
		l.acting.run()
		if err := l.ctx.Act.Err(); err != nil {
			return fmt.Errorf("maddpg: acting: %w", err)
		}
	}
	if l.draws != nil {
		l.choices.fill(l.draws)
	}
	for i := range l.ctx.Copies {
		if err := l.exploreEnv(i, v.Obs.Env(i), v.Act.Env(i), random); err != nil {
			return err
		}
		if l.safe != nil {
			if err := l.safe.filter(v.Env(i), v.Act.Env(i), l.row(i)); err != nil {
				return fmt.Errorf("environment %d: %w", i, err)
			}
		}
		if l.filter != nil {
			if err := l.filtered(i, &v.Obs.Env(i).Kinds[0], v.Act.Env(i).Kinds[0], l.row(i)); err != nil {
				return fmt.Errorf("environment %d: %w", i, err)
			}
		}
	}
	l.acted = true
	return nil
}

// row is the last action in copy i, as critics see it: [agents, act].
func (l *Learner) row(i int) []float32 {
	w := l.p.agents * l.p.act
	return l.taken[i*w : (i+1)*w]
}

// Observe implements [agents.Learner].
func (l *Learner) Observe(v *envs.Vector) error {
	if !l.acted {
		return errors.New("maddpg: Observe without Act before it")
	}
	l.acted = false
	for i := range l.ctx.Copies {
		if v.ResetStep[i] {
			continue // the action was not used
		}
		if err := l.memory.store(v, i, l.row(i)); err != nil {
			return err
		}
		if l.safe != nil {
			n := len(v.Spec().Info)
			l.safe.observe(v.Info[i*n:(i+1)*n], l.row(i))
		}
	}
	l.steps += int64(l.ctx.Copies)
	if l.steps > l.c.LearningStarts {
		l.pending += int64(l.ctx.Copies)
	}
	return nil
}

// Update implements [agents.Learner].
func (l *Learner) Update() error {
	if l.pending < l.c.UpdateEvery || l.memory.buf.Len() < l.c.Batch {
		return nil
	}
	l.setRates()
	for ; l.pending >= l.c.UpdateEvery; l.pending -= l.c.UpdateEvery {
		for range l.c.GradientSteps {
			if err := l.learn(); err != nil {
				return err
			}
		}
	}
	return l.syncActor()
}

// learn is one update.
func (l *Learner) learn() error {
	if err := l.sampler.sample(); err != nil {
		return err
	}
	if err := l.update.run(); err != nil {
		return err
	}
	l.summed++
	return nil
}

// setRates gives the optimisers their present learning rates.
func (l *Learner) setRates() {
	if l.c.RateFinal < 1 {
		factor := l.rateFactor()
		l.update.actorAdam.SetRate(factor * l.c.ActorRate)
		l.update.criticAdam.SetRate(factor * l.c.CriticRate)
	}
}

// rateFactor is the present factor of the learning rates, from 1 to RateFinal.
func (l *Learner) rateFactor() float64 {
	return learning.Linear(1, l.c.RateFinal, float64(l.steps), float64(l.ctx.Steps))
}

// Replay implements [agents.Learner].
func (l *Learner) Replay() *replay.Buffer { return l.memory.buf }

// Metrics implements [agents.Learner]. Losses and gradient norms (before clipping) are means over agents and over the
// updates since the last call; they are left out where there was no update:
//
//	train/critic_loss       the squared TD error (eq. 3), of scaled rewards
//	train/actor_loss        −Q(s, π(s)): minus the critics' value of the present policies
//	train/critic_grad_norm, train/actor_grad_norm
//	train/n_updates         updates since the beginning
//	train/learning_rate     the actors' present learning rate
//	train/noise             the present standard deviation of exploration, for continuous actions
//	train/replay            transitions held
//	train/safe_replaced     the share of actions that safe exploration replaced, where it is on
func (l *Learner) Metrics(f func(name string, value float64)) {
	u := l.update
	if l.summed > 0 {
		for _, m := range []struct {
			name string
			sum  nets.Tensor
		}{
			{"train/critic_loss", u.sums.criticLoss}, {"train/actor_loss", u.sums.actorLoss},
			{"train/critic_grad_norm", u.sums.criticNorm}, {"train/actor_grad_norm", u.sums.actorNorm},
		} {
			f(m.name, learning.TakeMean(m.sum, l.summed))
		}
		l.summed = 0
	}
	f("train/n_updates", float64(u.criticAdam.Steps()))
	f("train/learning_rate", l.rateFactor()*l.c.ActorRate)
	if !l.p.discrete() {
		f("train/noise", l.noise())
	}
	f("train/replay", float64(l.memory.buf.Len()))
	if l.safe != nil {
		f("train/safe_replaced", l.safe.replacedShare())
	}
}
