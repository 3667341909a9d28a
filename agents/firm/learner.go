// Package firm is Firm as FaaSConf compares with it: deep deterministic policy gradient (Lillicrap et al., 2016) with one
// set of weights for all functions, in which only the functions that look guilty of a late workflow change their
// configuration (after Qiu et al., "FIRM", OSDI 2020).
//
// Each window, culprits.go finds the critical path, the way through the workflow with the largest sum of the functions'
// 95th percentiles, and on it the two functions whose percentile grew most. They take the actor's action; the others
// keep their configuration. The actor and critic see one function: they are those of package maddpg with mix none and
// shared weights, whose update this package uses as it is. learner.go has the sizes and rates of FaaSConf's code;
// it and policy.go put the choice of functions around learner and policy.
//
// FIRM itself finds critical paths in traces and culprits by a classifier, and its actions are changes by 10 % of five
// limits. That is not here.
package firm

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/maddpg"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// Config configures the learner. Steps are environment steps, summed over all copies of the environment.
type Config struct {
	// Move is the number of functions of the critical path that change their configuration in a window; the others keep
	// theirs.
	Move int `yaml:"move" json:"move" range:"[1,2^16]"`

	// Hidden lists the widths of the hidden layers of actor and critic.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Norm is the normalisation after each hidden activation: empty for none, or layer for layer normalisation. FaaSConf's
	// code has batch normalisation.
	Norm string `yaml:"norm" json:"norm" oneof:"layer|"`
	// ActorRate and CriticRate are Adam's learning rates.
	ActorRate  float64 `yaml:"actor_rate" json:"actor_rate" range:"(0,1]"`
	CriticRate float64 `yaml:"critic_rate" json:"critic_rate" range:"(0,1]"`
	// RateFinal is the fraction of both learning rates that is left at the end of training. They fall linearly from the
	// first step; 1 keeps them constant.
	RateFinal float64 `yaml:"rate_final" json:"rate_final" range:"[0,1]"`
	// Clip bounds the gradient norm of actor and critic; 0 turns clipping off.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`
	// Gamma is the discount per step, Tau the rate of the soft target update.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	Tau   float64 `yaml:"tau" json:"tau" range:"(0,1]"`

	// Batch is the size of a minibatch and Replay the capacity of the replay buffer, both in windows. A window holds a
	// transition of every function.
	Batch  int `yaml:"batch" json:"batch" range:"[1,2^24]"`
	Replay int `yaml:"replay" json:"replay" range:"[1,2^40]"`
	// RandomSteps is the number of steps at the beginning with uniformly random actions between NoiseLow and NoiseHigh, of
	// the functions that move.
	RandomSteps int64 `yaml:"random_steps" json:"random_steps" range:"[0,1e18]"`
	// LearningStarts is the number of steps before the first update, UpdateEvery the number of steps between two updates.
	LearningStarts int64 `yaml:"learning_starts" json:"learning_starts" range:"[0,1e18]"`
	UpdateEvery    int64 `yaml:"update_every" json:"update_every" range:"[1,1e18]"`

	// Noise is the standard deviation of the normal noise on actions, in units of their range. It falls linearly to
	// NoiseFinal over the training.
	Noise      float64 `yaml:"noise" json:"noise" range:"[0,10]"`
	NoiseFinal float64 `yaml:"noise_final" json:"noise_final" range:"[0,10]"`
	// NoiseLow and NoiseHigh bound actions, with noise and without, as shares of their range.
	NoiseLow  float64 `yaml:"noise_low" json:"noise_low" range:"[0,1)"`
	NoiseHigh float64 `yaml:"noise_high" json:"noise_high" range:"(0,1]"`
	// LogitPenalty is the coefficient of mean(logits²) in the actor's loss. It keeps the sigmoid from saturating.
	LogitPenalty float64 `yaml:"logit_penalty" json:"logit_penalty" range:"[0,1e6]"`
}

