package gorgonia

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// term is one input of a layer: its features, and the first of its rows in the layer's weight.
type term struct {
	x     node
	row   int
	width int
}

// mlp is [nets.MLP] of the unit's agent.
func (u *unit[T]) mlp(m nets.MLP) {
	var in []term
	at := 0
	for port, p := range m.In {
		in = append(in, term{u.feature(port, u.agent, 0, p.Width), at, p.Width})
		at += p.Width
	}
	u.layers(m, in)
}

// layers builds the layers of an MLP from the terms to the unit's output:
//
//	x ← f(Σ x_i·W_i + b) for each layer, W_i being the rows for term i
func (u *unit[T]) layers(m nets.MLP, in []term) {
	b := u.graph
	for l := range len(m.Hidden) + 1 {
		name := fmt.Sprintf("layer%d.", l)
		y := u.repeated(name + "bias")
		for _, t := range in {
			y = b.add(y, b.product(t.x, u.parameter(u.agent, name+"weight", t.row, t.width)))
		}
		if l == len(m.Hidden) {
			u.output(0, m.Out, u.activated(m.Final, y))
			return
		}
		width := m.Hidden[l]
		y = u.activated(m.Activation, y)
		if m.Norm == nets.LayerNorm {
			y = b.add(b.times(u.repeated(name+"gain"), b.standard(y, width)), u.repeated(name+"offset"))
		}
		in = []term{{y, 0, width}}
	}
}

// repeated is one of the agent's vectors, repeated for every sample.
func (u *unit[T]) repeated(name string) node {
	return u.graph.rows(u.parameter(u.agent, name, 0, 1), u.w.batch)
}

// activated applies an activation. The sigmoid is ½ + ½·tanh(½x), since gorgonia's own is cut off at 19 (float32: 15).
func (u *unit[T]) activated(kind string, x node) node {
	b := u.graph
	switch kind {
	case nets.ReLU:
		return b.relu(x)
	case nets.Tanh:
		return b.tanh(x)
	case nets.Sigmoid:
		return b.plus(b.scaled(b.tanh(b.scaled(x, 0.5)), 0.5), 0.5)
	}
	return x
}

func (b *graph[T]) relu(x node) node { return b.times(x, b.above(x, 0)) }

// standard is LayerNorm (Ba et al., 2016) before gain and offset: (x − mean)/√(variance + 1e-5) over each
// sample's n features.
func (b *graph[T]) standard(x node, n int) node {
	mean := b.filled(n, n, 1/float64(n))
	d := b.sub(x, b.product(x, mean))
	return b.over(d, b.sqrt(b.plus(b.product(b.times(d, d), mean), 1e-5)))
}
