package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/machine"
	"github.com/stoker-rl/stoker/nets"
)

// The values of [Config.Mix]: what an agent sees of the other agents. The package comment has a table.
const (
	Attention = nets.Attention
	Mean      = nets.Mean
	Joint     = nets.Joint
	Single    = "single"
	None      = "none"
)

// The values of [Config.Others]: which actions of the other agents the critic sees in the actor step.
const (
	// Auto is Batch with Joint, and Policy with Attention and Mean.
	Auto = "auto"
	// Batch takes the others' actions from replay, as eq. 4 is printed and as MADDPG does.
	Batch = "batch"
	// Policy takes all actions from the present policies, so that an agent's policy also receives gradients from its
	// neighbours' critics. FaaSConf's code does this.
	Policy = "policy"
)

// The values of [Config.Batches]: which minibatch an agent learns from.
const (
	// SharedBatch is one minibatch for all agents.
	SharedBatch = "shared"
	// Independent is a minibatch for each agent, drawn separately, as in the code of Lowe et al. (2017). Only with
	// joint and none.
	Independent = "independent"
)

// Config configures the learner. Steps are environment steps, summed over all copies of the environment.
type Config struct {
	// Mix is what an agent sees of the others: attention, mean, joint, single or none.
	Mix string `yaml:"mix" json:"mix" oneof:"attention|mean|joint|single|none"`
	// Score is how queries and keys become attention weights: exp (eq. 9) or squared (FaaSConf's code). Only with
	// attention.
	Score string `yaml:"score" json:"score" oneof:"exp|squared"`
	// Keys is the width of queries and keys. Only with attention.
	Keys int `yaml:"keys" json:"keys" range:"[1,2^16]"`
	// Shared gives all agents one set of weights, as FaaSConf's code does. By default each agent has its own weights,
	// as in the paper: an observation does not say which function it comes from, so one shared actor can't treat two
	// functions differently.
	Shared bool `yaml:"shared" json:"shared"`
	// Others says which actions of the other agents the critic sees in the actor step: batch takes them from replay,
	// policy from the present policies, auto is batch with joint and policy with attention and mean.
	Others string `yaml:"others" json:"others" oneof:"auto|batch|policy"`

	// Hidden lists the widths of the hidden layers of actor and critic.
	Hidden []int `yaml:"hidden" json:"hidden" range:"[1,]"`
	// Activation of the hidden layers: relu or tanh.
	Activation string `yaml:"activation" json:"activation" oneof:"relu|tanh"`
	// Norm is the normalisation after each hidden activation: empty for none, or layer for layer normalisation.
	Norm string `yaml:"norm" json:"norm" oneof:"layer|"`
	// FinalBound, where positive, draws the actor's last layer from ±FinalBound (DDPG's 0.003). The first actions are
	// then in the middle of the action space, and choices equally likely. 0 draws it as the other layers.
	FinalBound float64 `yaml:"final_bound" json:"final_bound" range:"[0,1e6]"`

	// ActorRate and CriticRate are Adam's learning rates.
	ActorRate  float64 `yaml:"actor_rate" json:"actor_rate" range:"(0,1]"`
	CriticRate float64 `yaml:"critic_rate" json:"critic_rate" range:"(0,1]"`
	// RateFinal is the fraction of both learning rates that is left at the end of training. They fall linearly from the
	// first step; 1 keeps them constant.
	RateFinal float64 `yaml:"rate_final" json:"rate_final" range:"[0,1]"`
	// Clip bounds the gradient norm of each agent's actor and critic; 0 turns clipping off.
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

	// Batch is the size of a minibatch and Replay the capacity of the replay buffer, both in transitions.
	Batch  int `yaml:"batch" json:"batch" range:"[1,2^24]"`
	Replay int `yaml:"replay" json:"replay" range:"[1,2^40]"`
	// Batches says whether all agents learn from one minibatch (shared) or each from its own (independent: MADDPG's
	// code). Independent costs more: each agent's target needs the next actions of all agents in its own minibatch.
	// Only with joint and none.
	Batches string `yaml:"batches" json:"batches" oneof:"shared|independent"`
	// RandomSteps is the number of steps at the beginning with uniformly random actions. Keep it at 0 where all agents
	// must do well together (one starved function makes a workflow late): hardly any random joint action is good, so
	// there is little to learn from.
	RandomSteps int64 `yaml:"random_steps" json:"random_steps" range:"[0,1e18]"`
	// LearningStarts is the number of steps before the first update.
	LearningStarts int64 `yaml:"learning_starts" json:"learning_starts" range:"[0,1e18]"`
	// UpdateEvery is the number of steps between two rounds of updates, GradientSteps the number of updates in each
	// round.
	UpdateEvery   int64 `yaml:"update_every" json:"update_every" range:"[1,1e18]"`
	GradientSteps int   `yaml:"gradient_steps" json:"gradient_steps" range:"[1,1e9]"`

	// Noise is the standard deviation of the normal noise on continuous actions, in units of their range. It falls
	// linearly to NoiseFinal over NoiseSteps steps (0: over the whole training).
	Noise      float64 `yaml:"noise" json:"noise" range:"[0,10]"`
	NoiseFinal float64 `yaml:"noise_final" json:"noise_final" range:"[0,10]"`
	NoiseSteps int64   `yaml:"noise_steps" json:"noise_steps" range:"[0,1e18]"`
	// NoiseLow and NoiseHigh bound actions with noise, within [0, 1]; FaaSConf's code has 0.1 and 0.9.
	NoiseLow  float64 `yaml:"noise_low" json:"noise_low" range:"[0,1)"`
	NoiseHigh float64 `yaml:"noise_high" json:"noise_high" range:"(0,1]"`

	// Temperature is the temperature of the Gumbel-softmax. Only for choices.
	Temperature float64 `yaml:"temperature" json:"temperature" range:"(0,1e6]"`
	// Hard gives critics one-hot choices in the forward pass, with the gradient of the relaxed ones (straight-through).
	Hard bool `yaml:"hard" json:"hard"`
	// LogitPenalty is the coefficient of mean(logits²) in the actor's loss (MADDPG's code). It keeps the softmax of
	// choices from becoming deterministic, and continuous actions away from their bounds, where the sigmoid's gradient
	// vanishes and learning stops.
	LogitPenalty float64 `yaml:"logit_penalty" json:"logit_penalty" range:"[0,1e6]"`

	// Standardise subtracts the running mean from observations and divides by the running standard deviation, per
	// feature and, where each agent has its own weights, per agent. Exported policies keep these statistics frozen.
	Standardise bool `yaml:"standardise" json:"standardise"`
	// ObservationClip bounds standardised observations to ± this value.
	ObservationClip float64 `yaml:"observation_clip" json:"observation_clip" range:"(0,1e9]"`
	// Absent says that agents can be absent (inactive) in some steps. Their rewards, actions and gradients are then
	// zero, an agent that leaves counts as terminated, and losses are still means over the whole batch. Without it an
	// absent agent is an error. Mix single does not need it: its one agent sees zeros for absent agents.
	Absent bool `yaml:"absent" json:"absent"`

	// Safe configures FaaSConf's safe exploration.
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

// Validate reports the first wrong value, by its key.
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
			return bounds.Errorf("mix",
				"is %q, want %s or %s with batches: %s: with other mixes agents see each other, in one shared minibatch",
				c.Mix, Joint, None, c.Batches)
		case c.Others == Policy:
			return bounds.Errorf("others",
				"is %q, want %s with batches: %s: present actions of all agents need one shared minibatch", c.Others, Batch,
				c.Batches)
		case c.Absent:
			return bounds.Errorf("absent",
				"is true, want false with batches: %s: an update knows who is absent in one shared minibatch only", c.Batches)
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

// UpdateSize returns for how many agents' networks an update computes in an environment, and the minibatch size of
// each.
func (c Config) UpdateSize(s *envs.Spec) (agents, batch int) {
	if c.Mix == Single || len(s.Kinds) == 0 {
		return 1, c.Batch
	}
	return s.Kinds[0].Agents, c.Batch
}

// label is the method's short name in results.
func (c Config) label() string {
	return map[string]string{Attention: "attmf", Mean: "mf", Joint: "maddpg", Single: "ddpg", None: "iddpg"}[c.Mix]
}

// othersFromReplay reports whether the actor step takes the other agents' actions from replay.
func (c Config) othersFromReplay() bool {
	switch c.Mix {
	case Single, None:
		return false
	case Joint:
		return c.Others != Policy
	}
	return c.Others == Batch
}

// Needs is about how much memory a learner takes, in bytes.
type Needs struct {
	// Parameters is the number of parameters of actor and critic.
	Parameters int64
	// Weights has for each parameter its value, gradient, two moments of Adam and the target's value.
	Weights int64
	// Replay is the replay buffer once as many steps as planned are in it.
	Replay int64
	// Batch is a minibatch, and what the networks store of it.
	Batch int64
}

// Total is the sum.
func (n Needs) Total() int64 { return n.Weights + n.Replay + n.Batch }

// Needs returns about how much memory the learner takes in an environment when it has planned steps (0: when the replay
// buffer is full). It allocates nothing. The networks' temporary memory depends on the engine and is estimated.
func (c Config) Needs(s *envs.Spec, steps int64) (Needs, error) {
	p, err := newProblem(c.Mix, s)
	if err != nil {
		return Needs{}, err
	}
	var n Needs
	critic := c.criticArch(&p, c.othersFromReplay())
	if c.Batches == Independent && c.Mix == Joint && p.agents > 1 {
		critic = c.separateArch(&p)
	}
	for _, a := range []nets.Arch{c.actorArch(&p, nets.None), critic} {
		groups := int64(p.agents)
		if c.Shared {
			groups = 1
		}
		for _, x := range a.Parameters() {
			size := int64(1)
			for _, d := range x.Shape {
				size *= int64(d)
			}
			n.Parameters += groups * size
		}
	}
	n.Weights = 5 * 4 * n.Parameters
	agents, obs, act := int64(p.agents), int64(p.obs), int64(p.act)
	rows := int64(c.Replay)
	if steps > 0 {
		rows = min(rows, steps)
	}
	n.Replay = 4 * rows * agents * (2*obs + act + 2)
	width := int64(0)
	for _, h := range c.Hidden {
		width += int64(h)
	}
	// Observations, actions and what is mixed of both, before and after; hidden layers of three critics and two actors.
	n.Batch = 4 * agents * int64(c.Batch) * (6*(obs+act) + 5*width)
	return n, nil
}

// checkMemory refuses a learner on the CPU that cannot fit in this machine's memory.
func (c *Config) checkMemory(s *envs.Spec, steps int64, device string) error {
	have := machine.Memory()
	if have == 0 || device != "cpu" {
		return nil
	}
	n, err := c.Needs(s, steps)
	if err != nil || n.Total() <= have {
		return err
	}
	advice := ""
	if !c.Shared {
		shared := *c
		shared.Shared = true
		if with, err := shared.Needs(s, steps); err == nil {
			advice = fmt.Sprintf("; with shared: true it needs %s", gigabytes(with.Total()))
		}
	}
	return fmt.Errorf("maddpg: %d agents with mix: %s need about %s of memory (weights %s for %d parameters, replay %s, "+
		"minibatch %s), and there are %s%s", s.Agents(), c.Mix, gigabytes(n.Total()), gigabytes(n.Weights), n.Parameters,
		gigabytes(n.Replay), gigabytes(n.Batch), gigabytes(have), advice)
}

func gigabytes(n int64) string { return fmt.Sprintf("%.3g GB", float64(n)/1e9) }
