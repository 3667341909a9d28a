package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

// mlp is the stack of layers of [nets.MLP], over inputs of a given width.
type mlp[T core.Number] struct {
	agents int
	layers []layer[T]
}

// layer is y = norm(f(xW + b)).
type layer[T core.Number] struct {
	linear[T]
	activation string
	norm       *layerNorm[T]
}

func newMLP[T core.Number](n *net[T], m nets.MLP, in int) *mlp[T] {
	out := &mlp[T]{agents: m.Agents}
	for i, width := range append(m.Hidden[:len(m.Hidden):len(m.Hidden)], m.Out) {
		l := layer[T]{activation: m.Activation, linear: linear[T]{
			mul: n.mul, agents: m.Agents, in: in, out: width, biased: true,
			weight: n.param("layer%d.weight", i), bias: n.param("layer%d.bias", i),
		}}
		if i == len(m.Hidden) {
			l.activation = m.Final
		} else if m.Norm == nets.LayerNorm {
			l.norm = &layerNorm[T]{m.Agents, width, n.param("layer%d.gain", i), n.param("layer%d.offset", i)}
		}
		out.layers = append(out.layers, l)
		in = width
	}
	return out
}

// mlpWork is what an mlp stores of a pass.
type mlpWork[T core.Number] struct {
	*mlp[T]
	batch int
	y     [][]T         // of each layer, after its activation
	norms []normWork[T] // of each layer with a norm
	// Gradients w.r.t. two neighbouring layers' outputs, taking turns; made by the first backward pass.
	turns [2][]T
}

// newWork returns the memory of a pass whose last layer writes out [agents, batch, out].
func (m *mlp[T]) newWork(batch int, out []T) *mlpWork[T] {
	w := &mlpWork[T]{mlp: m, batch: batch, norms: make([]normWork[T], len(m.layers))}
	for i, l := range m.layers {
		y := out
		if i < len(m.layers)-1 {
			y = make([]T, m.agents*batch*l.out)
		}
		w.y = append(w.y, y)
		if l.norm != nil {
			w.norms[i] = l.norm.newWork(batch)
		}
	}
	return w
}

func (w *mlpWork[T]) forward(x view[T]) {
	for i := range w.layers {
		l := &w.layers[i]
		l.forward(w.batch, x, w.y[i])
		activate(l.activation, w.y[i])
		if l.norm != nil {
			l.norm.forward(w.batch, w.y[i], &w.norms[i])
		}
		x = w.output(i)
	}
}

// output is the input of the layer after i.
func (w *mlpWork[T]) output(i int) view[T] {
	l := &w.layers[i]
	if l.norm != nil {
		return stacked(w.norms[i].y, w.batch, l.out)
	}
	return stacked(w.y[i], w.batch, l.out)
}

// backward takes g = ∂L/∂out and the input of the last forward, adds to the gradients of the parameters where
// params is set, and adds ∂L/∂x to gx where that has memory.
func (w *mlpWork[T]) backward(x view[T], g []T, gx view[T], params bool) {
	if w.turns[0] == nil {
		widest := 0
		for _, l := range w.layers {
			widest = max(widest, l.out)
		}
		w.turns = [2][]T{make([]T, w.agents*w.batch*widest), make([]T, w.agents*w.batch*widest)}
	}
	for i := len(w.layers) - 1; i >= 0; i-- {
		l := &w.layers[i]
		if l.norm != nil {
			l.norm.backward(w.batch, &w.norms[i], g, params) // only hidden layers have one: g is ours
		}
		if l.activation != nets.None {
			mine := w.turns[i%2][:len(g)]
			deactivate(l.activation, w.y[i], g, mine)
			g = mine
		}
		in := x
		if i > 0 {
			in = w.output(i - 1)
		}
		if params {
			l.addParamGrads(w.batch, in, g)
		}
		if i == 0 {
			if gx.data != nil {
				l.addInputGrads(w.batch, g, gx)
			}
			return
		}
		next := w.turns[(i-1)%2][:w.agents*w.batch*l.in]
		clear(next)
		l.addInputGrads(w.batch, g, stacked(next, w.batch, l.in))
		g = next
	}
}
