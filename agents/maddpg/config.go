package maddpg

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// Mixes: how an agent sees the others. See the package's table.
const (
	Attention = nets.Attention
	Mean      = nets.Mean
	Joint     = nets.Joint
	Single    = "single"
	None      = "none"
)

// Whose actions the other agents have in the actor step.
const (
	// Auto is Batch with Joint and Policy with Attention and Mean.
	Auto = "auto"
	// Batch leaves the others' actions as replay has them: eq. 4 as printed, and MADDPG's own.
	Batch = "batch"
	// Policy takes all actions from the present policies, so that an agent's action also answers for what its
	// neighbours' critics make of it: what FaaSConf's code does.
	Policy = "policy"
)

// Whose minibatches agents learn from.
const (
	// SharedBatch is one minibatch for all agents.
	SharedBatch = "shared"
	// Independent is one for each, drawn apart, as in the code of Lowe et al. (2017). Only for joint and none.
	Independent = "independent"
)

// Config configures the learner. Steps are environment steps, counted over all copies.
type Config struct {
	// Mix is how an agent sees the others: attention, mean, joint, single or none.
	Mix string `yaml:"mix" json:"mix" oneof:"attention|mean|joint|single|none"`
	// Score turns queries and keys into attention: exp (eq. 9) or squared (FaaSConf's code). Only for attention.
	Score string `yaml:"score" json:"score" oneof:"exp|squared"`
	// Keys is the width of queries and keys. Only for attention.
	Keys int `yaml:"keys" json:"keys" range:"[1,2^16]"`
	// Shared gives all agents one set of weights, as FaaSConf's code does. The default is a set for each, as the paper
	// says: nothing in a function's state says which function it is, so one actor for all can't treat two functions
	// differently.
	Shared bool `yaml:"shared" json:"shared"`
	// Others says whose actions the other agents have in the actor step: auto, batch or policy.
	Others string `yaml:"others" json:"others" oneof:"auto|batch|policy"`

	// Hidden lists the widths of the hidden layers of actor and critic.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`
	// Norm after each hidden activation: empty, or layer for layer normalisation.
	Norm string `yaml:"norm" json:"norm" oneof:"layer|"`
	// FinalBound, where positive, draws the actor's last layer from ±FinalBound (DDPG's 0.003), so that learning begins
	// in the middle of the action space, or with all choices alike. 0 draws it as the other layers.
	FinalBound float64 `yaml:"final_bound" json:"final_bound" range:"[0,1e6]"`

	// ActorRate and CriticRate are Adam's learning rates.
	ActorRate  float64 `yaml:"actor_rate" json:"actor_rate" range:"(0,1]"`
	CriticRate float64 `yaml:"critic_rate" json:"critic_rate" range:"(0,1]"`
	// RateFinal is the share of both learning rates that is left at the end of training; they fall linearly from its
	// beginning.
	RateFinal float64 `yaml:"rate_final" json:"rate_final" range:"[0,1]"`
	// Clip bounds the gradient norm of each agent's actor and critic; 0 leaves gradients as they are.
	Clip float64 `yaml:"clip" json:"clip" range:"[0,1e9]"`
	// Gamma is the discount per step or, with GammaSeconds, per that time.
	Gamma float64 `yaml:"gamma" json:"gamma" range:"[0,1]"`
	// GammaSeconds, where positive, discounts a step of t seconds by Gamma^(t/GammaSeconds), for steps of unequal
	// length.
	GammaSeconds float64 `yaml:"gamma_seconds" json:"gamma_seconds" range:"[0,1e12]"`
	// Tau is the share of the soft target update: θ' ← θ' + Tau·(θ − θ').
	Tau float64 `yaml:"tau" json:"tau" range:"(0,1]"`
	// RewardScale multiplies rewards before learning; metrics and episodes keep the environment's.
	RewardScale float64 `yaml:"reward_scale" json:"reward_scale" range:"(0,1e9]"`

	// Batch is the number of transitions of an update, Replay the most that are kept.
	Batch  int `yaml:"batch" json:"batch" range:"[1,2^24]"`
	Replay int `yaml:"replay" json:"replay" range:"[1,2^40]"`
	// Batches says whether all agents learn from one minibatch (shared) or each from its own (independent: MADDPG's
	// code). The second costs more: each agent's target then needs all agents' next actions in its own minibatch. Only
	// with joint and none.
	Batches string `yaml:"batches" json:"batches" oneof:"shared|independent"`
	// RandomSteps is the number of steps at the beginning with uniformly random actions. Where all agents must do well
	// together (one starved function makes a workflow late), hardly any random action is good, and there is nothing to
	// learn from them.
	RandomSteps int64 `yaml:"random_steps" json:"random_steps" range:"[0,1e18]"`
	// LearningStarts is the number of steps before the first update.
	LearningStarts int64 `yaml:"learning_starts" json:"learning_starts" range:"[0,1e18]"`
	// UpdateEvery is the number of steps between two bouts of learning, GradientSteps the number of updates in each.
	UpdateEvery   int64 `yaml:"update_every" json:"update_every" range:"[1,1e18]"`
	GradientSteps int   `yaml:"gradient_steps" json:"gradient_steps" range:"[1,1e9]"`

	// Noise is the standard deviation of the normal noise on continuous actions, in units of their range, and falls
	// linearly to NoiseFinal over NoiseSteps steps (0: over the whole training).
	Noise      float64 `yaml:"noise" json:"noise" range:"[0,10]"`
	NoiseFinal float64 `yaml:"noise_final" json:"noise_final" range:"[0,10]"`
	NoiseSteps int64   `yaml:"noise_steps" json:"noise_steps" range:"[0,1e18]"`
	// NoiseLow and NoiseHigh bound noisy actions within [0, 1]; FaaSConf's code has 0.1 and 0.9.
	NoiseLow  float64 `yaml:"noise_low" json:"noise_low" range:"[0,1)"`
	NoiseHigh float64 `yaml:"noise_high" json:"noise_high" range:"(0,1]"`

	// Temperature of the Gumbel-softmax. Only for choices.
	Temperature float64 `yaml:"temperature" json:"temperature" range:"(0,1e6]"`
	// Hard gives critics one-hot choices with the gradient of the relaxed ones (straight-through).
	Hard bool `yaml:"hard" json:"hard"`
	// LogitPenalty is the coefficient of mean(logits²) in the actor's loss (MADDPG's code): it keeps choices open, and
	// continuous actions off their bounds, where the sigmoid has no slope and learning would stop.
	LogitPenalty float64 `yaml:"logit_penalty" json:"logit_penalty" range:"[0,1e6]"`

	// Standardise subtracts running means from observations and divides by running deviations, per feature and, where
	// agents have weights of their own, per agent. Policies keep them frozen.
	Standardise bool `yaml:"standardise" json:"standardise"`
	// ObservationClip bounds standardised observations.
	ObservationClip float64 `yaml:"observation_clip" json:"observation_clip" range:"(0,1e9]"`
	// Absent says that agents can be absent (inactive) in some steps. Their rewards, actions and gradients are then
	// zero, an agent that leaves has ended, and losses are still means over the whole batch. Without it an absent agent
	// is an error. With single it isn't needed: the one agent sees zeros.
	Absent bool `yaml:"absent" json:"absent"`

	// Safe is FaaSConf's safe exploration strategy.
	Safe Safe `yaml:"safe" json:"safe"`
}

