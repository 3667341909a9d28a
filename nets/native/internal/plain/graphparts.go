package plain

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// plainEdges is a layer's attention along a kind of edges:
//
//	m_uv = x_u·W + f_uv·F,  z_uv = m_uv·source + (x_v·W)·target,  y_v += Σ_u softmax_u(LeakyReLU(z_uv))·m_uv
//
// The target's part of a score is x_v·(W·target).
type plainEdges[T core.Number] struct {
	h, width        int
	project         linear[T]
	source, target  param[T]
	features        param[T]
	m, gm           []T // x·W of all nodes that may be sources, and the gradient w.r.t. it
	f               []T // features in T
	z, alpha, g     []T // by edge: scores before LeakyReLU, weights, gradient w.r.t. the weights and then by z
	message, seen   []T // m_uv and W·target
	gmessage, gseen []T // gradients w.r.t. them
}

func newPlainEdges[T core.Number](n *net[T], a nets.Graph, l, kind int) plainEdges[T] {
	e := a.Edges[kind]
	name := fmt.Sprintf("layer%d.%s", l, e.Name)
	h := a.Hidden
	p := plainEdges[T]{
		h: h, width: e.Width,
		project: linear[T]{mul: n.mul, agents: 1, in: h, out: h, weight: n.param("%s.weight", name)},
		source:  n.param("%s.source", name), target: n.param("%s.target", name),
		message: make([]T, h), seen: make([]T, h), gmessage: make([]T, h), gseen: make([]T, h),
	}
	if e.Width > 0 {
		p.features = n.param("%s.features", name)
	}
	return p
}

// of computes the message of edge e.
func (p *plainEdges[T]) of(e int, from int32) []T {
	m := p.m[int(from)*p.h:][:p.h]
	if p.width == 0 {
		return m
	}
	copy(p.message, m)
	for j, f := range p.f[e*p.width:][:p.width] {
		axpy(f, p.features.value(0)[j*p.h:][:p.h], p.message)
	}
	return p.message
}

// forward adds to y what the nodes xs send to the nodes xt.
func (p *plainEdges[T]) forward(b *nets.BatchEdges, xs, xt, y []T) {
	n := len(b.From)
	if n == 0 {
		return
	}
	p.m, p.f = core.Grow(p.m, len(xs)), core.Grow(p.f, len(b.Features))
	p.z, p.alpha = core.Grow(p.z, n), core.Grow(p.alpha, n)
	core.Convert(p.f, b.Features)
	p.project.forward(len(xs)/p.h, stacked(xs, len(xs)/p.h, p.h), p.m)
	w, source := p.project.weight.value(0), p.source.value(0)
	for i := range p.seen {
		p.seen[i] = dot(w[i*p.h:][:p.h], p.target.value(0))
	}
	for v := range len(xt) / p.h {
		first, last := int(b.In[v]), int(b.In[v+1])
		if first == last {
			continue
		}
		q := dot(xt[v*p.h:][:p.h], p.seen)
		for e := first; e < last; e++ {
			p.z[e] = dot(p.of(e, b.From[e]), source) + q
			p.alpha[e] = p.z[e]
			if p.z[e] < 0 {
				p.alpha[e] = nets.Slope * p.z[e]
			}
		}
		softmax(p.alpha[first:last])
		for e := first; e < last; e++ {
			axpy(p.alpha[e], p.of(e, b.From[e]), y[v*p.h:][:p.h])
		}
	}
}

// backward takes the gradient gy by y to those w.r.t. the parameters, by the senders' x and by the receivers' x,
// which it adds to gxs and gxt. With D_v = Σ_u α_uv (g_v·m_uv):
//
//	∂L/∂z_uv = α_uv (g_v·m_uv − D_v)·LeakyReLU'(z_uv),  ∂L/∂m_uv = α_uv g_v + ∂L/∂z_uv·source
func (p *plainEdges[T]) backward(b *nets.BatchEdges, xs, xt, gy, gxs, gxt []T) {
	n := len(b.From)
	if n == 0 {
		return
	}
	p.gm, p.g = core.Grow(p.gm, len(p.m)), core.Grow(p.g, n)
	clear(p.gm)
	clear(p.gseen)
	source, gsource := p.source.value(0), p.source.grad(0)
	for v := range len(xt) / p.h {
		first, last := int(b.In[v]), int(b.In[v+1])
		if first == last {
			continue
		}
		g := gy[v*p.h:][:p.h]
		var all, sum T // D, and Σ ∂L/∂z
		for e := first; e < last; e++ {
			p.g[e] = dot(g, p.of(e, b.From[e]))
			all += p.alpha[e] * p.g[e]
		}
		for e := first; e < last; e++ {
			dz := p.alpha[e] * (p.g[e] - all)
			if !(p.z[e] > 0) {
				dz *= nets.Slope
			}
			sum += dz
			axpy(dz, p.of(e, b.From[e]), gsource)
			clear(p.gmessage)
			axpy(p.alpha[e], g, p.gmessage)
			axpy(dz, source, p.gmessage)
			axpy(1, p.gmessage, p.gm[int(b.From[e])*p.h:][:p.h])
			for j, f := range p.f[e*p.width:][:p.width] {
				axpy(f, p.gmessage, p.features.grad(0)[j*p.h:][:p.h])
			}
		}
		axpy(sum, xt[v*p.h:][:p.h], p.gseen)
		axpy(sum, p.seen, gxt[v*p.h:][:p.h])
	}
	// seen = W·target
	w, gw := p.project.weight.value(0), p.project.weight.grad(0)
	for i, g := range p.gseen {
		axpy(g, p.target.value(0), gw[i*p.h:][:p.h])
		axpy(g, w[i*p.h:][:p.h], p.target.grad(0))
	}
	rows := len(xs) / p.h
	p.project.addParamGrads(rows, stacked(xs, rows, p.h), p.gm)
	p.project.addInputGrads(rows, p.gm, stacked(gxs, rows, p.h))
}

