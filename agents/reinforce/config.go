package reinforce

import (
	"github.com/stoker-rl/stoker/agents/graphs"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/nets"
)

// Baseline names what is subtracted from the return.
type Baseline string

// The baselines.
const (
	// Value is a learned value of the state.
	Value Baseline = "value"
	// Sequence is the mean return from the same step on, over the update's episodes of the same sequence. Episodes that
	// have ended count as 0 (DeepRM). An environment whose episodes recur says which one it is in by a method Set()
	// int; without it all episodes are of one sequence.
	Sequence Baseline = "sequence"
	// Counterfactual is what a rule would have earned in the choice's place, on a copy that meets the same future.
	Counterfactual Baseline = "counterfactual"
	// None subtracts nothing.
	None Baseline = "none"
)

// UnmarshalText reads a name in a configuration. Earlier versions spelled counterfactual twin.
func (b *Baseline) UnmarshalText(text []byte) error {
	if *b = Baseline(text); *b == "twin" {
		*b = Counterfactual
	}
	return nil
}

// Config configures the learner.
type Config struct {
	// Hidden lists the widths of the hidden layers, of the policy and of the value.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`
	// FinalBound, where positive, draws the policy's last layer from ±FinalBound: all choices are then about as likely
	// at the beginning.
	FinalBound float64 `yaml:"final_bound" json:"final_bound" range:"[0,1e6]"`
	// Graph describes the networks where agents see a graph; hidden and activation are then not used.
	Graph graphs.Net `yaml:"graph" json:"graph"`

	// Baseline is value, sequence, counterfactual or none. The old spelling twin is read as counterfactual.
	Baseline Baseline `yaml:"baseline" json:"baseline" oneof:"value|sequence|counterfactual|none"`
	// Lambda is λ of the λ-return: 1 is the Monte Carlo return, 0 the target of TD(0). Less than 1 needs a value.
	Lambda float64 `yaml:"lambda" json:"lambda" range:"[0,1]"`
	// Gamma is the discount per step or, with GammaSeconds, per that time.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// GammaSeconds, where positive, discounts a step of t seconds by Gamma^(t/GammaSeconds): for steps of unequal
	// length.
	GammaSeconds float64 `yaml:"gamma_seconds" json:"gamma_seconds" range:"[0,1e12]"`
	// RewardScale multiplies rewards before learning; metrics and episodes keep the environment's.
	RewardScale float64 `yaml:"reward_scale" json:"reward_scale" range:"(0,1e9]"`
	// Standardise subtracts the mean of an update's advantages and divides by their deviation. Near the optimum this
	// scales noise up.
	Standardise bool `yaml:"standardise" json:"standardise"`
	// Entropy is the coefficient of the policy's entropy in what is maximised.
	Entropy float64 `yaml:"entropy" json:"entropy" range:"[0,1e6]"`

	// Episodes is the number of finished trajectories in an update.
	Episodes int `yaml:"episodes" json:"episodes" range:"[1,2^24]"`
	// Rounds makes every environment of train.envs play one whole episode with the same policy before each update, which
	// learns from all of them: episodes is not used. Workers of a farm can play parts of a round (stoker train
	// --rollouts).
	Rounds bool `yaml:"rounds,omitempty" json:"rounds,omitempty"`
	// Cut, where positive, ends a trajectory after that many steps and bootstraps from the value, so it needs one. 0
	// waits for the end of the episode.
	Cut int `yaml:"cut" json:"cut" range:"[0,2^40]"`
	// Rate and ValueRate are Adam's learning rates. Clip bounds the norm of each network's gradient; 0 does not clip.
	Rate      float64 `yaml:"rate" json:"rate" range:"(0,1]"`
	ValueRate float64 `yaml:"value_rate" json:"value_rate" range:"(0,1]"`
	Clip      float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`
	// Anneal is the fraction of both rates that is gone at the end of the planned training; they fall linearly. 0 keeps
	// them.
	Anneal float64 `yaml:"anneal" json:"anneal" range:"[0,1]"`
	// ValueUpdates is the number of gradient steps of the value per update; the policy takes one.
	ValueUpdates int `yaml:"value_updates" json:"value_updates" range:"[1,2^20]"`
	// Rows is the number of steps in one forward pass. It changes speed and rounding, not what is computed.
	Rows int `yaml:"rows" json:"rows" range:"[1,2^20]"`

	// TargetTau, where positive, takes the values of next states from a target network, θ' ← θ' + TargetTau·(θ − θ')
	// after each update. 0 takes them from the value itself.
	TargetTau float64 `yaml:"target_tau" json:"target_tau" range:"[0,1]"`
	// Replay adds old trajectories to updates.
	Replay Replay `yaml:"replay" json:"replay"`
	// Twin is the rule of baseline: counterfactual.
	Twin Rule `yaml:"twin" json:"twin"`
	// Imitate begins with supervised learning from another policy.
	Imitate Imitate `yaml:"imitate" json:"imitate"`
}

// Rule is the policy that choices are compared with, and that acts after them on the copies.
type Rule struct {
	// Policy is its name among the baselines, such as sjf, with its defaults.
	Policy string `yaml:"policy" json:"policy"`
	// Seconds is how long the copies are followed after a choice, in time of the environment.
	Seconds float64 `yaml:"seconds" json:"seconds" range:"(0,1e9]"`
}

// Imitate is supervised learning before reinforcement learning. A policy that is not learned plays the episodes that
// begin within the first Steps environment steps. The policy network learns to do the same (cross-entropy: an advantage
// of 1 for every action taken), the value network learns the returns.
type Imitate struct {
	// Policy is its name among the baselines, such as sjf, with its defaults. Empty imitates none.
	Policy string `yaml:"policy" json:"policy"`
	// Steps over all copies.
	Steps int64 `yaml:"steps" json:"steps" range:"[0,2^50]"`
	// Episodes and Rate, where positive, replace the learner's own while it imitates: a teacher's actions have little
	// noise, so that smaller batches and larger steps suit.
	Episodes int     `yaml:"episodes" json:"episodes" range:"[0,2^24]"`
	Rate     float64 `yaml:"rate" json:"rate" range:"[0,1]"`
	// Epochs is how often the policy learns from each batch while it imitates; 0 is once.
	Epochs int `yaml:"epochs" json:"epochs" range:"[0,2^20]"`
}

// Replay is importance-weighted replay of trajectories. It is off by default: the weight of an old trajectory is a
// product over its steps, soon near 0 or cut at Cap, so replay adds variance or bias.
type Replay struct {
	// Trajectories is the number of last trajectories kept; 0 keeps none, which is on-policy.
	Trajectories int `yaml:"trajectories" json:"trajectories" range:"[0,2^24]"`
	// Draw is how many of them, drawn uniformly, each update adds to its own.
	Draw int `yaml:"draw" json:"draw" range:"[1,2^24]"`
	// Cap bounds a trajectory's weight Π π(a|s)/π_old(a|s).
	Cap float64 `yaml:"cap" json:"cap" range:"(0,1e9]"`
}

// Default returns on-policy REINFORCE with a learned value by TD(λ).
func Default() Config {
	return Config{
		Hidden: []int{64, 64}, Activation: nets.Tanh, FinalBound: 0.01, Graph: graphs.DefaultNet(),
		Baseline: Value, Lambda: 0.95, Gamma: 0.99, RewardScale: 1, Entropy: 0.01,
		Episodes: 8, Rate: 1e-3, ValueRate: 1e-3, Clip: 0.5, ValueUpdates: 4, Rows: 256,
		Replay: Replay{Draw: 8, Cap: 2}, Twin: Rule{Seconds: 20},
	}
}

// InRounds reports whether the learner learns in rounds: see [agents.Rounds].
func (c Config) InRounds() bool { return c.Rounds }

// Validate says what is wrong with the configuration, naming the key.
func (c Config) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Imitate.Policy == "" && c.Imitate.Steps > 0 {
		return bounds.Errorf("imitate.steps", "is %d, want 0 without imitate.policy", c.Imitate.Steps)
	}
	if (c.Baseline == Counterfactual) != (c.Twin.Policy != "") {
		return bounds.Errorf("twin.policy", "is %q with baseline: %s, want a rule where the baseline is %s and nowhere else",
			c.Twin.Policy, c.Baseline, Counterfactual)
	}
	switch {
	case c.Rounds && c.Imitate.Policy != "":
		return bounds.Errorf("rounds", "is true with imitate.policy: %s, want false: a teacher's episodes are not played in rounds",
			c.Imitate.Policy)
	case c.Rounds && c.Cut > 0:
		return bounds.Errorf("cut", "is %d with rounds: true, want 0: a round has whole episodes", c.Cut)
	case c.Baseline == Value:
		return nil
	}
	switch {
	case c.Lambda < 1:
		return bounds.Errorf("lambda", "is %g, want 1 with baseline: %s, which has no value to bootstrap from",
			c.Lambda, c.Baseline)
	case c.Cut > 0 && c.Baseline != Counterfactual:
		return bounds.Errorf("cut", "is %d, want 0 with baseline: %s, which has no value to bootstrap from", c.Cut,
			c.Baseline)
	case c.TargetTau > 0:
		return bounds.Errorf("target_tau", "is %g, want 0 with baseline: %s, which has no value", c.TargetTau, c.Baseline)
	}
	return nil
}
