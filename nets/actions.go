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

// Bounds of a squashed Gaussian's logarithm of the standard deviation.
const (
	LogStdMin = -5
	LogStdMax = 2
)

// SquashedGaussian is the policy's last layer in soft actor-critic (Haarnoja et al., 2018b, appendix C): a normal law
// squashed by tanh to (−1, 1). Its inputs are the mean µ and a number r for each component of the action, and noise ε
// that the caller draws from the standard normal law; with zeros the action is tanh µ.
//
//	ln σ = LogStdMin + ½(LogStdMax − LogStdMin)(1 + tanh r),  u = µ + σε,  a = tanh u
//	ln π(a) = Σ [−½ε² − ln σ − ½ ln 2π − ln(1 − tanh² u)]
//
// The output is the action a or, with LogProb, ln π(a) as one number. Two layers on the same inputs give both. It has no
// parameters. ln π is that of the action in (−1, 1), before it is scaled to an environment's bounds.
type SquashedGaussian struct {
	Agents  int  `json:"agents" yaml:"agents"`
	Actions int  `json:"actions" yaml:"actions"` // components of an action
	LogProb bool `json:"log_prob,omitempty" yaml:"log_prob,omitempty"`
}

// Kind implements [Arch].
func (SquashedGaussian) Kind() string { return "squashed-gaussian" }

// AgentCount implements [Arch].
func (g SquashedGaussian) AgentCount() int { return g.Agents }

// Groups implements [Arch].
func (SquashedGaussian) Groups() int { return 1 }

// Inputs implements [Arch]: the means of all components followed by their r, and noise.
func (g SquashedGaussian) Inputs() []Port {
	return []Port{{"moments", 2 * g.Actions}, {"noise", g.Actions}}
}

// Output implements [Arch].
func (g SquashedGaussian) Output() Port {
	if g.LogProb {
		return Port{"log-prob", 1}
	}
	return Port{"action", g.Actions}
}

// Parameters implements [Arch]: none.
func (SquashedGaussian) Parameters() []Param { return nil }

// Validate implements [Arch].
func (g SquashedGaussian) Validate() error {
	if err := validateWidth(g.Kind(), "agents", g.Agents); err != nil {
		return err
	}
	if err := validateWidth(g.Kind(), "actions", g.Actions); err != nil {
		return err
	}
	if g.Actions > maxWidth/2 {
		return fmt.Errorf("nets: %s: actions is %d, want at most %d", g.Kind(), g.Actions, maxWidth/2)
	}
	return nil
}

// SoftValue is the value of an action with its entropy, as two critics see it (Haarnoja et al., 2018b, eqs. 3 and 5):
//
//	v = min(q1, q2) − e^(ln α)·ln π
//
// Its mean over actions of the policy is what the policy maximises; of the target critics at the next state it is what
// the critics' target discounts. The gradient goes to the smaller critic (the first of equal ones), to ln π and to ln α.
// It has no parameters.
type SoftValue struct {
	Agents int `json:"agents" yaml:"agents"`
}

// Kind implements [Arch].
func (SoftValue) Kind() string { return "soft-value" }

// AgentCount implements [Arch].
func (v SoftValue) AgentCount() int { return v.Agents }

// Groups implements [Arch].
func (SoftValue) Groups() int { return 1 }

// Inputs implements [Arch].
func (SoftValue) Inputs() []Port {
	return []Port{{"q1", 1}, {"q2", 1}, {"log-prob", 1}, {"log-alpha", 1}}
}

// Output implements [Arch].
func (SoftValue) Output() Port { return Port{"value", 1} }

// Parameters implements [Arch]: none.
func (SoftValue) Parameters() []Param { return nil }

// Validate implements [Arch].
func (v SoftValue) Validate() error { return validateWidth(v.Kind(), "agents", v.Agents) }
