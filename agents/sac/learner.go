package sac

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/offpolicy"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Name is the learner's name in the table of agents and in policy files.
const Name = "sac"

// Learner is soft actor-critic.
type Learner struct {
	offpolicy.Loop
	c   Config
	ctx agents.Context
	p   problem

	update *update
	memory *memory
	acting *actor.Net
	taken  []float32 // actions of the last Act in (−1, 1), [copies, agents, act]
	drawn  []float32 // buffer of a minibatch's noise

	explore, batch, noise *rng.Stream
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// environment is not of those that the package supports.
func New(c Config, ctx agents.Context) (*Learner, error) {
	return check.Learner(Name, build, c, ctx)
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	p, err := newProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	l := &Learner{
		c: c, ctx: ctx, p: p, drawn: make([]float32, p.agents*c.Batch*p.act),
		explore: rng.NewStream(ctx.Seed, "sac: exploration"), batch: rng.NewStream(ctx.Seed, "sac: minibatches"),
		noise: rng.NewStream(ctx.Seed, "sac: noise of updates"),
	}
	if l.memory, err = newMemory(&l.c, &l.p); err != nil {
		return nil, err
	}
	if l.update, err = newUpdate(&l.c, &l.p, ctx.Train, rng.New(ctx.Seed, "sac: initial weights")); err != nil {
		return nil, err
	}
	if l.acting, err = actor.NewNet(ctx.Act, c.actorArch(&p), actor.NetOptions{Kind: p.kind, NumEnvs: ctx.NumEnvs,
		Squash: true}); err != nil {
		return nil, err
	}
	l.taken = make([]float32, ctx.NumEnvs*p.agents*p.act)
	u, s := l.update, offpolicy.Schedule{LearningStarts: c.LearningStarts, UpdateEvery: c.UpdateEvery,
		GradientSteps: c.GradientSteps, Batch: c.Batch, RateFinal: c.RateFinal}
	l.Loop = offpolicy.NewLoop(Name, l, s, &l.ctx, l.memory.buf,
		offpolicy.Sum{Metric: "train/critic_loss", Name: "critic_loss", Of: u.sums.criticLoss},
		offpolicy.Sum{Metric: "train/actor_loss", Name: "actor_loss", Of: u.sums.actorLoss},
		offpolicy.Sum{Metric: "train/ent_coef_loss", Name: "alpha_loss", Of: u.sums.alphaLoss},
		offpolicy.Sum{Metric: "train/entropy", Name: "entropy", Of: u.sums.entropy},
		offpolicy.Sum{Metric: "train/critic_grad_norm", Name: "critic_norm", Of: u.sums.criticNorm},
		offpolicy.Sum{Metric: "train/actor_grad_norm", Name: "actor_norm", Of: u.sums.actorNorm})
	return l, l.Sync()
}

// Sync implements [offpolicy.Method].
func (l *Learner) Sync() error { return l.acting.Sync(l.ctx.Train, l.update.actor) }

// Act implements [agents.Learner].
func (l *Learner) Act(v *envs.Vector) error {
	if l.Steps < l.c.RandomSteps {
		for i := range l.taken {
			l.taken[i] = float32(2*l.explore.Float64() - 1)
		}
	} else {
		l.acting.Noise(l.explore)
		if err := l.acting.Run(v.Obs.Kinds[0].Values, v.Obs.Kinds[0].Active); err != nil {
			return fmt.Errorf("sac: %w", err)
		}
		for i := range l.ctx.NumEnvs {
			for j := range l.p.agents {
				copy(l.row(i)[j*l.p.act:], l.acting.Row(i, j))
			}
		}
	}
	for i := range l.ctx.NumEnvs {
		if err := l.p.give(l.row(i), v.Act.Env(i).Kinds[0], v.Obs.Env(i).Kinds[0].Active); err != nil {
			return fmt.Errorf("sac: environment %d: %w", i, err)
		}
	}
	l.Acted()
	return nil
}

// row is copy i's part of taken.
func (l *Learner) row(i int) []float32 {
	w := l.p.agents * l.p.act
	return l.taken[i*w : (i+1)*w]
}

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	from := actor.Source{Agent: Name, Spec: l.ctx.Spec, Train: l.ctx.Train, Act: l.ctx.Act}
	return from.Policy(actor.Part{Kind: actor.Kind{Head: actor.Squashed, Network: actor.Network{Arch: l.update.actor.Arch()}},
		Params: l.update.actor.Params()})
}

// Store implements [offpolicy.Method].
func (l *Learner) Store(v *envs.Vector, i int) error {
	l.memory.store(v, i, l.row(i))
	return nil
}

// Step implements [offpolicy.Method].
func (l *Learner) Step() error {
	u := l.update
	if err := l.memory.sample(u, l.batch); err != nil {
		return err
	}
	for _, t := range [...]nets.Tensor{u.noise, u.noise2} {
		for i := range l.drawn {
			l.drawn[i] = float32(l.noise.Norm())
		}
		t.Set(l.drawn)
	}
	return u.run()
}

// SetRates implements [offpolicy.Method].
func (l *Learner) SetRates(factor float64) { l.update.setRates(&l.c, factor) }

