// Package tensors says how what a policy sees and does stands in the tensors of an inference request, and reads and
// writes them. The names and shapes are those of the exported ONNX model, so that one client can ask either:
//
//	observation  FP32 [B, agents, features]
//	active       BOOL [B, agents]            optional: all are present
//	mask         BOOL [B, agents, choices]   optional: all are legal
//	action       FP32 [B, agents, components]
//
// Where there are several kinds of agents, each name begins with the kind, as in shop.observation. A graph stands in
// node.KIND FP32 [n, features], edge.KIND.index INT64 [2, e] and edge.KIND.features FP32 [e, features]; then B is 1.
package tensors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/serving/internal/wire"
)

// Info describes a tensor. A size of −1 is the batch, or the number of nodes or edges.
type Info struct {
	Name     string
	Type     string
	Shape    []int64
	Optional bool
}

// role is what an input holds.
type role int

const (
	values role = iota
	active
	mask
	nodes
	index
	features
	starts  // legal.invocation
	amounts // legal.amount
	fits    // legal.node
)

// input is an input tensor: of kind, and of graphs the kind of nodes or edges.
type input struct {
	Info
	role       role
	kind, part int
}

// Layout is the tensors of a policy. It does not change, and serves any number of goroutines.
type Layout struct {
	spec    *envs.Spec
	units   Units // nil where actions are in the platform's units already
	inputs  []input
	outputs []output
	byName  map[string]int
	choices [][]int // of each kind's action components
	single  bool    // batches have one row: graphs have no fixed size
	row     int64   // about the bytes that a row of a batch takes, with its response
}

// Units turns the actions of a policy into the platform's units.
type Units interface {
	// Columns is the number of the platform's numbers for an agent of a kind, 0 where actions are in its units already.
	Columns(kind int) int
	// Decode writes the numbers of a kind's agents, [agents, columns].
	Decode(kind int, act *envs.Action, to []float32) error
}

// New returns the layout of what a spec describes; units may be nil. A legality table of an environment that is not
// known here is an error, because the meaning of its numbers is unknown.
func New(spec *envs.Spec, units Units) (*Layout, error) {
	l := &Layout{spec: spec, units: units, byName: map[string]int{}}
	for i := range spec.Kinds {
		k := &spec.Kinds[i]
		prefix := ""
		if len(spec.Kinds) > 1 {
			prefix = k.Name + "."
		}
		l.choices = append(l.choices, envs.Choices(k.Action))
		if g, ok := k.Observation.(envs.Graph); ok {
			if k.Agents != 1 {
				return nil, fmt.Errorf("kind %q has %d agents that see a graph each, want one", k.Name, k.Agents)
			}
			l.single = true
			l.graph(i, prefix, g)
		} else {
			l.add(i, values, 0, Info{Name: prefix + "observation", Type: wire.Float32,
				Shape: []int64{-1, int64(k.Agents), int64(k.Observation.Width())}})
		}
		if k.Legal > 0 {
			if err := l.legal(i, prefix); err != nil {
				return nil, err
			}
		}
		if l.graphs(i) {
			continue // its one agent is always there, and its masks are in the legality table or open
		}
		l.add(i, active, 0, Info{Name: prefix + "active", Type: wire.Bool, Shape: []int64{-1, int64(k.Agents)},
			Optional: true})
		if w := k.Action.MaskWidth(); w > 0 {
			l.add(i, mask, 0, Info{Name: prefix + "mask", Type: wire.Bool, Shape: []int64{-1, int64(k.Agents), int64(w)},
				Optional: true})
		}
	}
	l.addOutputs()
	l.row = l.rowBytes()
	return l, nil
}

// rowBytes is about what a row takes: numbers of four bytes, masks, and outputs as text of up to 16 bytes a number.
func (l *Layout) rowBytes() int64 {
	const headers, digits = 512, 16
	n := headers
	for i := range l.spec.Kinds {
		k := &l.spec.Kinds[i]
		n += headers + k.Legal + k.Agents*(1+4*k.Observation.Width()+k.Action.MaskWidth()+4*k.Action.Width()+4*l.columns(i))
		if g, ok := k.Observation.(envs.Graph); ok {
			for _, kind := range g.Nodes {
				n += k.Agents * 4 * kind.Capacity * kind.Width
			}
			for _, kind := range g.Edges {
				n += k.Agents * 4 * kind.Capacity * (2 + kind.Width)
			}
		}
	}
	for _, o := range l.outputs {
		n += digits * l.spec.Kinds[o.kind].Agents * int(o.Shape[len(o.Shape)-1])
	}
	return int64(n)
}

func (l *Layout) graphs(kind int) bool {
	_, is := l.spec.Kinds[kind].Observation.(envs.Graph)
	return is
}

func (l *Layout) add(kind int, r role, part int, info Info) {
	l.byName[info.Name] = len(l.inputs)
	l.inputs = append(l.inputs, input{Info: info, role: r, kind: kind, part: part})
}

func (l *Layout) graph(kind int, prefix string, g envs.Graph) {
	for i, n := range g.Nodes {
		l.add(kind, nodes, i, Info{Name: prefix + "node." + n.Name, Type: wire.Float32, Shape: []int64{-1, int64(n.Width)}})
	}
	for i, e := range g.Edges {
		l.add(kind, index, i, Info{Name: prefix + "edge." + e.Name + ".index", Type: wire.Int64, Shape: []int64{2, -1}})
		if e.Width > 0 {
			l.add(kind, features, i, Info{Name: prefix + "edge." + e.Name + ".features", Type: wire.Float32,
				Shape: []int64{-1, int64(e.Width)}})
		}
	}
}

