// Package dqn is deep Q-learning (Mnih et al., 2015) over a finite number of choices, with masks of illegal ones, and its
// double form (van Hasselt et al., 2016). The defaults are CleanRL's for CartPole-v1.
//
// Read update.go first: it is the update, with its equations, and holds transitions and batches. learner.go has the
// configuration, acts, learns and saves.
//
// Observations are vectors. Several agents of one kind share one network, each a row with its own transitions (independent
// learners); an agent that leaves has terminated.
//
// Not here: what learners of choices share (agents/choice).
package dqn

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/offpolicy"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// Losses of the temporal-difference error.
const (
	Squared = "squared"
	Huber   = "huber"
)

// Config configures the learner. Steps are environment steps, counted over all copies.
type Config struct {
	// Double lets the network that learns choose the next action and the target network value it (van Hasselt et al.,
	// 2016). Off, the target network does both.
	Double bool `yaml:"double" json:"double"`
	// Hidden lists the widths of the hidden layers.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`

	// Rate is Adam's learning rate.
	Rate float64 `yaml:"rate" json:"rate" range:"(0,1]"`
	// Clip bounds the gradient's norm; 0 leaves it as it is.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`
	// Loss of the temporal-difference error: squared, or huber with slope 1 beyond 1 (Mnih et al., 2015).
	Loss string `yaml:"loss" json:"loss" oneof:"squared|huber"`
	// Gamma is the discount per step or, with GammaSeconds, per that time.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// GammaSeconds, where positive, discounts a step of t seconds by Gamma^(t/GammaSeconds), for steps of unequal
	// length.
	GammaSeconds float64 `yaml:"gamma_seconds" json:"gamma_seconds" range:"[0,1e12]"`
	// RewardScale multiplies rewards before learning; metrics and episodes keep the environment's.
	RewardScale float64 `yaml:"reward_scale" json:"reward_scale" range:"(0,1e9]"`

	// Batch is the number of transitions of an update, Replay the most that are kept.
	Batch  int `yaml:"batch" json:"batch" range:"[1,2^24]"`
	Replay int `yaml:"replay" json:"replay" range:"[1,2^40]"`
	// LearningStarts is the number of steps before the first update.
	LearningStarts int64 `yaml:"learning_starts" json:"learning_starts" range:"[0,1e18]"`
	// UpdateEvery is the number of steps between two updates, TargetEvery that between two target updates.
	UpdateEvery int64 `yaml:"update_every" json:"update_every" range:"[1,1e18]"`
	TargetEvery int64 `yaml:"target_every" json:"target_every" range:"[1,1e18]"`
	// Tau is the share of a target update: θ' ← θ' + Tau·(θ − θ'). 1 copies.
	Tau float64 `yaml:"tau" json:"tau" range:"(0,1]"`

	// Epsilon is the probability of a uniformly random legal choice; it falls linearly to EpsilonFinal over the share
	// EpsilonShare of the training or, where positive, over EpsilonSteps steps.
	Epsilon      float64 `yaml:"epsilon" json:"epsilon" range:"[0,1]"`
	EpsilonFinal float64 `yaml:"epsilon_final" json:"epsilon_final" range:"[0,1]"`
	EpsilonShare float64 `yaml:"epsilon_share" json:"epsilon_share" range:"[0,1]"`
	EpsilonSteps int64   `yaml:"epsilon_steps" json:"epsilon_steps" range:"[0,1e18]"`
}

// Default returns CleanRL's settings for CartPole-v1.
func Default() Config {
	return Config{
		Hidden: []int{120, 84}, Activation: nets.ReLU,
		Rate: 2.5e-4, Loss: Squared, Gamma: 0.99, RewardScale: 1,
		Batch: 128, Replay: 10_000, LearningStarts: 10_000, UpdateEvery: 10, TargetEvery: 500, Tau: 1,
		Epsilon: 1, EpsilonFinal: 0.05, EpsilonShare: 0.5,
	}
}

// Validate says what is wrong with the configuration, naming the key.
func (c Config) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Batch > c.Replay {
		return bounds.Errorf("batch", "is %d, want at most the %d transitions of replay", c.Batch, c.Replay)
	}
	return nil
}

// lossFunction is the loss as an engine takes it.
func (c Config) lossFunction() nets.Loss {
	if c.Loss == Huber {
		return nets.Huber{Delta: 1}
	}
	return nets.SquaredError{}
}

// Name is the learner's name in the table of agents and in policy files.
const Name = "dqn"

