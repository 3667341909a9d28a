package ppo

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/agents/saved"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Name is the learner's name in the table of agents and in policy files.
const Name = "ppo"

// Learner is proximal policy optimisation.
type Learner struct {
	c        Config
	ctx      agents.Context
	discount learning.Discount
	parts    []*part // by kind of agents
	sums     metrics
	acted    bool
	steps    int64 // environment steps over all copies
	filled   int64 // steps of each copy in the rollout

	explore, batches *rng.Stream
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// environment is not of those that the package supports.
func New(c Config, ctx agents.Context) (*Learner, error) {
	l, err := build(c, ctx)
	if err != nil {
		return nil, fmt.Errorf("ppo: %w", err)
	}
	return l, nil
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := check.Context(&ctx); err != nil {
		return nil, err
	}
	if n := c.Rollout * ctx.Copies; c.Minibatches > n {
		return nil, bounds.Errorf("minibatches", "is %d, want at most the %d steps of a rollout in all copies", c.Minibatches,
			n)
	}
	l := &Learner{
		c: c, ctx: ctx, discount: learning.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds},
		explore: rng.NewStream(ctx.Seed, "ppo: exploration"), batches: rng.NewStream(ctx.Seed, "ppo: minibatches"),
	}
	key := rng.New(ctx.Seed, "ppo: initial weights")
	for i := range ctx.Spec.Kinds {
		p, err := newPart(&l.c, &l.ctx, i, key.With(uint64(i)))
		if err != nil {
			return nil, err
		}
		l.parts = append(l.parts, p)
	}
	return l, l.sync()
}

func newPart(c *Config, ctx *agents.Context, kind int, key rng.Key) (*part, error) {
	k := &ctx.Spec.Kinds[kind]
	p := &part{kind: kind, agents: k.Agents, groups: 1}
	b := &buffer{rows: ctx.Copies * k.Agents, agents: k.Agents, most: c.Rollout * ctx.Copies * k.Agents}
	p.buf = b
	if _, ok := k.Observation.(envs.Graph); ok && len(ctx.Spec.Kinds) == 1 {
		if c.Mix != None {
			return nil, bounds.Errorf("mix", "is %s, but agents of %s see a graph; want %s", c.Mix, ctx.Spec.ID, None)
		}
		m, err := newGraphs(c, ctx, key)
		if err != nil {
			return nil, err
		}
		p.m, b.obs, b.ends = m, m.newRows(), m.newRows()
		b.width, b.choices, b.components = len(m.n), m.p.N, m.n
	} else {
		m, err := newVectors(c, ctx, k, key)
		if err != nil {
			return nil, err
		}
		p.m, p.groups, b.obs, b.ends = m, m.groups, newVectorRows(c, k), newVectorRows(c, k)
		b.width, b.choices = m.width, m.all
		if ch, ok := m.head.(*choices); ok {
			b.components = ch.n
		}
	}
	p.did = newDecision(b.rows, b.width, b.choices)
	p.order = make([][]int32, p.groups)
	p.batch = batch{part: p, samples: make([][]int32, p.groups), advantage: make([][]float64, p.groups)}
	return p, nil
}

// world is one kind of agents in all copies of the environment.
type world struct {
	v    *envs.Vector
	kind int
}

// seen is what copy i's agents see, act what they do.
func (w world) seen(i int) *envs.KindObservation { return &w.v.Obs.Env(i).Kinds[w.kind] }
func (w world) act(i int) []float32              { return w.v.Act.Env(i).Kinds[w.kind] }

// sync copies what was learned to the networks that act.
func (l *Learner) sync() error {
	for _, p := range l.parts {
		if err := p.m.sync(); err != nil {
			return err
		}
	}
	return nil
}

// Act implements [agents.Learner]: it draws from the policy.
func (l *Learner) Act(v *envs.Vector) error {
	for _, p := range l.parts {
		if err := p.m.act(world{v, p.kind}, l.explore, &p.did); err != nil {
			return fmt.Errorf("ppo: acting: %w", err)
		}
	}
	l.acted = true
	return nil
}

// Observe implements [agents.Learner].
func (l *Learner) Observe(v *envs.Vector) error {
	if !l.acted {
		return errors.New("ppo: Observe without Act before it")
	}
	l.acted = false
	l.steps += int64(l.ctx.Copies)
	l.filled++
	last := l.filled == int64(l.c.Rollout)
	for _, p := range l.parts {
		for i := range l.ctx.Copies {
			if v.ResetStep[i] {
				continue // the action was not used
			}
			l.observe(p, v, i, last)
		}
	}
	return nil
}

// observe adds the last step of copy i's agents of a kind.
func (l *Learner) observe(p *part, v *envs.Vector, i int, last bool) {
	n := p.agents
	p.buf.add(step{
		copy: i, before: &v.Before.Env(i).Kinds[p.kind], after: &v.After.Env(i).Kinds[p.kind],
		rewards:  v.Rewards[p.kind][i*n : (i+1)*n],
		discount: l.discount.Of(v.Terminated[i], v.Elapsed[i]), cut: last || v.Truncated[i],
	}, p.did.of(i, n), l.c.RewardScale)
}

// Update implements [agents.Learner].
func (l *Learner) Update() error {
	if l.filled < int64(l.c.Rollout) {
		return nil
	}
	if err := l.learn(); err != nil {
		return fmt.Errorf("ppo: %w", err)
	}
	for _, p := range l.parts {
		p.buf.clear()
	}
	l.filled = 0
	if err := l.sync(); err != nil {
		return fmt.Errorf("ppo: %w", err)
	}
	return nil
}

// Replay implements [agents.Learner]: the rollout is part of the state.
func (l *Learner) Replay() *replay.Buffer { return nil }

// State lists what is neither a tensor nor a count.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, l.explore)
	state.Value(c, l.batches)
	state.Value(c, &l.sums)
	for _, p := range l.parts {
		c.Part(p.buf)
	}
}

// saved is what a checkpoint holds.
func (l *Learner) saved() *saved.Parts {
	s := saved.New(Name, l.ctx.Train)
	for _, p := range l.parts {
		prefix := ""
		if len(l.parts) > 1 {
			prefix = l.ctx.Spec.Kinds[p.kind].Name + "."
		}
		p.m.weights(s, prefix)
	}
	s.Counters["steps"], s.Counters["rollout_steps"] = &l.steps, &l.filled
	s.Blobs["learner"] = l
	return s
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return l.saved().Save(s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error {
	l.acted = false
	return errors.Join(l.saved().Load(s), l.sync())
}

// Adopt implements [agents.Learner].
func (l *Learner) Adopt(s *agents.State) error {
	return errors.Join(l.saved().Adopt(s), l.sync())
}
