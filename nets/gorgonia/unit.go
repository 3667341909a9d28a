package gorgonia

import (
	"cmp"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// Passes of a unit's program, as bits: one forward, and a backward pass for each bit of [nets.Wrt].
const forwards uint8 = 1

func back(wrt nets.Wrt) uint8 { return uint8(wrt) << 1 }

// unit is one agent's network in a Work: its graph, the sources of its leaves' values and the destinations of their
// gradients.
type unit[T core.Number] struct {
	w       *work[T]
	agent   int
	graph   *graph[T]
	program program[T]
	params  map[paramKey]*param[T]
	inputs  map[featureKey]*input[T]
	outputs []output[T]
}

// output is a part of the agent's output: width features from feature from on, and the gradient w.r.t. them.
type output[T core.Number] struct {
	from, width int
	value       node
	by          []T
}

// paramKey identifies rows of a parameter of a group, by where they begin in the flat vectors.
type paramKey struct{ at, rows int }

// param is a parameter's leaf. The leaf shares the parameter's memory.
type param[T core.Number] struct {
	leaf, gradient node
	at             int // in the flat vectors
}

// featureKey identifies width features of an agent in an input port, from feature from on.
type featureKey struct{ port, agent, from, width int }

// feature is a copy of those features, [batch, width], that the leaves of all units share.
type feature[T core.Number] struct {
	featureKey
	batch int
	data  []T
}

// fill copies the features out of the port's tensor.
func (f *feature[T]) fill(t *tensor[T]) {
	all := t.Width()
	for b := range f.batch {
		copy(f.data[b*f.width:][:f.width], t.Data[(f.agent*f.batch+b)*all+f.from:])
	}
}

// input is the leaf of a feature.
type input[T core.Number] struct {
	*feature[T]
	leaf, gradient node
}

func (w *work[T]) newUnit(agent int) (*unit[T], error) {
	u := &unit[T]{
		w: w, agent: agent, graph: newGraph[T](w.net.b.format),
		params: map[paramKey]*param[T]{}, inputs: map[featureKey]*input[T]{},
	}
	err := u.build()
	if err != nil {
		return nil, err
	}
	var targets []node
	for _, o := range u.outputs {
		targets = append(targets, o.value)
	}
	return u, u.program.compile(u.graph, targets, forwards, 0)
}

func (u *unit[T]) build() (err error) {
	defer rescue(&err)
	u.w.net.expression(u)
	return u.graph.err
}

// parameter is a leaf with some rows of a parameter of an agent's group; a vector is one row.
func (u *unit[T]) parameter(agent int, name string, row, rows int) node {
	n := u.w.net
	slot := n.Slot("%s", name)
	cols := slot.Shape[len(slot.Shape)-1]
	key := paramKey{n.Start(agent, slot.Offset) + row*cols, rows}
	p, ok := u.params[key]
	if !ok {
		p = &param[T]{at: key.at}
		p.leaf = u.graph.leaf(rows, cols, n.Params.Data[p.at:][:rows*cols])
		u.params[key] = p
	}
	return p.leaf
}

// feature is a leaf with an agent's features of a port.
func (u *unit[T]) feature(port, agent, from, width int) node {
	key := featureKey{port, agent, from, width}
	x, ok := u.inputs[key]
	if !ok {
		f, ok := u.w.features[key]
		if !ok {
			f = &feature[T]{key, u.w.batch, make([]T, u.w.batch*width)}
			u.w.features[key] = f
		}
		x = &input[T]{feature: f, leaf: u.graph.leaf(u.w.batch, width, f.data)}
		u.inputs[key] = x
	}
	return x.leaf
}

// output adds a part of the agent's output.
func (u *unit[T]) output(from, width int, value node) {
	u.outputs = append(u.outputs, output[T]{from: from, width: width, value: value})
}

// forward computes the agent's part of out.
func (u *unit[T]) forward(out *tensor[T]) error {
	if err := u.program.run(forwards); err != nil {
		return err
	}
	for _, o := range u.outputs {
		y := u.program.numbers(o.value)
		for b := range u.w.batch {
			copy(out.Data[(u.agent*u.w.batch+b)*u.w.net.out+o.from:][:o.width], y[b*o.width:])
		}
	}
	return nil
}

// backward adds the agent's part of the gradients.
func (u *unit[T]) backward(g *tensor[T], wrt nets.Wrt) error {
	if u.outputs[0].by == nil {
		if err := u.differentiate(); err != nil {
			return err
		}
	}
	for _, o := range u.outputs {
		for b := range u.w.batch {
			copy(o.by[b*o.width:][:o.width], g.Data[(u.agent*u.w.batch+b)*u.w.net.out+o.from:])
		}
	}
	if err := u.program.run(back(wrt)); err != nil {
		return err
	}
	if wrt&nets.Params != 0 {
		for _, p := range u.params {
			for i, v := range u.program.numbers(p.gradient) {
				u.w.net.Grads.Data[p.at+i] += v
			}
		}
	}
	if wrt&nets.Inputs != 0 {
		for _, x := range u.inputs {
			t := u.w.gradIn[x.port]
			for i, v := range u.program.numbers(x.gradient) {
				b, c := i/x.width, i%x.width
				t.Data[(x.agent*x.batch+b)*t.Width()+x.from+c] += v
			}
		}
	}
	return nil
}

// differentiate builds the gradients' expressions with gorgonia.
func (u *unit[T]) differentiate() error {
	var values, by, leaves []node
	for i := range u.outputs {
		o := &u.outputs[i]
		data := make([]T, u.w.batch*o.width)
		values, by = append(values, o.value), append(by, u.graph.leaf(u.w.batch, o.width, data))
		defer func() { o.by = data }()
	}
	params := sorted(u.params, func(a, b *param[T]) int { return cmp.Compare(a.at, b.at) })
	inputs := sorted(u.inputs, func(a, b *input[T]) int {
		return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.agent, b.agent), cmp.Compare(a.from, b.from))
	})
	for _, p := range params {
		leaves = append(leaves, p.leaf)
	}
	for _, x := range inputs {
		leaves = append(leaves, x.leaf)
	}
	grads, err := u.graph.gradients(values, by, leaves)
	if err != nil {
		return err
	}
	for i, p := range params {
		p.gradient = grads[i]
	}
	for i, x := range inputs {
		x.gradient = grads[len(params)+i]
	}
	if err := u.program.compile(u.graph, grads[:len(params)], back(nets.Params), forwards); err != nil {
		return err
	}
	return u.program.compile(u.graph, grads[len(params):], back(nets.Inputs), forwards)
}

// sorted lists a map's values in a fixed order, so that graphs are the same in every run.
func sorted[K comparable, V any](m map[K]V, order func(a, b V) int) []V {
	var all []V
	for _, v := range m {
		all = append(all, v)
	}
	slices.SortFunc(all, order)
	return all
}
