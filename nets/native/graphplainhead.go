package native

import "github.com/stoker-rl/stoker/nets"

// plainHead is a head: its inputs side by side, [x_r, g, x of the nodes given, extra], then two layers.
type plainHead[T number] struct {
	arch           nets.GraphHead
	first, second  linear[T]
	in, hidden, gh []T
	gin, gout      []T
}

func newPlainHead[T number](n *net[T], a nets.Graph, h int) plainHead[T] {
	head := a.Heads[h]
	name := "head." + head.Name
	layer := func(i string, in, out int) linear[T] {
		return linear[T]{n.e.mul, 1, in, out, n.param("%s.%s.weight", name, i), n.param("%s.%s.bias", name, i), true}
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

func (p *plainHead[T]) forward(of *graphPlain[T], w *graphHead[T], out []T) {
	if w.rows == 0 {
		return
	}
	width, h := p.first.in, of.h
	p.in, p.hidden = grown(p.in, w.rows*width), grown(p.hidden, w.rows*h)
	clear(p.in)
	p.each(of.w.batch, func(row, graph int) {
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
			if r := w.given[i][graph]; r >= 0 {
				copy(dst, of.last()[kind][int(r)*h:][:h])
			}
			dst = dst[h:]
		}
		convert(dst, w.extra[graph*p.arch.Extra:][:p.arch.Extra])
	})
	p.first.forward(w.rows, stacked(p.in, w.rows, width), p.hidden)
	relu(p.hidden)
	p.second.forward(w.rows, stacked(p.hidden, w.rows, h), out)
}

// backward adds to the gradients by the last layer's x and by the graphs' vectors.
func (p *plainHead[T]) backward(of *graphPlain[T], w *graphHead[T]) {
	if w.rows == 0 {
		return
	}
	width, h := p.first.in, of.h
	p.gout, p.gh, p.gin = grown(p.gout, w.rows*p.arch.Out), grown(p.gh, w.rows*h), grown(p.gin, w.rows*width)
	load(p.gout, w.grad)
	p.second.addParamGrads(w.rows, stacked(p.hidden, w.rows, h), p.gout)
	clear(p.gh)
	p.second.addInputGrads(w.rows, p.gout, stacked(p.gh, w.rows, h))
	reluBack(p.gh, p.hidden)
	p.first.addParamGrads(w.rows, stacked(p.in, w.rows, width), p.gh)
	clear(p.gin)
	p.first.addInputGrads(w.rows, p.gh, stacked(p.gin, w.rows, width))
	p.each(of.w.batch, func(row, graph int) {
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
			if r := w.given[i][graph]; r >= 0 {
				axpy(1, src[:h], of.gx[0][kind][int(r)*h:][:h])
			}
			src = src[h:]
		}
	})
}