// Default returns Firm as FaaSConf's code has it; random_steps and learning_starts are ours, since that code learns from
// a library of past runs.
func Default() Config {
	return Config{
		Move: 2, Hidden: []int{64, 64}, ActorRate: 1e-3, CriticRate: 1e-3, RateFinal: 1, Gamma: 0.95, Tau: 0.005,
		Batch: 64, Replay: 1500, RandomSteps: 500, LearningStarts: 500, UpdateEvery: 1,
		Noise: 0.05, NoiseFinal: 0.05, NoiseLow: 0.2, NoiseHigh: 0.8, LogitPenalty: 1e-3,
	}
}

// Validate reports the first wrong value, by its key.
func (c Config) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	return c.ddpg().Validate()
}

// ddpg is the learner inside: one actor and one critic that see one function each.
func (c Config) ddpg() maddpg.Config {
	d := maddpg.Default()
	d.Mix, d.Shared = maddpg.None, true
	d.Hidden, d.Norm = c.Hidden, c.Norm
	d.ActorRate, d.CriticRate, d.RateFinal, d.Clip = c.ActorRate, c.CriticRate, c.RateFinal, c.Clip
	d.Gamma, d.Tau, d.Batch, d.Replay = c.Gamma, c.Tau, c.Batch, c.Replay
	d.RandomSteps, d.LearningStarts, d.UpdateEvery = c.RandomSteps, c.LearningStarts, c.UpdateEvery
	d.Noise, d.NoiseFinal, d.NoiseLow, d.NoiseHigh = c.Noise, c.NoiseFinal, c.NoiseLow, c.NoiseHigh
	d.LogitPenalty = c.LogitPenalty
	return d
}

// Name is the learner's name in the table of agents and in policy files.
const Name = "firm"

// Learner is Firm: a DDPG for all functions, of whom the culprits of each window move.
type Learner struct {
	*maddpg.Learner
	c        Config
	ctx      agents.Context
	culprits *culprits
}

var _ agents.Learner = (*Learner)(nil)

// New returns a learner for the environment and engines of ctx. It fails where the configuration is wrong, or the
// environment does not show what Firm chooses by: the agents' order, each one's last configuration and its p95.
func New(c Config, ctx agents.Context) (*Learner, error) {
	return check.Named(Name, build, c, ctx)
}

func build(c Config, ctx agents.Context) (*Learner, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	who, err := newCulprits(ctx.Spec, c.Move, ctx.NumEnvs)
	if err != nil {
		return nil, err
	}
	inside, err := maddpg.NewFiltered(c.ddpg(), ctx, who)
	if err != nil {
		return nil, err
	}
	return &Learner{Learner: inside, c: c, ctx: ctx, culprits: who}, nil
}

// Observe implements [agents.Learner].
func (l *Learner) Observe(v *envs.Vector) error {
	for i := range l.ctx.NumEnvs {
		if v.Terminated[i] || v.Truncated[i] || v.ResetStep[i] {
			l.culprits.forget(i)
		}
	}
	return l.Learner.Observe(v)
}

// parts is what a checkpoint holds beside the learner inside.
func (l *Learner) parts() *saved.Parts {
	p := saved.New(Name, nil)
	p.Blobs["firm.before"] = l.culprits
	return p
}

// Save implements [agents.Learner].
func (l *Learner) Save(s *agents.State) error { return saved.SaveBeside(l.Learner, l.parts(), s) }

// Load implements [agents.Learner].
func (l *Learner) Load(s *agents.State) error { return saved.LoadBeside(l.Learner, l.parts(), s) }

// Policy implements [agents.Learner].
func (l *Learner) Policy() (agents.Policy, error) {
	inside, err := l.Learner.Policy()
	if err != nil {
		return nil, err
	}
	f, err := file(&l.c, inside)
	if err != nil {
		return nil, fmt.Errorf("firm: %w", err)
	}
	return OpenPolicy(f, l.ctx.Spec, l.ctx.Act)
}
