package nets

import (
	"fmt"
	"math"
	"slices"
)

// Activations of hidden layers.
const (
	ReLU = "relu"
	Tanh = "tanh"
)

// Activations of the last layer: None leaves it linear.
const (
	None    = ""
	Sigmoid = "sigmoid"
	// Tanh is allowed here too.
)

// Norms between a hidden layer's activation and the next layer: NoNorm, or LayerNorm (Ba et al., 2016) with a
// learned gain and offset.
const (
	NoNorm    = ""
	LayerNorm = "layer"
)

// LayerNormEpsilon is added to LayerNorm's variance.
const LayerNormEpsilon = 1e-5

// MLP is a stack of fully connected layers per agent. Its inputs are concatenated in order.
type MLP struct {
	Agents int    `json:"agents" yaml:"agents"`
	Shared bool   `json:"shared,omitempty" yaml:"shared,omitempty"` // one parameter set for all agents
	In     []Port `json:"in" yaml:"in"`
	Hidden []int  `json:"hidden" yaml:"hidden"` // widths of the hidden layers
	Out    int    `json:"out" yaml:"out"`
	// Activation of the hidden layers: ReLU or Tanh.
	Activation string `json:"activation" yaml:"activation"`
	// Norm after each hidden activation: NoNorm or LayerNorm.
	Norm string `json:"norm,omitempty" yaml:"norm,omitempty"`
	// Final is the last layer's activation: None, Sigmoid or Tanh.
	Final string `json:"final,omitempty" yaml:"final,omitempty"`
	// FinalBound, where positive, draws the last layer from ±FinalBound in place of ±1/√in.
	FinalBound float64 `json:"final_bound,omitempty" yaml:"final_bound,omitempty"`
	// OrthogonalGain, where positive, draws orthogonal weights: of the hidden layers with gain √2, of the last one with
	// this gain. Biases are then 0, and FinalBound is not used.
	OrthogonalGain float64 `json:"orthogonal_gain,omitempty" yaml:"orthogonal_gain,omitempty"`
}

// Kind implements [Arch].
func (MLP) Kind() string { return "mlp" }

// AgentCount implements [Arch].
func (m MLP) AgentCount() int { return m.Agents }

// Groups implements [Arch].
func (m MLP) Groups() int {
	if m.Shared {
		return 1
	}
	return m.Agents
}

// Inputs implements [Arch].
func (m MLP) Inputs() []Port { return m.In }

// Output implements [Arch].
func (m MLP) Output() Port { return Port{"out", m.Out} }

// Parameters implements [Arch]: layerN.weight [in, out], layerN.bias [out] and, with LayerNorm, layerN.gain [out] and
// layerN.offset [out] for each hidden layer.
func (m MLP) Parameters() []Param { return m.layers(width(m.In)) }

func (m MLP) layers(in int) []Param {
	var ps []Param
	for i, out := range append(slices.Clone(m.Hidden), m.Out) {
		last := i == len(m.Hidden)
		weight, bias := m.initial(in, last)
		ps = append(ps,
			Param{fmt.Sprintf("layer%d.weight", i), []int{in, out}, weight},
			Param{fmt.Sprintf("layer%d.bias", i), []int{out}, bias})
		if !last && m.Norm == LayerNorm {
			ps = append(ps,
				Param{fmt.Sprintf("layer%d.gain", i), []int{out}, Init{Centre: 1}},
				Param{fmt.Sprintf("layer%d.offset", i), []int{out}, Init{}})
		}
		in = out
	}
	return ps
}

// initial is the distribution of a layer's weights and biases.
func (m MLP) initial(in int, last bool) (weight, bias Init) {
	switch {
	case m.OrthogonalGain > 0 && last:
		return Init{Gain: m.OrthogonalGain}, Init{}
	case m.OrthogonalGain > 0:
		return Init{Gain: math.Sqrt2}, Init{}
	case m.FinalBound > 0 && last:
		return Init{Bound: m.FinalBound}, Init{Bound: m.FinalBound}
	}
	return fanIn(in), fanIn(in)
}

// Validate implements [Arch].
func (m MLP) Validate() error {
	if err := m.validate("mlp"); err != nil {
		return err
	}
	return validateSize("mlp", m.Groups(), m.Parameters())
}

func (m MLP) validate(kind string) error {
	if err := validatePorts(kind, m.Agents, m.In); err != nil {
		return err
	}
	for i, h := range m.Hidden {
		if err := validateWidth(kind, fmt.Sprintf("hidden[%d]", i), h); err != nil {
			return err
		}
	}
	if err := validateWidth(kind, "out", m.Out); err != nil {
		return err
	}
	if err := oneOf(kind, "activation", m.Activation, ReLU, Tanh); err != nil {
		return err
	}
	if err := oneOf(kind, "norm", m.Norm, NoNorm, LayerNorm); err != nil {
		return err
	}
	if err := oneOf(kind, "final", m.Final, None, Sigmoid, Tanh); err != nil {
		return err
	}
	if !(m.FinalBound >= 0) || math.IsInf(m.FinalBound, 0) {
		return fmt.Errorf("nets: %s: final_bound is %g, want 0 or more", kind, m.FinalBound)
	}
	if !(m.OrthogonalGain >= 0) || math.IsInf(m.OrthogonalGain, 0) {
		return fmt.Errorf("nets: %s: orthogonal_gain is %g, want 0 or more", kind, m.OrthogonalGain)
	}
	return nil
}

func oneOf(kind, field, got string, want ...string) error {
	if slices.Contains(want, got) {
		return nil
	}
	return fmt.Errorf("nets: %s: %s is %q, want one of %q", kind, field, got, want)
}
