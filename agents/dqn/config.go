package dqn

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/nets"
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