// Default returns attention mean-field MADDPG as FaaSConf publishes it.
func Default() Config {
	return Config{
		Mix: Attention, Score: nets.Exp, Keys: 32, Others: Auto,
		Hidden: []int{64, 64}, Activation: nets.ReLU, FinalBound: 3e-3,
		ActorRate: 1e-4, CriticRate: 1e-4, RateFinal: 1, Clip: 0.5, Gamma: 0.9, Tau: 0.01, RewardScale: 1,
		Batch: 64, Replay: 100_000, Batches: SharedBatch, RandomSteps: 0, LearningStarts: 1_000, UpdateEvery: 1,
		GradientSteps: 1,
		Noise:         0.1, NoiseFinal: 0.1, NoiseHigh: 1,
		Temperature: 1, Hard: true, LogitPenalty: 1e-3,
		Standardise: true, ObservationClip: 10,
		Safe: defaultSafe(),
	}
}

// Validate says what is wrong with the configuration, naming the key.
func (c Config) Validate() error {
	if err := bounds.Check(&c); err != nil {
		return err
	}
	if c.Others != Auto && (c.Mix == Single || c.Mix == None) {
		return bounds.Errorf("others", "is %q, but with mix: %s no agent sees another's action; want %q", c.Others, c.Mix,
			Auto)
	}
	if c.Batches == Independent {
		switch {
		case c.Mix != Joint && c.Mix != None:
			return bounds.Errorf("mix", "is %q, want %s or %s with batches: %s: else agents see each other in one minibatch",
				c.Mix, Joint, None, c.Batches)
		case c.Others == Policy:
			return bounds.Errorf("others",
				"is %q, want %s with batches: %s: the others' observations would have to be in one minibatch", c.Others, Batch,
				c.Batches)
		case c.Absent:
			return bounds.Errorf("absent", "is true, want false with batches: %s: who was absent is not told apart by minibatch",
				c.Batches)
		}
	}
	if c.NoiseLow >= c.NoiseHigh {
		return bounds.Errorf("noise_high", "is %g, want more than noise_low, %g", c.NoiseHigh, c.NoiseLow)
	}
	if c.Batch > c.Replay {
		return bounds.Errorf("batch", "is %d, want at most the %d transitions of replay", c.Batch, c.Replay)
	}
	return c.Safe.validate()
}

// UpdateSize is how many agents' networks an update works on in an environment, and on how many transitions of each.
func (c Config) UpdateSize(s *envs.Spec) (agents, batch int) {
	if c.Mix == Single || len(s.Kinds) == 0 {
		return 1, c.Batch
	}
	return s.Kinds[0].Agents, c.Batch
}

// label is the method's short name, for results.
func (c Config) label() string {
	return map[string]string{Attention: "attmf", Mean: "mf", Joint: "maddpg", Single: "ddpg", None: "iddpg"}[c.Mix]
}

// othersFromReplay says whether the other agents keep replay's actions in the actor step.
func (c Config) othersFromReplay() bool {
	switch c.Mix {
	case Single, None:
		return false
	case Joint:
		return c.Others != Policy
	}
	return c.Others == Batch
}
