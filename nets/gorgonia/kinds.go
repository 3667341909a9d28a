package gorgonia

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
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

// meanField is [nets.MeanField] of the unit's agent.
func (u *unit[T]) meanField(m nets.MeanField) {
	if m.Mix == nets.Joint {
		var all []term
		for j := range m.Agents {
			for _, t := range u.seen(m, j) {
				t.row += j * m.OwnWidth()
				all = append(all, t)
			}
		}
		u.layers(m.MLP, all)
		return
	}
	in := u.seen(m, u.agent)
	neighbours := m.Neighbours[u.agent]
	if len(neighbours) == 0 { // the mixture is zero
		u.layers(m.MLP, in)
		return
	}
	var weights node // [batch, neighbours]
	if m.Mix == nets.Attention {
		weights = u.attention(m, neighbours)
	} else {
		weights = u.graph.filled(u.w.batch, len(neighbours), 1/float64(len(neighbours)))
	}
	u.layers(m.MLP, append(in, u.mixture(m, neighbours, weights)...))
}

// seen returns agent j's features as the unit's agent sees them: with Others, other agents' last features come from an
// extra input port.
func (u *unit[T]) seen(m nets.MeanField, j int) []term {
	var ts []term
	at := 0
	for i, p := range m.In {
		port := i
		if m.Others && j != u.agent && i == len(m.In)-1 {
			port = len(m.In)
		}
		ts = append(ts, term{u.feature(port, j, 0, p.Width), at, p.Width})
		at += p.Width
	}
	return ts
}

// mixture is Σ_j w_j x_j. Its rows in the first layer's weight follow those of the agent's own features.
func (u *unit[T]) mixture(m nets.MeanField, neighbours []int, weights node) []term {
	b := u.graph
	mixed := make([]term, len(m.In))
	for n, j := range neighbours {
		for i, t := range u.seen(m, j) {
			w := b.product(weights, b.marked(fixedKey{len(neighbours), t.width, n, -1, 1})) // w_j for each feature
			mixed[i] = term{b.sum(mixed[i].x, b.times(w, t.x)), m.OwnWidth() + t.row, t.width}
		}
	}
	return mixed
}

// attention is each neighbour's weight (FaaSConf, eqs. 8–10): with r_j = (x·W_q)·(x_j·W_k of agent j) the
// softmax of r/√keys, or r²/(Σr² + 0.001).
func (u *unit[T]) attention(m nets.MeanField, neighbours []int) node {
	b := u.graph
	project := func(agent int, name string) (y node) {
		for _, t := range u.seen(m, agent) {
			y = b.sum(y, b.product(t.x, u.parameter(agent, name, t.row, t.width)))
		}
		return y
	}
	query := project(u.agent, "query.weight")
	n := len(neighbours)
	var r node
	for i, j := range neighbours {
		r = b.sum(r, b.product(b.times(query, project(j, "key.weight")), b.marked(fixedKey{m.Keys, n, -1, i, 1})))
	}
	if m.Score == nets.Exp {
		return b.softmax(b.scaled(r, 1/math.Sqrt(float64(m.Keys))), n)
	}
	square := b.times(r, r)
	return b.over(square, b.plus(b.total(square, n, n), nets.SquaredOffset))
}

// gumbel is [nets.GumbelSoftmax] of the unit's agent: softmax((logits + noise)/temperature) per segment.
// Gradients are always those of this softmax; if the choice is hard, [choose] makes the output one-hot.
func (u *unit[T]) gumbel(g nets.GumbelSoftmax) {
	b := u.graph
	at := 0
	for _, n := range g.Segments {
		z := b.add(u.feature(0, u.agent, at, n), u.feature(1, u.agent, at, n))
		u.output(at, n, b.softmax(b.scaled(z, 1/g.Temperature), n))
		at += n
	}
}

// choose replaces each segment by 1 at its first largest value and 0 elsewhere. A segment with a NaN becomes NaN.
func choose[T core.Number](y []T, segments []int) {
	for at := 0; at < len(y); {
		for _, n := range segments {
			s := y[at:][:n]
			best, fill := 0, T(0)
			for j, v := range s {
				if v > s[best] {
					best = j
				}
				fill += v - v // 0, or NaN
			}
			for j := range s {
				s[j] = fill
			}
			s[best] += 1
			at += n
		}
	}
}

// squashed is [nets.SquashedGaussian] of the unit's agent.
func (u *unit[T]) squashed(g nets.SquashedGaussian) {
	const half, middle = (nets.LogStdMax - nets.LogStdMin) / 2.0, (nets.LogStdMax + nets.LogStdMin) / 2.0
	b, n := u.graph, g.Actions
	mean, r, noise := u.feature(0, u.agent, 0, n), u.feature(0, u.agent, n, n), u.feature(1, u.agent, 0, n)
	logStd := b.plus(b.scaled(b.tanh(r), half), middle)
	x := b.add(mean, b.times(b.exp(logStd), noise))
	if !g.LogProb {
		u.output(0, n, b.tanh(x))
		return
	}
	// ln(1 − tanh² x) = 2(ln 2 − |x| − ln(1 + e^(−2|x|)))
	size := b.abs(x)
	logFlat := b.scaled(b.plus(b.neg(b.add(size, b.log(b.plus(b.exp(b.scaled(size, -2)), 1)))), math.Ln2), 2)
	normal := b.plus(b.sub(b.scaled(b.times(noise, noise), -0.5), logStd), -math.Log(2*math.Pi)/2)
	u.output(0, 1, b.total(b.sub(normal, logFlat), n, 1))
}

// softValue is [nets.SoftValue] of the unit's agent. The gradient of the minimum goes to one critic, the first of equal
// ones.
func (u *unit[T]) softValue() {
	b := u.graph
	q1, q2 := u.feature(0, u.agent, 0, 1), u.feature(1, u.agent, 0, 1)
	second := b.above(b.sub(q1, q2), 0)
	q := b.add(b.times(b.not(second), q1), b.times(second, q2))
	u.output(0, 1, b.sub(q, b.times(b.exp(u.feature(3, u.agent, 0, 1)), u.feature(2, u.agent, 0, 1))))
}
