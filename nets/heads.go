package nets

import (
	"fmt"
	"math"
)

// GumbelSoftmax turns logits into a relaxed one-hot choice (Jang et al., 2017):
//
//	y = softmax((logits + noise)/Temperature)
//
// per segment, with noise drawn by the caller from the standard Gumbel distribution, −ln(−ln u); with zeros it is a
// plain softmax. It has no parameters. With Hard the output is one-hot (the first largest y) and the gradient is that
// of the relaxed y (straight-through).
type GumbelSoftmax struct {
	Agents      int     `json:"agents" yaml:"agents"`
	Segments    []int   `json:"segments" yaml:"segments"` // number of choices of each component: one for Discrete
	Temperature float64 `json:"temperature" yaml:"temperature"`
	Hard        bool    `json:"hard,omitempty" yaml:"hard,omitempty"`
}

// Kind implements [Arch].
func (GumbelSoftmax) Kind() string { return "gumbel-softmax" }

// AgentCount implements [Arch].
func (g GumbelSoftmax) AgentCount() int { return g.Agents }

// Groups implements [Arch].
func (g GumbelSoftmax) Groups() int { return 1 }

// Width is the total number of choices.
func (g GumbelSoftmax) Width() int {
	w := 0
	for _, n := range g.Segments {
		w += n
	}
	return w
}

// Inputs implements [Arch]: logits and noise.
func (g GumbelSoftmax) Inputs() []Port { return []Port{{"logits", g.Width()}, {"noise", g.Width()}} }

// Output implements [Arch].
func (g GumbelSoftmax) Output() Port { return Port{"choice", g.Width()} }

// Parameters implements [Arch]: none.
func (g GumbelSoftmax) Parameters() []Param { return nil }

// Validate implements [Arch].
func (g GumbelSoftmax) Validate() error {
	if err := validateWidth("gumbel-softmax", "agents", g.Agents); err != nil {
		return err
	}
	if len(g.Segments) == 0 {
		return fmt.Errorf("nets: gumbel-softmax: segments is empty, want the number of choices of each component")
	}
	for i, n := range g.Segments {
		if err := validateWidth("gumbel-softmax", fmt.Sprintf("segments[%d]", i), n); err != nil {
			return err
		}
	}
	if !(g.Temperature > 0) || math.IsInf(g.Temperature, 0) {
		return fmt.Errorf("nets: gumbel-softmax: temperature is %g, want more than 0", g.Temperature)
	}
	return nil
}