// Metrics implements [agents.Learner]. Losses, entropy and gradient norms (before clipping) are means over agents and
// over the updates since the last call; they are left out where there was no update:
//
//	train/critic_loss    the squared TD error, mean of the two critics, of scaled rewards
//	train/actor_loss     α ln π − min Q
//	train/ent_coef_loss  −ln α·(ln π + target entropy)
//	train/entropy        −ln π: the policy's entropy, of the action in (−1, 1)
//	train/critic_grad_norm, train/actor_grad_norm
//	train/ent_coef       the present temperature α
//	train/n_updates      updates since the beginning
//	train/learning_rate  the actors' present learning rate
//	train/replay         transitions held
func (l *Learner) Metrics(f func(name string, value float64)) {
	u := l.update
	l.Means(f)
	f("train/ent_coef", u.alpha())
	f("train/n_updates", float64(u.actorAdam.Steps()))
	f("train/learning_rate", l.RateFactor()*l.c.ActorRate)
	f("train/replay", float64(l.memory.buf.Len()))
}

// State lists the learner's streams; see Parts for the rest.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, l.explore)
	state.Value(c, l.batch)
	state.Value(c, l.noise)
}

// Parts implements [offpolicy.Method].
func (l *Learner) Parts(p *saved.Parts) {
	u := l.update
	p.Net("actor", u.actor, u.actorAdam)
	p.Net("temperature", u.temperature, u.alphaAdam)
	for i, name := range []string{"critic1", "critic2"} {
		p.Net(name, u.critics[i], u.criticAdams[i])
		p.Weights[name+"_target"] = u.targets[i].Params()
	}
}

// Adopt implements [agents.Learner]. A temperature that is not tuned stays the configured one.
func (l *Learner) Adopt(s *agents.State) error {
	p := l.update.temperature.Params()
	own := make([]float32, nets.Size(p))
	p.Get(own)
	if err := l.Loop.Adopt(s); err != nil || l.c.Autotune {
		return err
	}
	p.Set(own)
	return l.ctx.Train.Err()
}

// memory is the replay. A row is a transition of all agents: observations as the environment gave them, actions in
// (−1, 1), unscaled rewards.
type memory struct {
	p        *problem
	discount learning.Discount
	scale    float32
	buf      *replay.Buffer
	index    []int64
	numbers  []float32 // buffer of a minibatch's column
}

// Columns of a row.
const (
	colObservation = iota
	colAction
	colReward
	colDiscount // 0 where the episode terminated, and for an agent that leaves
	colPresent
	colNext
)

func newMemory(c *Config, p *problem) (*memory, error) {
	n := p.agents
	buf, err := replay.New([]replay.Column{
		{Name: "observation", Width: n * p.obs}, {Name: "action", Width: n * p.act}, {Name: "reward", Width: n},
		{Name: "discount", Width: n}, {Name: "present", Width: n}, {Name: "next_observation", Width: n * p.obs},
	}, c.Replay)
	if err != nil {
		return nil, err
	}
	return &memory{
		p: p, discount: learning.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: float32(c.RewardScale),
		buf: buf, index: make([]int64, c.Batch), numbers: make([]float32, c.Batch*n*max(p.obs, p.act)),
	}, nil
}

// store adds the last transition of copy i; u is its action in (−1, 1).
func (m *memory) store(v *envs.Vector, i int, u []float32) {
	n := m.p.agents
	before, after := &v.Before.Env(i).Kinds[0], &v.After.Env(i).Kinds[0]
	rewards := v.Rewards[0][i*n : (i+1)*n]
	row := m.buf.Add()
	copy(row.Column(colObservation), before.Values)
	copy(row.Column(colAction), u)
	copy(row.Column(colNext), after.Values)
	discount := float32(m.discount.Of(v.Terminated[i], v.Elapsed[i]))
	reward, discounts, present := row.Column(colReward), row.Column(colDiscount), row.Column(colPresent)
	for j := range n {
		reward[j], discounts[j], present[j] = 0, 0, 0
		if before.Active[j] {
			reward[j], present[j] = rewards[j], 1
			if after.Active[j] {
				discounts[j] = discount
			}
		}
	}
}

// sample draws a minibatch into an update's tensors.
func (m *memory) sample(u *update, s *rng.Stream) error {
	if err := m.buf.Sample(s, m.index); err != nil {
		return err
	}
	m.load(colObservation, m.p.obs, u.s)
	m.load(colAction, m.p.act, u.a)
	m.load(colDiscount, 1, u.discount)
	m.load(colPresent, 1, u.present)
	m.load(colNext, m.p.obs, u.s2)
	rewards := m.gather(colReward, 1)
	for i := range rewards {
		rewards[i] *= m.scale
	}
	u.r.Set(rewards)
	return nil
}

func (m *memory) load(column, width int, to nets.Tensor) { to.Set(m.gather(column, width)) }

// gather returns a column of the minibatch, [agents, batch, width].
func (m *memory) gather(column, width int) []float32 {
	x := m.numbers[:m.p.agents*len(m.index)*width]
	m.buf.Gather(column, m.index, m.p.agents, x)
	return x
}
