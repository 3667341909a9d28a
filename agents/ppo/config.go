package ppo

import (
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/nets"
)

// How a continuous component stays within its bounds.
const (
	// Clip cuts what was drawn: the action is min(max(u, −1), 1), stretched to the bounds.
	Clip = "clip"
	// Squash takes tanh(u), stretched to the bounds.
	Squash = "tanh"
)

// What an agent sees of the others of its kind.
const (
	// None: nothing.
	None = "none"
	// Mean: the mean of what they see (mean-field PPO). Where an observation holds the agent's last action, this is the
	// mean of their actions too.
	Mean = "mean"
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
