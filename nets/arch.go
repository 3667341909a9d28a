package nets

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/stoker-rl/stoker/rng"
)

// Arch describes a network: a plain value, comparable by its encoding, that a checkpoint stores. The kinds are
// [MLP], [MeanField], [GumbelSoftmax], [SquashedGaussian], [SoftValue] and [Graph]; an engine refuses those that it
// doesn't build, by name.
type Arch interface {
	// Kind is the name under which [EncodeArch] stores the description.
	Kind() string
	// AgentCount is the leading dimension of inputs and outputs.
	AgentCount() int
	// Groups is the number of parameter sets: one per agent, or 1 where all agents share theirs.
	Groups() int
	// Inputs names what Forward takes, in order.
	Inputs() []Port
	// Output is what Forward gives.
	Output() Port
	// Parameters lists one group's parameters in the order in which they are stored.
	Parameters() []Param
	// Validate says what is wrong with the description, naming the field.
	Validate() error
}

// Port is one input or the output of a network: a tensor of [agents, batch, Width].
type Port struct {
	Name  string `json:"name" yaml:"name"`
	Width int    `json:"width" yaml:"width"`
}

// Param is one parameter tensor of a group.
type Param struct {
	// Name is unique within the network, for example "layer0.weight".
	Name string
	// Shape is [in, out] for weights and [out] for biases.
	Shape []int
	// Init is the distribution of its initial values.
	Init Init
}

// Size returns the number of values.
func (p Param) Size() int { return product(p.Shape) }

// Init is a distribution of initial values: uniform in Centre ± Bound or, where Gain is positive, a random matrix with
// orthonormal rows or columns, whichever are fewer, times Gain (Saxe et al., 2014).
type Init struct{ Centre, Bound, Gain float64 }

// fanIn is PyTorch's distribution for linear layers, weights and biases alike: uniform in ±1/√in.
func fanIn(in int) Init { return Init{Bound: 1 / math.Sqrt(float64(in))} }

// Slot says where a parameter lies in a group: values [Offset, Offset+Size).
type Slot struct {
	Param
	Offset int
}

// Layout returns the slots of one group in order, and the group's size. The flat parameters of a
// network are [Groups, size], row-major; every engine uses this order.
func Layout(a Arch) (slots []Slot, size int) {
	for _, p := range a.Parameters() {
		slots = append(slots, Slot{p, size})
		size += p.Size()
	}
	return slots, size
}

// InitialParams draws the parameters of a network, [Groups × size]. Every group and parameter has its own
// draws, so that adding an agent or a layer leaves the others' values as they were.
func InitialParams(a Arch, key rng.Key) []float32 {
	slots, size := Layout(a)
	out := make([]float32, a.Groups()*size)
	for g := range a.Groups() {
		for i, s := range slots {
			k := key.With(uint64(g)).With(uint64(i))
			p := out[g*size+s.Offset:][:s.Size()]
			if s.Init.Gain > 0 {
				orthogonal(p, s.Shape[0], s.Shape[1], s.Init.Gain, k)
				continue
			}
			for j := range p {
				p[j] = float32(s.Init.Centre + s.Init.Bound*(2*k.With(uint64(j)).Float64()-1))
			}
		}
	}
	return out
}

