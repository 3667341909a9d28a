package ppo

import (
	"errors"
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// How a continuous component stays within its bounds.
const (
	// Clip cuts what was drawn: the action is min(max(u, −1), 1), stretched to the bounds.
	Clip = actor.Clip
	// Squash takes tanh(u), stretched to the bounds.
	Squash = actor.Squash
)

// What an agent sees of the others of its kind.
const (
	// None: nothing.
	None = "none"
	// Mean: the mean of what they see (mean-field PPO). Where an observation holds the agent's last action, this is the
	// mean of their actions too.
	Mean = actor.Mean
)

// Config configures the learner.
type Config struct {
	// Hidden lists the widths of the hidden layers, of the policy and of the value.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`
	// Orthogonal draws orthogonal initial weights, with gain √2 in hidden layers, 0.01 in the policy's last layer and 1 in
	// the value's, and biases of 0. Off, weights are drawn as PyTorch does. Networks over graphs do not use it.
	Orthogonal bool `yaml:"orthogonal" json:"orthogonal"`
	// Shared gives all agents of a kind the same weights. Off, each has its own.
	Shared bool `yaml:"shared" json:"shared"`
	// Mix is what an agent sees of the others of its kind beside its own observation: none, or mean. Only where agents see
	// vectors.
	Mix string `yaml:"mix" json:"mix" oneof:"none|mean"`
	// Graph describes the networks where agents see a graph; hidden and activation are then not used.
	Graph graphs.Net `yaml:"graph" json:"graph"`

	// Rollout is the number of steps of each copy of the environment between two updates.
	Rollout int `yaml:"rollout" json:"rollout" range:"[1,2^24]"`
	// Epochs is how often an update goes through the rollout, in Minibatches parts of equal size, shuffled each time.
	Epochs      int `yaml:"epochs" json:"epochs" range:"[1,2^20]"`
	Minibatches int `yaml:"minibatches" json:"minibatches" range:"[1,2^24]"`

	// Lambda is λ of generalised advantage estimation.
	Lambda float64 `yaml:"lambda" json:"lambda" range:"[0,1]"`
	// Gamma is the discount per step or, with GammaSeconds, per that time.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// GammaSeconds, where positive, discounts a step of t seconds by Gamma^(t/GammaSeconds): for steps of unequal
	// length.
	GammaSeconds float64 `yaml:"gamma_seconds" json:"gamma_seconds" range:"[0,1e12]"`
	// RewardScale multiplies rewards before learning; metrics and episodes keep the environment's.
	RewardScale float64 `yaml:"reward_scale" json:"reward_scale" range:"(0,1e9]"`
	// Standardise makes the mean of a minibatch's advantages 0 and their deviation 1.
	Standardise bool `yaml:"standardise" json:"standardise"`

	// ClipRange is ε: the ratio π/π_old has no gradient where it is beyond 1 ± ε and would go on.
	ClipRange float64 `yaml:"clip_range" json:"clip_range" range:"(0,1e6]"`
	// ValueClip bounds how far the value moves in an update, by ±ClipRange.
	ValueClip bool `yaml:"value_clip" json:"value_clip"`
	// TargetKL, where positive, ends an update after the epoch whose mean KL divergence from the old policy is larger.
	TargetKL float64 `yaml:"target_kl" json:"target_kl" range:"[0,1e6]"`
	// Entropy is the coefficient of the policy's entropy in what is maximised.
	Entropy float64 `yaml:"entropy" json:"entropy" range:"[0,1e6]"`

	// Rate is Adam's learning rate, of policy and value.
	Rate float64 `yaml:"rate" json:"rate" range:"(0,1]"`
	// Anneal is the fraction of the rate that is gone at the end of the planned training; it falls linearly. 0 keeps it.
	Anneal float64 `yaml:"anneal" json:"anneal" range:"[0,1]"`
	// Clip bounds the norm of each network's gradient; 0 does not clip.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`

	// LogStd is the initial logarithm of the deviation of continuous actions, in halves of their range where they are
	// bounded. It is learned, and does not depend on what is seen.
	LogStd float64 `yaml:"log_std" json:"log_std" range:"[-20,10]"`
	// Bounds is how continuous actions stay within their bounds: clip, or tanh.
	Bounds string `yaml:"bounds" json:"bounds" oneof:"clip|tanh"`
}

// Default returns CleanRL's settings for CartPole-v1.
func Default() Config {
	return Config{
		Hidden: []int{64, 64}, Activation: nets.Tanh, Orthogonal: true, Shared: true, Mix: None, Graph: graphs.DefaultNet(),
		Rollout: 128, Epochs: 4, Minibatches: 4, Lambda: 0.95, Gamma: 0.99, RewardScale: 1, Standardise: true,
		ClipRange: 0.2, ValueClip: true, Entropy: 0.01, Rate: 2.5e-4, Anneal: 1, Clip: 0.5, Bounds: Clip,
	}
}

// Validate says what is wrong with the configuration, naming the key.
func (c Config) Validate() error { return bounds.Check(&c) }

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
	return check.Learner(Name, build, c, ctx)
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	if n := c.Rollout * ctx.NumEnvs; c.Minibatches > n {
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
	b := &buffer{rows: ctx.NumEnvs * k.Agents, agents: k.Agents, most: c.Rollout * ctx.NumEnvs * k.Agents}
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
		b.width, b.choices, b.components = len(m.Choices), m.Problem.N, m.Choices
	} else {
		m, err := newVectors(c, ctx, k, key)
		if err != nil {
			return nil, err
		}
		p.m, p.groups, b.obs, b.ends = m, m.groups, newVectorRows(c, k), newVectorRows(c, k)
		b.width, b.choices = m.width, m.all
		if ch, ok := m.head.(*choices); ok {
			b.components = ch.N
		}
	}
	p.did = newDecision(b.rows, b.width, b.choices)
	p.order = make([][]int32, p.groups)
	p.batch = batch{part: p, samples: make([][]int32, p.groups), advantage: make([][]float64, p.groups)}
	return p, nil
}

