package maddpg

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/offpolicy"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Learner is MADDPG or one of the methods that [Config.Mix] names.
type Learner struct {
	offpolicy.Loop
	c   Config
	ctx agents.Context
	p   problem

	update  *update
	memory  *memory
	sampler *sampler
	std     *standardiser
	safe    *guard // safe exploration, nil where off
	filter  Filter // nil where there is none

	acting *actor.Net
	taken  []float32 // actions of the last Act, as critics see them: [copies, agents, act]

	explore, batch, gumbel *rng.Stream
	choices                *noise    // Gumbel noise of exploration, for choices
	draws                  []float32 // noise of the last Act, [copies, agents, act]; nil for continuous actions
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
		c: c, ctx: ctx, p: p, taken: make([]float32, ctx.NumEnvs*p.agents*p.act),
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
	if l.acting, err = actor.NewNet(ctx.Act, c.actingArch(&p), actor.NetOptions{Kind: p.kind, NumEnvs: ctx.NumEnvs,
		Joint: c.Mix == Single}); err != nil {
		return nil, fmt.Errorf("maddpg: actor: %w", err)
	}
	sums, when := &l.update.sums, offpolicy.Schedule{LearningStarts: c.LearningStarts, UpdateEvery: c.UpdateEvery,
		GradientSteps: c.GradientSteps, Batch: c.Batch, RateFinal: c.RateFinal}
	l.Loop = offpolicy.NewLoop(Name, l, when, &l.ctx, l.memory.buf,
		offpolicy.Sum{Metric: "train/critic_loss", Name: "critic_loss", Of: sums.criticLoss},
		offpolicy.Sum{Metric: "train/actor_loss", Name: "actor_loss", Of: sums.actorLoss},
		offpolicy.Sum{Metric: "train/critic_grad_norm", Name: "critic_norm", Of: sums.criticNorm},
		offpolicy.Sum{Metric: "train/actor_grad_norm", Name: "actor_norm", Of: sums.actorNorm})
	return l, l.Sync()
}

// Sync implements [offpolicy.Method].
func (l *Learner) Sync() error { return l.acting.Sync(l.ctx.Train, l.update.actor) }

// Act implements [agents.Learner].
func (l *Learner) Act(v *envs.Vector) error {
	obs := &v.Obs.Kinds[0]
	for i := range l.ctx.NumEnvs {
		o := &v.Obs.Env(i).Kinds[0]
		l.std.update(o.Values, o.Active)
	}
	random := l.Steps < l.c.RandomSteps
	if !random {
		l.acting.See(obs.Values, obs.Active)
		l.std.apply(l.acting.In)
		l.acting.Hide(obs.Active)
		if err := l.acting.Forward(); err != nil {
			return fmt.Errorf("maddpg: %w", err)
		}
	}
	if l.draws != nil {
		l.choices.fill(l.draws)
	}
	for i := range l.ctx.NumEnvs {
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
	l.Acted()
	return nil
}

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	p := actor.Part{Params: l.update.actor.Params()}
	p.Head, p.Network.Arch, p.Joint = actor.Interval, l.acting.Net.Arch(), l.c.Mix == Single
	if l.p.discrete() {
		p.Head = actor.Gumbel
	}
	if l.std != nil {
		p.Clip = l.c.ObservationClip
		for i := range l.p.agents {
			m, s := l.std.agent(i).Affine()
			p.Shift, p.Scale = append(p.Shift, m...), append(p.Scale, s...)
		}
	}
	from := actor.Source{Agent: Name, Name: l.c.label(), Spec: l.ctx.Spec, Train: l.ctx.Train, Act: l.ctx.Act}
	return from.Policy(p)
}

// Name is the learner's name in the table of agents and in policy files. Results are labelled attmf, mf, maddpg, ddpg or
// iddpg.
const Name = "maddpg"

// row is the last action in copy i, as critics see it: [agents, act].
func (l *Learner) row(i int) []float32 {
	w := l.p.agents * l.p.act
	return l.taken[i*w : (i+1)*w]
}

// Store implements [offpolicy.Method].
func (l *Learner) Store(v *envs.Vector, i int) error {
	if err := l.memory.store(v, i, l.row(i)); err != nil {
		return err
	}
	if l.safe != nil {
		n := len(v.Spec().Info)
		l.safe.observe(v.Info[i*n:(i+1)*n], l.row(i))
	}
	return nil
}

// Step implements [offpolicy.Method].
func (l *Learner) Step() error {
	if err := l.sampler.sample(); err != nil {
		return err
	}
	return l.update.run()
}

// SetRates implements [offpolicy.Method].
func (l *Learner) SetRates(factor float64) {
	l.update.actorAdam.SetRate(factor * l.c.ActorRate)
	l.update.criticAdam.SetRate(factor * l.c.CriticRate)
}

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
	l.Means(f)
	f("train/n_updates", float64(l.update.criticAdam.Steps()))
	f("train/learning_rate", l.RateFactor()*l.c.ActorRate)
	if !l.p.discrete() {
		f("train/noise", l.noise())
	}
	f("train/replay", float64(l.memory.buf.Len()))
	if l.safe != nil {
		f("train/safe_replaced", l.safe.replacedShare())
	}
}

// State lists the learner's random streams and safe exploration; see Parts for the rest.
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

// Parts implements [offpolicy.Method].
func (l *Learner) Parts(p *saved.Parts) {
	u, critic := l.update, "critic"
	if u.separate != nil {
		critic = "critic_own_first" // its inputs have another order
	}
	p.Net("actor", u.actor, u.actorAdam)
	p.Weights["actor_target"] = u.actorTarget.Params()
	p.Weights[critic], p.Weights[critic+"_target"] = u.critic.Params(), u.criticTarget.Params()
	p.Adam("critic", u.criticAdam)
	if l.std != nil {
		p.Blobs[observations] = l.std
	}
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
	return l.AdoptWith(s, also...)
}

// State implements [state.Stater].
func (s *standardiser) State(c *state.Codec) {
	for _, n := range s.of {
		c.Part(n)
	}
}

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
