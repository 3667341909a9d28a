//go:build libtorch

package torch

import (
	"math"
	"slices"

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

// meanField is [nets.MeanField]: layers over an agent's own features and a mixture of its neighbours' features. The
// mixtures are dense products over all pairs of agents, with weight 0 for pairs that are not neighbours.
type meanField struct {
	m      nets.MeanField
	layers *mlp
	own    int
	// apart says that an agent is its own neighbour and sees other features of itself than the others do.
	apart bool

	query, key handle // of Attention
	scale      lib.Cscalar
	offset     lib.Cscalar

	adjacent handle // [agents, agents]: 1 for neighbours; divided by their number for Mean
	others   handle // adjacent without the diagonal
	self     handle // the diagonal alone
	same     handle // [agents, agents], boolean: the diagonal
	barred   handle // −∞ where there is no neighbour, for the softmax; rows without any are 0
	alone    handle // [agents, 1, 1]: 0 for agents without neighbours, else 1; nil where all have some
}

func (n *net) newMeanField(m nets.MeanField) *meanField {
	f := &meanField{m: m, layers: n.newMLP(m.MLP), own: m.OwnWidth(),
		apart: m.Others && (m.Mix == nets.Joint || m.SeesSelf())}
	if m.Mix == nets.Attention {
		f.query, f.key = n.leaf("query.weight"), n.leaf("key.weight")
		f.scale, f.offset = n.b.number(attentionScale(m)), n.b.number(nets.SquaredOffset)
	}
	f.constants(n.b)
	return f
}

// constants makes the matrices of neighbours.
func (f *meanField) constants(b *backend) {
	n := f.m.Agents
	adjacent, others, self := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	barred, alone, same := make([]float64, n*n), make([]float64, n), make([]float64, n*n)
	lonely := false
	for i := range n {
		same[i*n+i] = 1
	}
	if f.m.Mix == nets.Joint {
		f.same = b.truth(same, 1, n, n)
		return
	}
	for i, list := range f.m.Neighbours {
		for j := range n {
			if len(list) > 0 && !slices.Contains(list, j) {
				barred[i*n+j] = minusInf
			}
		}
		for _, j := range list {
			v := 1.0
			if f.m.Mix == nets.Mean {
				v = 1 / float64(len(list))
			}
			adjacent[i*n+j] = v
			if i == j {
				self[i*n+j] = v
			} else {
				others[i*n+j] = v
			}
		}
		if len(list) > 0 {
			alone[i] = 1
		} else {
			lonely = true
		}
	}
	f.adjacent, f.others = b.constant(adjacent, n, n), b.constant(others, n, n)
	f.self, f.barred = b.constant(self, n, n), b.constant(barred, 1, n, n)
	f.same = b.truth(same, 1, n, n)
	if lonely {
		f.alone = b.constant(alone, n, 1, 1)
	}
}

// scene holds the agents' features [agents, batch, own] twice: as each agent sees itself and as the others see it.
type scene struct{ x, seen handle }

// build implements graph.
func (f *meanField) build(s *scope, in []handle, batch int) (root, values handle) {
	own := in[:len(f.m.In)]
	v := scene{x: s.cat(own...)}
	v.seen = v.x
	if f.m.Others {
		v.seen = s.cat(slices.Concat(own[:len(own)-1], in[len(own):])...)
	}
	var y handle
	switch f.m.Mix {
	case nets.Joint:
		x, rows := f.joint(s, v, batch)
		y = f.layers.forward(s, x, rows, batch)
	case nets.Mean:
		y = f.layers.forward(s, s.cat(v.x, f.mean(s, v, batch)), f.m.Agents, batch)
	default:
		y = f.layers.forward(s, s.cat(v.x, f.attention(s, v, batch)), f.m.Agents, batch)
	}
	return y, y
}

// mean is Σ_j a_ij x_j, with a_ij one over the number of i's neighbours (Yang et al., 2018): one product for all
// samples.
func (f *meanField) mean(s *scope, v scene, batch int) handle {
	n := f.m.Agents
	a := f.adjacent
	if f.apart {
		a = f.others
	}
	out := s.reshape(s.mm(a, s.reshape(v.seen, n, batch*f.own)), n, batch, f.own)
	if f.apart {
		of := s.reshape(s.sum(f.self), n, 1, 1)
		out = s.add(out, s.mul(of, v.x))
	}
	return out
}

// joint is [x_1, …, x_n] for each sample: [1, batch, n·own], or [agents, batch, n·own] if agents see
// themselves differently.
func (f *meanField) joint(s *scope, v scene, batch int) (x handle, rows int) {
	n := f.m.Agents
	all := s.transpose(v.seen, 0, 1) // [batch, agents, own]
	if !f.apart {
		return s.reshape(all, 1, batch, n*f.own), 1
	}
	// Replace agent i's features in its own row by those that it sees of itself.
	mine := s.reshape(v.x, n, batch, 1, f.own)
	theirs := s.reshape(all, 1, batch, n, f.own)
	diagonal := s.reshape(f.same, n, 1, n, 1)
	return s.reshape(s.where(diagonal, mine, theirs), n, batch, n*f.own), n
}

var minusInf = math.Inf(-1)

// attentionScale is 1/√d for Exp.
func attentionScale(m nets.MeanField) float64 { return 1 / math.Sqrt(float64(m.Keys)) }

// attention is m_i = Σ_j w_ij x_j over the neighbours, with weights from the products of queries and keys (FaaSConf,
// eqs. 8–10). The batch is the first dimension: products are [batch, agents, agents].
func (f *meanField) attention(s *scope, v scene, batch int) handle {
	q := s.transpose(f.project(s, v.x, f.query, batch), 0, 1)
	k := s.transpose(f.project(s, v.seen, f.key, batch), 0, 1)
	var w handle
	if f.apart {
		w = f.weights(s, f.withSelf(s, q, k, v, batch))
	} else if f.m.Score == nets.Exp {
		// One operation computes the product, the factor and the mask.
		w = s.softmax(s.baddbmm(f.barred, q, s.transpose(k, 1, 2), f.scale))
	} else {
		w = f.weights(s, s.bmm(q, s.transpose(k, 1, 2)))
	}
	var mixture handle
	seen := s.transpose(v.seen, 0, 1)
	if f.apart {
		mixture = s.bmm(s.mul(w, f.others), seen)
		mine := s.sum(s.mul(w, f.self)) // [batch, agents, 1]
		mixture = s.add(mixture, s.mul(mine, s.transpose(v.x, 0, 1)))
	} else {
		mixture = s.bmm(w, seen)
	}
	mixture = s.transpose(mixture, 0, 1)
	if f.alone != nil { // without neighbours the softmax is not zero
		mixture = s.mul(mixture, f.alone)
	}
	return mixture
}

// project is xW for each agent, by its own group's weights.
func (f *meanField) project(s *scope, x, weight handle, batch int) handle {
	n := f.m.Agents
	if f.layers.groups > 1 {
		return s.bmm(x, weight)
	}
	return s.reshape(s.bmm(s.reshape(x, 1, n*batch, f.own), weight), n, batch, f.m.Keys)
}

// withSelf is q_i·k_j, where k_i for agent i's own query is computed from the features that it sees of itself.
func (f *meanField) withSelf(s *scope, q, k handle, v scene, batch int) handle {
	r := s.bmm(q, s.transpose(k, 1, 2))
	own := s.transpose(f.project(s, v.x, f.key, batch), 0, 1)
	return s.where(f.same, s.sum(s.mul(q, own)), r)
}

// weights turns products into weights: exp(r/√d) or r², over the neighbours, normalised.
func (f *meanField) weights(s *scope, r handle) handle {
	if f.m.Score == nets.Exp {
		return s.softmax(s.add(s.scale(r, f.scale), f.barred))
	}
	r = s.mul(r, f.adjacent)
	square := s.mul(r, r)
	return s.div(square, s.plus(s.sum(square), f.offset))
}