// orthogonal draws a matrix [rows, columns], row-major, into p: standard normal numbers whose shorter dimension's vectors
// are made orthonormal, times gain. Products are rounded before they are added, so that all architectures give the same
// bits.
func orthogonal(p []float32, rows, columns int, gain float64, key rng.Key) {
	count, length := rows, columns // of the vectors
	at := func(i, j int) int { return i*columns + j }
	if rows > columns {
		count, length = columns, rows
		at = func(i, j int) int { return j*columns + i }
	}
	vectors := make([][]float64, count)
	for i := range vectors {
		v := make([]float64, length)
		for j := range v {
			v[j] = key.With(uint64(at(i, j))).Norm()
		}
		for range 2 { // once leaves rounding errors along the others where v hardly differs from them
			for _, u := range vectors[:i] {
				along := dot(u, v)
				for j := range v {
					v[j] -= float64(along * u[j])
				}
			}
		}
		norm := math.Sqrt(dot(v, v))
		for j := range v {
			v[j] /= norm
			p[at(i, j)] = float32(gain * v[j])
		}
		vectors[i] = v
	}
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += float64(x[i] * y[i])
	}
	return sum
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// width is the sum of the ports' widths: the features of one agent once concatenated.
func width(ports []Port) int {
	w := 0
	for _, p := range ports {
		w += p.Width
	}
	return w
}

// maxWidth bounds agents and widths, and maxParams a network: a larger description is refused.
const (
	maxWidth  = 1 << 24
	maxParams = 1 << 30
)

func validateWidth(kind, field string, n int) error {
	if n < 1 || n > maxWidth {
		return fmt.Errorf("nets: %s: %s is %d, want 1 to %d", kind, field, n, maxWidth)
	}
	return nil
}

// validateSize bounds the number of parameters; in floating point, so that it can't overflow.
func validateSize(kind string, groups int, ps []Param) error {
	total := 0.0
	for _, p := range ps {
		n := float64(groups)
		for _, d := range p.Shape {
			n *= float64(d)
		}
		total += n
	}
	if total > maxParams {
		return fmt.Errorf("nets: %s: %g parameters, want at most %d", kind, total, maxParams)
	}
	return nil
}

func validatePorts(kind string, agents int, in []Port) error {
	if err := validateWidth(kind, "agents", agents); err != nil {
		return err
	}
	if len(in) == 0 {
		return fmt.Errorf("nets: %s: in is empty, want at least one input", kind)
	}
	for i, p := range in {
		if err := validateWidth(kind, fmt.Sprintf("in[%d].width (%q)", i, p.Name), p.Width); err != nil {
			return err
		}
	}
	return nil
}

// EncodeArch returns the description as JSON with its kind: {"kind": "mlp", "arch": {…}}.
func EncodeArch(a Arch) ([]byte, error) {
	if a == nil {
		return nil, errors.New("nets: no architecture to encode")
	}
	return json.Marshal(struct {
		Kind string `json:"kind"`
		Arch Arch   `json:"arch"`
	}{a.Kind(), a})
}

// DecodeArch reads a description written by EncodeArch and validates it. Unknown kinds and fields are errors.
func DecodeArch(b []byte) (Arch, error) {
	var env struct {
		Kind string          `json:"kind"`
		Arch json.RawMessage `json:"arch"`
	}
	if err := strict(b, &env); err != nil {
		return nil, fmt.Errorf("nets: architecture: %w", err)
	}
	switch env.Kind {
	case MLP{}.Kind():
		return decodeInto[MLP](env.Arch)
	case MeanField{}.Kind():
		return decodeInto[MeanField](env.Arch)
	case GumbelSoftmax{}.Kind():
		return decodeInto[GumbelSoftmax](env.Arch)
	case SquashedGaussian{}.Kind():
		return decodeInto[SquashedGaussian](env.Arch)
	case SoftValue{}.Kind():
		return decodeInto[SoftValue](env.Arch)
	case Graph{}.Kind():
		return decodeInto[Graph](env.Arch)
	}
	return nil, fmt.Errorf("nets: architecture kind %q is not known to this version", env.Kind)
}

func decodeInto[A Arch](b []byte) (Arch, error) {
	var a A
	if err := strict(b, &a); err != nil {
		return nil, fmt.Errorf("nets: architecture %s: %w", a.Kind(), err)
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	return a, nil
}

// strict decodes exactly one JSON value whose fields are all known.
func strict(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err == io.EOF {
		return errors.New("nothing here, want a JSON object")
	} else if err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more follows after the JSON object")
	}
	return nil
}