// sync copies what was learned to the networks that act.
func (l *Learner) sync() error {
	for _, p := range l.parts {
		if err := p.m.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// Act implements [agents.Learner]: it draws from the policy.
func (l *Learner) Act(v *envs.Vector) error {
	for _, p := range l.parts {
		if err := p.m.act(v, p.kind, l.explore, &p.did); err != nil {
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
	l.steps += int64(l.ctx.NumEnvs)
	l.filled++
	last := l.filled == int64(l.c.Rollout)
	for _, p := range l.parts {
		for i := range l.ctx.NumEnvs {
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

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) { return l.PolicyAs(Name, nil) }

// PolicyAs is Policy for a learner around this one: its name, and the names of the agents whose weights the policy has.
func (l *Learner) PolicyAs(agent string, members []string) (agents.Policy, error) {
	stream := "ppo: policy"
	var parts []actor.Part
	for _, p := range l.parts {
		if _, ok := p.m.(*graphNets); ok {
			stream = graphs.Stream
		}
		part := p.m.part(&l.c)
		part.Members = members
		parts = append(parts, part)
	}
	from := actor.Source{Agent: agent, Stream: stream, Spec: l.ctx.Spec, Train: l.ctx.Train, Act: l.ctx.Act}
	return from.Policy(parts...)
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

// prefix begins the names of a part's arrays.
func (l *Learner) prefix(p *part) string {
	if len(l.parts) == 1 {
		return ""
	}
	return l.ctx.Spec.Kinds[p.kind].Name + "."
}

// saved is what a checkpoint holds.
func (l *Learner) saved() *saved.Parts {
	s := saved.New(Name, l.ctx.Train)
	for _, p := range l.parts {
		p.m.Save(s, l.prefix(p))
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

// AdoptPolicy implements [agents.Pretrained]: the value begins anew.
func (l *Learner) AdoptPolicy(f *agents.PolicyFile) error {
	return actor.AdoptPolicy(l, f, l.ctx.Spec, func(kind int, params, logStd agents.Array, s *agents.State) error {
		prefix := l.prefix(l.parts[kind])
		s.Weights[prefix+"policy"] = params
		if m, ok := l.parts[kind].m.(*vectors); ok && m.gauss != nil {
			return m.putDeviation(s.Weights[prefix+"log_std"].Data, logStd.Data)
		}
		return nil
	})
}

// Hold keeps the weights of some agents as they are, bit for bit: held has an entry for each agent of the first kind,
// each with weights of its own. It is called before the first update.
func (l *Learner) Hold(held []bool) error {
	p := l.parts[0]
	if p.groups != len(held) {
		return fmt.Errorf("ppo: %d agents to hold or not, want one for each of %d sets of weights", len(held), p.groups)
	}
	p.held = held
	return nil
}

// metrics are sums since [Learner.Metrics] was last called.
type metrics struct {
	policyLoss, valueLoss, entropy  float64 // over samples
	kl, clipped, samples            float64
	policyNorm, valueNorm, steps    float64 // over gradient steps
	explained, std, epochs, updates float64
	rate                            float64 // the last
}

// Metrics implements [agents.Learner]. The names are those of Stable-Baselines3. Means are over the gradient steps since
// the last call, and are left out where there were none:
//
//	train/loss                   policy_gradient_loss + entropy·entropy_loss + value_loss
//	train/policy_gradient_loss   the mean of the clipped surrogate, negated
//	train/value_loss             half the mean of (V − R)², of scaled rewards
//	train/entropy_loss           minus the policy's entropy
//	train/approx_kl              the mean of r − 1 − ln r, an estimate of KL(π_old, π)
//	train/clip_fraction          the share of samples whose ratio is beyond 1 ± clip_range
//	train/explained_variance     the share of the returns' variance that the value explained before the update
//	train/policy_grad_norm, train/value_grad_norm   before clipping
//	train/std                    the mean deviation of continuous actions
//	train/epochs                 of an update: fewer than configured where target_kl ended it
//	train/learning_rate          of the last update
//	train/n_updates              gradient steps since the beginning
func (l *Learner) Metrics(f func(name string, value float64)) {
	m := &l.sums
	if m.samples > 0 {
		policy, value, entropy := m.policyLoss/m.samples, m.valueLoss/m.samples, m.entropy/m.samples
		f("train/loss", policy+value-float64(l.c.Entropy*entropy))
		f("train/policy_gradient_loss", policy)
		f("train/value_loss", value)
		f("train/entropy_loss", -entropy)
		f("train/approx_kl", m.kl/m.samples)
		f("train/clip_fraction", m.clipped/m.samples)
		f("train/explained_variance", m.explained/m.updates)
		f("train/policy_grad_norm", m.policyNorm/m.steps)
		f("train/value_grad_norm", m.valueNorm/m.steps)
		if m.std > 0 {
			f("train/std", m.std/m.updates)
		}
		f("train/epochs", m.epochs/m.updates)
		f("train/learning_rate", m.rate)
	}
	f("train/n_updates", float64(l.parts[0].m.Optimisers()[0].Steps()))
	*m = metrics{}
}
