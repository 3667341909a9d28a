package variants

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/variants"
)

// LinearConfig configures [Linear].
type LinearConfig struct {
	// File is one that stoker search linear wrote; its numbers take the place of weights.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Weights are those of an option's features, in the order in which stoker envs lists them. Empty takes the numbers
	// that come with Stoker.
	Weights []float64 `yaml:"weights,omitempty" json:"weights,omitempty" range:"[-1e6,1e6]"`
}

// DefaultLinear returns the numbers that come with Stoker.
func DefaultLinear() LinearConfig { return LinearConfig{} }

// found are the weights that come with Stoker: of the plan that the environment has, the option with the least loss.
var found = map[string]float64{"objective": -1, "edge": -1}

// Linear chooses the legal option with the largest weighted sum of its features: what a few numbers can do that
// cross-entropy search finds ([LinearSpace]). It has no state.
type Linear struct {
	kept.Policy
	weights []float64
}

// NewLinear returns a policy for environments such as env.
func NewLinear(c LinearConfig, env envs.Env) (*Linear, error) {
	names, err := offered(env)
	if err != nil {
		return nil, err
	}
	if err := bounds.Check(&c); err != nil {
		return nil, err
	}
	switch {
	case c.File != "" && len(c.Weights) > 0:
		return nil, bounds.Errorf("weights", "has %d numbers beside a file, want one of both", len(c.Weights))
	case c.File != "":
		read, err := crossentropy.Read[LinearConfig]("linear", c.File)
		if err != nil {
			return nil, err
		}
		c.Weights = read.Weights
	case len(c.Weights) == 0:
		for _, f := range names {
			c.Weights = append(c.Weights, found[f])
		}
	}
	if len(c.Weights) != len(names) {
		return nil, bounds.Errorf("weights", "has %d numbers, want %d: %v", len(c.Weights), len(names), names)
	}
	l := &Linear{weights: c.Weights}
	l.Policy = kept.As("linear", l)
	return l, nil
}

// offered lists the features of an option.
func offered(env envs.Env) (names []string, err error) {
	g, ok := env.Spec().Kinds[0].Observation.(envs.Graph)
	if !ok || len(g.Nodes) <= variants.OptionNode {
		return nil, fmt.Errorf("linear: acts in %s only, not in %s", variants.EachID, env.Spec().ID)
	}
	names, _, _ = envs.Columns(g.Nodes[variants.OptionNode].Features)
	return names, nil
}

// LinearSpace says which numbers a search tries.
func LinearSpace(c LinearConfig, env envs.Env) (*crossentropy.Space, error) {
	names, err := offered(env)
	if err != nil {
		return nil, err
	}
	l, err := NewLinear(c, env)
	if err != nil {
		return nil, err
	}
	s := &crossentropy.Space{Names: names, Start: l.weights, Config: func(x []float64) any {
		return &LinearConfig{Weights: append([]float64(nil), x...)}
	}}
	for range names {
		s.Spread, s.Low, s.High = append(s.Spread, 0.5), append(s.Low, -20), append(s.High, 20)
	}
	return s, nil
}

// Act implements [envs.Policy].
func (l *Linear) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	k := &obs.Kinds[0]
	if !k.Active[0] {
		return nil
	}
	n := &k.Graphs[0].Nodes[variants.OptionNode]
	best, most := -1, 0.0
	for i := range n.Len {
		if len(k.Mask) > 0 && !k.Mask[i] {
			continue
		}
		var sum float64
		for j, w := range l.weights {
			sum += float64(w * float64(n.Features[i*len(l.weights)+j]))
		}
		if best < 0 || sum > most {
			best, most = i, sum
		}
	}
	if best < 0 {
		return fmt.Errorf("linear: there is no legal option")
	}
	act.Kinds[0][0] = float32(best)
	return nil
}