// Inputs describes the tensors that a request may hold.
func (l *Layout) Inputs() []Info {
	out := make([]Info, len(l.inputs))
	for i := range l.inputs {
		out[i] = l.inputs[i].Info
	}
	return out
}

// names lists inputs, for errors.
func (l *Layout) names() string {
	var out []string
	for _, in := range l.inputs {
		out = append(out, in.Name)
	}
	return strings.Join(out, ", ")
}

// String is a type with its sizes, as in "FP32 [-1, 5, 7]".
func (i Info) String() string {
	return i.Type + " " + strings.ReplaceAll(fmt.Sprint(i.Shape), " ", ", ")
}

// fitted reports whether a shape is one of the tensor's.
func (i Info) fitted(shape []int64) bool {
	return slices.EqualFunc(i.Shape, shape, func(want, got int64) bool { return want == got || want < 0 && got >= 0 })
}

// output is an output tensor of a kind: its actions in the platform's units, or as the environment takes them.
type output struct {
	Info
	kind  int
	units bool
}

// columns is the number of the platform's numbers for an agent of a kind, 0 where actions are in its units already.
func (l *Layout) columns(kind int) int {
	if l.units == nil {
		return 0
	}
	return l.units.Columns(kind)
}

// addOutputs adds the outputs: action, and of continuous actions scores, which are the action as the environment takes
// it.
func (l *Layout) addOutputs() {
	for i := range l.spec.Kinds {
		k := &l.spec.Kinds[i]
		prefix := ""
		if len(l.spec.Kinds) > 1 {
			prefix = k.Name + "."
		}
		shape := func(w int) []int64 {
			if l.graphs(i) {
				return []int64{int64(w)}
			}
			return []int64{-1, int64(k.Agents), int64(w)}
		}
		w, c := k.Action.Width(), l.columns(i)
		if c > 0 {
			l.outputs = append(l.outputs, output{Info{Name: prefix + "action", Type: wire.Float32, Shape: shape(c)}, i, true})
		} else {
			l.outputs = append(l.outputs, output{Info{Name: prefix + "action", Type: wire.Float32, Shape: shape(w)}, i, false})
		}
		if _, box := k.Action.(envs.Box); box {
			l.outputs = append(l.outputs, output{Info{Name: prefix + "scores", Type: wire.Float32, Shape: shape(w)}, i, false})
		}
	}
}

// Outputs describes the tensors of a response.
func (l *Layout) Outputs() []Info {
	out := make([]Info, len(l.outputs))
	for i := range l.outputs {
		out[i] = l.outputs[i].Info
	}
	return out
}

func (l *Layout) outputNames() string {
	var out []string
	for i := range l.outputs {
		out = append(out, l.outputs[i].Name)
	}
	return strings.Join(out, ", ")
}

// Results appends the outputs that a request asks for. Their values are the batch's. Numbers of agents that are not
// there are zero.
func (p *Pool) Results(r *wire.Request, b *Batch, dst []wire.Result) ([]wire.Result, error) {
	l := p.layout
	for i, o := range r.Outputs {
		if !l.gives(o.Name) {
			return dst, &FieldError{fmt.Sprintf("outputs[%d].name", i), fmt.Errorf("unknown output %q, want %s", o.Name,
				l.outputNames())}
		}
	}
	for i := range l.outputs {
		o := &l.outputs[i]
		wanted, binary := r.Wants(o.Name)
		if !wanted {
			continue
		}
		data, err := l.data(o, b)
		if err != nil {
			return dst, err
		}
		shape := []int64{int64(b.N), int64(l.spec.Kinds[o.kind].Agents), o.Shape[len(o.Shape)-1]}
		if l.graphs(o.kind) {
			shape = shape[2:]
		}
		dst = append(dst, wire.Result{Name: o.Name, Binary: binary, Shape: shape, Data: data})
	}
	return dst, nil
}

func (l *Layout) gives(name string) bool {
	for i := range l.outputs {
		if l.outputs[i].Name == name {
			return true
		}
	}
	return false
}

// data is the values of an output.
func (l *Layout) data(o *output, b *Batch) ([]float32, error) {
	agents := l.spec.Kinds[o.kind].Agents
	w := int(o.Shape[len(o.Shape)-1])
	if !o.units {
		all := b.act.Kinds[o.kind][:b.N*agents*w]
		l.zero(o.kind, b, all, w)
		return all, nil
	}
	all := b.decoded[o.kind][:b.N*agents*w]
	for i := range b.N {
		if err := l.units.Decode(o.kind, b.Action(i), all[i*agents*w:(i+1)*agents*w]); err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
	}
	l.zero(o.kind, b, all, w)
	return all, nil
}

// zero clears the rows of agents that are not there.
func (l *Layout) zero(kind int, b *Batch, all []float32, w int) {
	for i, active := range b.obs.Kinds[kind].Active[:b.N*l.spec.Kinds[kind].Agents] {
		if !active {
			clear(all[i*w : (i+1)*w])
		}
	}
}
