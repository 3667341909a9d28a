package classic

import (
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// BanditConfig describes a bandit with normal rewards.
type BanditConfig struct {
	// Means are the arms' mean rewards.
	Means []float64 `yaml:"means" json:"means" range:"[-1e6,1e6]"`
	// Deviation is that of every arm's reward.
	Deviation float64 `yaml:"deviation" json:"deviation" range:"[0,1e6]"`
}

// DefaultBandit returns two arms, a fifth of a deviation apart from zero each way.
func DefaultBandit() BanditConfig { return BanditConfig{Means: []float64{0.2, -0.2}, Deviation: 1} }

// Validate names the first field that is wrong.
func (c *BanditConfig) Validate() error {
	if len(c.Means) < 2 {
		return bounds.Errorf("means", "has %d arms, want at least 2", len(c.Means))
	}
	return bounds.Check(c)
}

// Gradient is that of the expected reward of the policy softmax(logits), by the logits: π_i·(μ_i − Σ_j π_j·μ_j).
func (c *BanditConfig) Gradient(logits []float64) []float64 {
	top := math.Inf(-1)
	for _, l := range logits {
		top = max(top, l)
	}
	pi, total, mean := make([]float64, len(logits)), 0.0, 0.0
	for i, l := range logits {
		pi[i] = math.Exp(l - top)
		total += pi[i]
	}
	for i := range pi {
		pi[i] /= total
		mean += float64(pi[i] * c.Means[i])
	}
	for i := range pi {
		pi[i] *= c.Means[i] - mean
	}
	return pi
}

// Bandit is a row of arms. An episode is one pull: the world ends with it, and the next seed is another pull. What is
// seen is always 1.
type Bandit struct {
	world
	c BanditConfig
}

// NewBandit returns the environment, which wants Reset.
func NewBandit(c BanditConfig) (*Bandit, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Bandit{c: c, world: newWorld(0, &envs.Spec{
		ID: "stoker/Bandit-v1", Doc: "Pull one arm of several.",
		Kinds: []envs.Kind{{
			Name: "player", Agents: 1, Observation: envs.NewBox(1, 1, 1), Action: envs.Discrete{N: len(c.Means)},
			Features: []string{"one"}, Actions: []string{"arm"}, FeatureUnits: []string{""}, ActionUnits: []string{""},
			FeatureDocs: []string{"always 1: there is nothing to see"}, ActionDocs: []string{"which arm to pull, from 0"},
		}},
		Step: envs.Timing{Unit: "pull"},
		Info: []envs.Quantity{{Name: "regret", Unit: "reward", Better: envs.Lower, Reduce: envs.Sum, Bounds: envs.AtLeast(0),
			Doc: "the best arm's mean less the pulled arm's"}},
	})}, nil
}

// Reset implements [envs.Env].
func (b *Bandit) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := b.refuse(options); err != nil {
		return err
	}
	b.begin(seed)
	b.see(obs)
	return nil
}

func (b *Bandit) see(obs *envs.Observation) {
	k := &obs.Kinds[0]
	k.Values[0], k.Active[0] = 1, true
	for i := range k.Mask {
		k.Mask[i] = true
	}
}

// Step implements [envs.Env].
func (b *Bandit) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := b.admit(act); err != nil {
		return err
	}
	arm := int(act.Kinds[0][0])
	best := b.c.Means[0]
	for _, m := range b.c.Means {
		best = max(best, m)
	}
	mean := b.c.Means[arm]
	out.Rewards[0][0] = float32(mean + float64(b.c.Deviation*b.normal("reward", uint64(arm), 0)))
	out.Info[0] = best - mean
	b.finish(out, true)
	b.see(obs)
	return nil
}
