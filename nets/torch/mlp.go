//go:build libtorch

package torch

import (
	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
)

// mlp is the stack of layers of [nets.MLP]: y = norm(f(xW + b)), all agents in one batched product.
type mlp struct {
	agents, groups int
	layers         []layer
}

type layer struct {
	weight, bias handle // [groups, in, out] and [groups, 1, out]
	gain, offset handle // nil without a norm
	width        int
	activation   string
}

func (n *net) newMLP(m nets.MLP) *mlp {
	out := &mlp{agents: m.Agents, groups: n.Groups}
	for i, width := range append(m.Hidden[:len(m.Hidden):len(m.Hidden)], m.Out) {
		l := layer{width: width, activation: m.Activation}
		l.weight, l.bias = n.leaf("layer%d.weight", i), n.leaf("layer%d.bias", i)
		if i == len(m.Hidden) {
			l.activation = m.Final
		} else if m.Norm == nets.LayerNorm {
			l.gain, l.offset = n.leaf("layer%d.gain", i), n.leaf("layer%d.offset", i)
		}
		out.layers = append(out.layers, l)
	}
	return out
}

// build implements graph: it concatenates the inputs and applies the layers.
func (m *mlp) build(s *scope, in []handle, batch int) (root, values handle) {
	y := m.forward(s, s.cat(in...), m.agents, batch)
	return y, y
}

// forward takes x of [rows, batch, in], rows being the agents, or 1 if all have the same input. It returns [agents,
// batch, out].
func (m *mlp) forward(s *scope, x handle, rows, batch int) handle {
	switch {
	case m.groups > 1 && rows == 1:
		x = s.expand(x, m.groups, batch, -1)
	case m.groups == 1 && rows > 1: // shared weights: one tall matrix
		x = s.reshape(x, 1, rows*batch, -1)
	}
	for i := range m.layers {
		l := &m.layers[i]
		x = s.baddbmm(l.bias, x, l.weight, numbers().one)
		x = s.activate(l.activation, x)
		if l.gain != nil {
			x = s.addcmul(l.offset, s.normalise(x, l.width), l.gain)
		}
	}
	last := m.layers[len(m.layers)-1].width
	switch {
	case m.groups == 1 && rows > 1:
		x = s.reshape(x, rows, batch, last)
	case m.groups == 1 && m.agents > 1:
		x = s.expand(x, m.agents, batch, last)
	}
	return x
}

func (s *scope) activate(name string, x handle) handle {
	switch name {
	case nets.ReLU:
		return s.apply("relu", lib.AtgRelu, x)
	case nets.Tanh:
		return s.apply("tanh", lib.AtgTanh, x)
	case nets.Sigmoid:
		return s.apply("sigmoid", lib.AtgSigmoid, x)
	}
	return x
}

// normalise brings the last dimension to mean 0 and variance 1; gain and offset, which differ by group, come after.
func (s *scope) normalise(x handle, width int) handle {
	return s.call("layer_norm", func(out *handle) { lib.AtgLayerNorm(out, x, s.ints(width), 1, nil, nil, nets.LayerNormEpsilon, 0) }, x)
}
