package sac

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Config configures the learner. Steps are environment steps, summed over all copies of the environment.
type Config struct {
	// Shared gives all agents one set of weights and one temperature; otherwise each agent has its own.
	Shared bool `yaml:"shared" json:"shared"`
	// Hidden lists the widths of the hidden layers of actor and critics.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`
	// Norm is the normalisation after each hidden activation: empty for none, or layer for layer normalisation.
	Norm string `yaml:"norm" json:"norm" oneof:"layer|"`

	// ActorRate, CriticRate and AlphaRate are Adam's learning rates.
	ActorRate  float64 `yaml:"actor_rate" json:"actor_rate" range:"(0,1]"`
	CriticRate float64 `yaml:"critic_rate" json:"critic_rate" range:"(0,1]"`
	AlphaRate  float64 `yaml:"alpha_rate" json:"alpha_rate" range:"(0,1]"`
	// RateFinal is the fraction of these learning rates that is left at the end of training. They fall linearly from the
	// first step; 1 keeps them constant.
	RateFinal float64 `yaml:"rate_final" json:"rate_final" range:"[0,1]"`
	// Clip bounds the gradient norm of each agent's actor and critics; 0 turns clipping off.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`
	// Gamma is the discount per step or, with GammaSeconds, per that many seconds.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// GammaSeconds, where positive, discounts a step of t seconds by Gamma^(t/GammaSeconds). It is for steps of unequal
	// length.
	GammaSeconds float64 `yaml:"gamma_seconds" json:"gamma_seconds" range:"[0,1e12]"`
	// Tau is the rate of the soft target update: θ' ← θ' + Tau·(θ − θ').
	Tau float64 `yaml:"tau" json:"tau" range:"(0,1]"`
	// RewardScale multiplies rewards before learning. Metrics and episodes report the environment's rewards.
	RewardScale float64 `yaml:"reward_scale" json:"reward_scale" range:"(0,1e9]"`

	// Autotune learns the temperature; false keeps Alpha.
	Autotune bool `yaml:"autotune" json:"autotune"`
	// Alpha is the temperature, the weight of the entropy: the first one with Autotune, else the only one.
	Alpha float64 `yaml:"alpha" json:"alpha" range:"(0,1e9]"`
	// TargetEntropy is the entropy per component of the action that Autotune keeps, of the action in (−1, 1). The
	// paper's −1 stands for a target of −dim(A).
	TargetEntropy float64 `yaml:"target_entropy" json:"target_entropy" range:"[-1e6,1e6]"`

	// Batch is the size of a minibatch and Replay the capacity of the replay buffer, both in transitions of all agents.
	Batch  int `yaml:"batch" json:"batch" range:"[1,2^24]"`
	Replay int `yaml:"replay" json:"replay" range:"[1,2^40]"`
	// RandomSteps is the number of steps at the beginning with uniformly random actions.
	RandomSteps int64 `yaml:"random_steps" json:"random_steps" range:"[0,1e18]"`
	// LearningStarts is the number of steps before the first update.
	LearningStarts int64 `yaml:"learning_starts" json:"learning_starts" range:"[0,1e18]"`
	// UpdateEvery is the number of steps between two rounds of updates, GradientSteps the number of updates in each
	// round.
	UpdateEvery   int64 `yaml:"update_every" json:"update_every" range:"[1,1e18]"`
	GradientSteps int   `yaml:"gradient_steps" json:"gradient_steps" range:"[1,1e9]"`
}

// Default returns CleanRL's settings, but for its delayed policy updates: here every update is one of all networks, as
// in the paper.
func Default() Config {
	return Config{
		Hidden: []int{256, 256}, Activation: nets.ReLU,
		ActorRate: 3e-4, CriticRate: 1e-3, AlphaRate: 1e-3, RateFinal: 1, Gamma: 0.99, Tau: 0.005, RewardScale: 1,
		Autotune: true, Alpha: 1, TargetEntropy: -1,
		Batch: 256, Replay: 1_000_000, RandomSteps: 5_000, LearningStarts: 5_000, UpdateEvery: 1, GradientSteps: 1,
	}
}

// Validate reports the first wrong value, by its key.
func (c Config) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Batch > c.Replay {
		return bounds.Errorf("batch", "is %d, want at most the %d transitions of replay", c.Batch, c.Replay)
	}
	return nil
}

// problem is an environment as networks see it: observations [agents, obs], actions [agents, act] in (−1, 1).
type problem struct {
	kind *envs.Kind
	actor.Spread
	agents, obs, act int
}

func newProblem(s *envs.Spec) (problem, error) {
	k, err := check.Vector(s)
	if err != nil {
		return problem{}, err
	}
	b, ok := k.Action.(envs.Box)
	if !ok {
		return problem{}, fmt.Errorf("%s: actions of %s are %v, want a Box; dqn, ppo and reinforce learn choices", s.ID, k.Name,
			k.Action)
	}
	if b.Width() == 0 {
		return problem{}, fmt.Errorf("%s: actions of %s are %v, want at least one component", s.ID, k.Name, b)
	}
	spread, err := actor.NewSpread(b)
	if err != nil {
		return problem{}, fmt.Errorf("%s: %s: %w", s.ID, k.Name, err)
	}
	return problem{k, spread, k.Agents, k.Observation.Width(), b.Width()}, nil
}

// actorArch is the policy up to its last layer: from the observation to a mean and a number for the standard deviation
// of each component.
func (c *Config) actorArch(p *problem) nets.MLP {
	return nets.MLP{
		Agents: p.agents, Shared: c.Shared, In: []nets.Port{{Name: "observation", Width: p.obs}}, Hidden: c.Hidden,
		Out: 2 * p.act, Activation: c.Activation, Norm: c.Norm,
	}
}

// criticArch is Q, of an agent's own observation and action.
func (c *Config) criticArch(p *problem) nets.MLP {
	a := c.actorArch(p)
	a.In, a.Out = append(a.In, nets.Port{Name: "action", Width: p.act}), 1
	return a
}

// temperatureArch is ln α as a network, so that Adam learns it: its input is 0, and ln α the bias.
func (c *Config) temperatureArch(p *problem) nets.MLP {
	return nets.MLP{
		Agents: p.agents, Shared: c.Shared, In: []nets.Port{{Name: "zero", Width: 1}}, Out: 1, Activation: nets.ReLU,
	}
}

// give writes the environment's actions of the present agents for u in (−1, 1), both [agents, act]; those of absent
// agents become 0, u too.
func (p *problem) give(u, act []float32, active []bool) error {
	for j, here := range active {
		own, out := u[j*p.act:(j+1)*p.act], act[j*p.act:(j+1)*p.act]
		if !here {
			clear(own)
			clear(out)
			continue
		}
		if m := envs.NotFinite(own); m >= 0 {
			return fmt.Errorf("the actor of %s %d gives %g for component %d: training has diverged; "+
				"try a smaller actor_rate and critic_rate, or clip", p.kind.Name, j, own[m], m)
		}
		p.Centred(own, out)
	}
	return nil
}