// plainHead is a head: its inputs side by side, [x_r, g, x of the nodes given, extra], then two layers.
type plainHead[T core.Number] struct {
	arch           nets.GraphHead
	first, second  linear[T]
	in, hidden, gh []T
	gin            []T
}

func newPlainHead[T core.Number](n *net[T], a nets.Graph, h int) plainHead[T] {
	head := a.Heads[h]
	name := "head." + head.Name
	layer := func(i string, in, out int) linear[T] {
		return linear[T]{n.mul, 1, in, out, n.param("%s.%s.weight", name, i), n.param("%s.%s.bias", name, i), true}
	}
	return plainHead[T]{arch: head, first: layer("0", a.HeadWidth(h), a.Hidden), second: layer("1", a.Hidden, head.Out)}
}

// each runs f over the rows, with the row's graph.
func (p *plainHead[T]) each(b *nets.GraphBatch, f func(row, graph int)) {
	for g := range b.Graphs() {
		if p.arch.Per == nets.WholeGraph {
			f(g, g)
			continue
		}
		starts := b.Nodes[p.arch.Per].Starts
		for r := starts[g]; r < starts[g+1]; r++ {
			f(int(r), g)
		}
	}
}

func (p *plainHead[T]) forward(of *graphPass[T], w *core.HeadRun[*Tensor[T]]) {
	if w.Rows == 0 {
		return
	}
	width, h := p.first.in, of.h
	p.in, p.hidden = core.Grow(p.in, w.Rows*width), core.Grow(p.hidden, w.Rows*h)
	clear(p.in)
	p.each(of.run.Batch, func(row, graph int) {
		dst := p.in[row*width:][:width]
		put := func(src []T) {
			copy(dst, src)
			dst = dst[len(src):]
		}
		if p.arch.Per != nets.WholeGraph {
			put(of.last()[p.arch.Per][row*h:][:h])
		}
		vector := h * len(of.in)
		put(of.g[graph*vector:][:vector])
		for i, kind := range p.arch.Given {
			if r := w.Given[i][graph]; r >= 0 {
				copy(dst, of.last()[kind][int(r)*h:][:h])
			}
			dst = dst[h:]
		}
		core.Convert(dst, w.Extra[graph*p.arch.Extra:][:p.arch.Extra])
	})
	p.first.forward(w.Rows, stacked(p.in, w.Rows, width), p.hidden)
	relu(p.hidden)
	p.second.forward(w.Rows, stacked(p.hidden, w.Rows, h), w.Out.Data)
}

// backward adds to the gradients w.r.t. the last layer's x and by the graphs' vectors.
func (p *plainHead[T]) backward(of *graphPass[T], w *core.HeadRun[*Tensor[T]]) {
	if w.Rows == 0 {
		return
	}
	width, h := p.first.in, of.h
	gout := w.Grad.Data
	p.gh, p.gin = core.Grow(p.gh, w.Rows*h), core.Grow(p.gin, w.Rows*width)
	p.second.addParamGrads(w.Rows, stacked(p.hidden, w.Rows, h), gout)
	clear(p.gh)
	p.second.addInputGrads(w.Rows, gout, stacked(p.gh, w.Rows, h))
	reluBack(p.gh, p.hidden)
	p.first.addParamGrads(w.Rows, stacked(p.in, w.Rows, width), p.gh)
	clear(p.gin)
	p.first.addInputGrads(w.Rows, p.gh, stacked(p.gin, w.Rows, width))
	p.each(of.run.Batch, func(row, graph int) {
		src := p.gin[row*width:][:width]
		add := func(dst []T) {
			axpy(1, src[:len(dst)], dst)
			src = src[len(dst):]
		}
		if p.arch.Per != nets.WholeGraph {
			add(of.gx[0][p.arch.Per][row*h:][:h])
		}
		vector := h * len(of.in)
		add(of.gg[graph*vector:][:vector])
		for i, kind := range p.arch.Given {
			if r := w.Given[i][graph]; r >= 0 {
				axpy(1, src[:h], of.gx[0][kind][int(r)*h:][:h])
			}
			src = src[h:]
		}
	})
}
