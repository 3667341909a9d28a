package simppo

import (
	"github.com/stoker-rl/stoker/agents/ppo"
	"github.com/stoker-rl/stoker/bounds"
)

// Who learns after weights were taken over from another run.
const (
	// All: every function.
	All = "all"
	// New: only functions that the other run did not know; the others keep their weights bit for bit.
	New = "new"
)

// Config configures the learner.
type Config struct {
	// Learn says which functions learn where a run begins with another run's weights (--init-from): all, or new, which are
	// those that the other run did not know.
	Learn string `yaml:"learn" json:"learn" oneof:"all|new"`

	// Hidden lists the widths of the hidden layers, of the policy and of the value.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`
	// Rollout is the number of steps of each copy of the environment between two updates.
	Rollout int `yaml:"rollout" json:"rollout" range:"[1,2^24]"`
	// Epochs is how often an update goes through the rollout, in Minibatches parts of equal size, shuffled each time.
	Epochs      int `yaml:"epochs" json:"epochs" range:"[1,2^20]"`
	Minibatches int `yaml:"minibatches" json:"minibatches" range:"[1,2^24]"`
	// Lambda is λ of generalised advantage estimation, Gamma the discount per step.
	Lambda float64 `yaml:"lambda" json:"lambda" range:"[0,1]"`
	Gamma  float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// RewardScale multiplies rewards before learning.
	RewardScale float64 `yaml:"reward_scale" json:"reward_scale" range:"(0,1e9]"`
	// ClipRange is ε: the ratio π/π_old has no gradient where it is beyond 1 ± ε and would go on.
	ClipRange float64 `yaml:"clip_range" json:"clip_range" range:"(0,1e6]"`
	// Entropy is the coefficient of the policy's entropy in what is maximised.
	Entropy float64 `yaml:"entropy" json:"entropy" range:"[0,1e6]"`
	// Rate is Adam's learning rate. Anneal is the fraction of it that is gone at the end of the planned training.
	Rate   float64 `yaml:"rate" json:"rate" range:"(0,1]"`
	Anneal float64 `yaml:"anneal" json:"anneal" range:"[0,1]"`
	// Clip bounds the norm of each network's gradient; 0 does not clip.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`
	// LogStd is the initial logarithm of the deviation of continuous actions, in halves of their range.
	LogStd float64 `yaml:"log_std" json:"log_std" range:"[-20,10]"`
}

// Default returns the rates and sizes of SIMPPO as FaaSConf's reconstruction has them.
func Default() Config {
	return Config{
		Learn: All, Hidden: []int{64, 64}, Activation: "tanh", Rollout: 128, Epochs: 10, Minibatches: 4, Lambda: 0.95,
		Gamma: 0.99, RewardScale: 1, ClipRange: 0.2, Entropy: 0.01, Rate: 3e-4, Clip: 0.5, LogStd: -1,
	}
}

// Validate says what is wrong with the configuration, naming the key.
func (c Config) Validate() error { return bounds.Check(&c) }

// ppo is the learner inside.
func (c Config) ppo() ppo.Config {
	p := ppo.Default()
	p.Shared, p.Mix, p.ValueClip = false, ppo.Mean, false
	p.Hidden, p.Activation = c.Hidden, c.Activation
	p.Rollout, p.Epochs, p.Minibatches, p.Lambda, p.Gamma = c.Rollout, c.Epochs, c.Minibatches, c.Lambda, c.Gamma
	p.RewardScale, p.ClipRange, p.Entropy = c.RewardScale, c.ClipRange, c.Entropy
	p.Rate, p.Anneal, p.Clip, p.LogStd = c.Rate, c.Anneal, c.Clip, c.LogStd
	return p
}
