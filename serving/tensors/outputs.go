package tensors

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/serving/wire"
)

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
