package nets

import "fmt"

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
