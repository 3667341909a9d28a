package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

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
	p.second.forward(w.Rows, stacked(p.hidden, w.Rows, h), w.Out.data)
}

// backward adds to the gradients w.r.t. the last layer's x and by the graphs' vectors.
func (p *plainHead[T]) backward(of *graphPass[T], w *core.HeadRun[*Tensor[T]]) {
	if w.Rows == 0 {
		return
	}
	width, h := p.first.in, of.h
	gout := w.Grad.data
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