// Learner is deep Q-learning.
type Learner struct {
	offpolicy.Loop
	c   Config
	ctx agents.Context
	p   choice.Problem

	update *update
	memory *memory
	actor  *actor.Net
	random []int // by row, the random choice of the last Act; choice.None for the greedy one

	explore, batch *rng.Stream

	targetUpdates int64 // that have been due so far
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong or the
// environment is not of those that the package supports.
func New(c Config, ctx agents.Context) (*Learner, error) {
	return check.Learner(Name, build, c, ctx)
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	p, err := choice.NewProblem(ctx.Spec)
	if err != nil {
		return nil, err
	}
	rows := ctx.NumEnvs * p.Agents
	l := &Learner{
		c: c, ctx: ctx, p: p, random: make([]int, rows),
		explore: rng.NewStream(ctx.Seed, "dqn: exploration"), batch: rng.NewStream(ctx.Seed, "dqn: minibatches"),
	}
	if l.memory, err = newMemory(&l.c, &l.p); err != nil {
		return nil, err
	}
	arch := p.Arch(c.Hidden, c.Activation, 0, p.N)
	if l.update, err = newUpdate(&l.c, arch, ctx.Train, rng.New(ctx.Seed, "dqn: initial weights")); err != nil {
		return nil, err
	}
	if l.actor, err = actor.NewNet(ctx.Act, arch, actor.NetOptions{Kind: p.Kind, NumEnvs: ctx.NumEnvs}); err != nil {
		return nil, err
	}
	u, when := l.update, offpolicy.Schedule{LearningStarts: c.LearningStarts, UpdateEvery: c.UpdateEvery, GradientSteps: 1,
		Batch: c.Batch, RateFinal: 1}
	l.Loop = offpolicy.NewLoop(Name, l, when, &l.ctx, l.memory.buf,
		offpolicy.Sum{Metric: "train/loss", Name: "loss", Of: u.sumLoss},
		offpolicy.Sum{Metric: "train/grad_norm", Name: "norm", Of: u.sumNorm})
	return l, l.Sync()
}

// Sync implements [offpolicy.Method].
func (l *Learner) Sync() error { return l.actor.Sync(l.ctx.Train, l.update.net) }

// Act implements [agents.Learner].
func (l *Learner) Act(v *envs.Vector) error {
	o, n := &v.Obs.Kinds[0], l.p.N
	eps, greedy := l.epsilon(), false
	for i, here := range o.Active {
		l.random[i] = choice.None
		if !here {
			continue
		}
		if eps > 0 && l.explore.Float64() < eps {
			l.random[i] = choice.Uniform(o.Mask[i*n:(i+1)*n], l.explore)
		} else {
			greedy = true
		}
	}
	if greedy { // else no agent needs the network
		if err := l.actor.Run(o.Values, o.Active); err != nil {
			return fmt.Errorf("dqn: acting: %w", err)
		}
	}
	for i, here := range o.Active {
		c := l.random[i]
		if here && c == choice.None {
			row := l.actor.Row(i/l.p.Agents, i%l.p.Agents)
			if err := check.Finite("choice", row); err != nil {
				return fmt.Errorf("dqn: environment %d: %s %d: %w", i/l.p.Agents, l.p.Kind.Name, i%l.p.Agents, err)
			}
			if c = choice.Best(row, o.Mask[i*n:(i+1)*n]); c == choice.None {
				return fmt.Errorf("dqn: environment %d: %s %d has no legal choice", i/l.p.Agents, l.p.Kind.Name, i%l.p.Agents)
			}
		}
		v.Act.Kinds[0][i] = float32(max(c, 0))
	}
	l.Acted()
	return nil
}

// epsilon is the probability of a random choice at the present step.
func (l *Learner) epsilon() float64 {
	over := float64(l.c.EpsilonSteps)
	if over == 0 {
		over = l.c.EpsilonShare * float64(l.ctx.Steps)
	}
	return learning.Linear(l.c.Epsilon, l.c.EpsilonFinal, float64(l.Steps), over)
}

// Store implements [offpolicy.Method].
func (l *Learner) Store(v *envs.Vector, i int) error { return l.memory.store(v, i) }

// Step implements [offpolicy.Method].
func (l *Learner) Step() error {
	if err := l.memory.sample(l.update, l.batch); err != nil {
		return err
	}
	return l.update.run(&l.memory.batch)
}

// EndRound implements [offpolicy.Method]: the target network follows as often as has become due since the last round. Before
// the first round it was equal, and needed no update.
func (l *Learner) EndRound() {
	if due := l.Steps / l.c.TargetEvery; due > l.targetUpdates {
		times := due - l.targetUpdates
		if l.targetUpdates == 0 {
			times = 1
		}
		l.update.updateTarget(l.c.Tau, times)
		l.targetUpdates = due
	}
}

// Metrics implements [agents.Learner]. Loss and gradient norm (before clipping) are means over the updates since the
// last call, and are left out where there were none:
//
//	train/loss        of the temporal-difference error, mean over the batch, of scaled rewards
//	train/grad_norm
//	train/n_updates   updates since the beginning
//	train/epsilon     the present probability of a random choice
//	train/replay      transitions held
func (l *Learner) Metrics(f func(name string, value float64)) {
	l.Means(f)
	f("train/n_updates", float64(l.update.adam.Steps()))
	f("train/epsilon", l.epsilon())
	f("train/replay", float64(l.memory.buf.Len()))
}

// Policy implements [agents.Learner]: the best legal choice.
func (l *Learner) Policy() (agents.Policy, error) {
	from := actor.Source{Agent: Name, Stream: choice.Stream, Spec: l.ctx.Spec, Train: l.ctx.Train, Act: l.ctx.Act}
	return from.Policy(actor.Part{Kind: actor.Kind{Head: actor.Values, Network: actor.Network{Arch: l.update.net.Arch()}},
		Params: l.update.net.Params()})
}

// State lists the learner's streams; see Parts for the rest.
func (l *Learner) State(c *state.Codec) {
	state.Value(c, l.explore)
	state.Value(c, l.batch)
}

// AdoptPolicy implements [agents.Pretrained]: the policy's network is the learner's, and its target.
func (l *Learner) AdoptPolicy(f *agents.PolicyFile) error {
	return actor.AdoptPolicy(l, f, l.ctx.Spec, func(_ int, params, _ agents.Array, s *agents.State) error {
		s.Weights["q"], s.Weights["q_target"] = params, params
		return nil
	})
}

// Parts implements [offpolicy.Method].
func (l *Learner) Parts(p *saved.Parts) {
	p.Net("q", l.update.net, l.update.adam)
	p.Weights["q_target"] = l.update.target.Params()
	p.Counters["target_updates"] = &l.targetUpdates
}
