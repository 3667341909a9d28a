package graph

import (
	"github.com/stoker-rl/stoker/internal/pool"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// head is a head. Its first layer is split: the part that is the same for all nodes of a graph is computed once for
// each graph.
type head struct {
	nets.GraphHead
	w0, b0, w1, b1 *param
	vector, given  int // rows of w0 where the graph's vector and the given nodes begin
	extra          int
	common         []float32 // of each graph, [graphs][wide]
	dcommon        []float32
	hidden, dh     []float32   // [rows][wide]
	out            []float32   // where its result goes
	gout           []float32   // gradient w.r.t. it
	partial        []float32   // sums of dh over pieces
	chosen, dgiven [][]float32 // x of the given nodes and the gradient w.r.t. it, [graphs][wide]
	transposed     [][]float32 // w0's parts transposed: of the node itself, of each kind's mean, of each given
}

func (p *pass) newHead(i int) head {
	h := head{GraphHead: p.a.Heads[i]}
	h.w0, h.b0 = p.par.of("head.%s.0.weight", h.Name), p.par.of("head.%s.0.bias", h.Name)
	h.w1, h.b1 = p.par.of("head.%s.1.weight", h.Name).transpose(), p.par.of("head.%s.1.bias", h.Name)
	if h.Per != nets.WholeGraph {
		h.vector = p.h
	}
	h.given = h.vector + p.h*len(p.kinds)
	h.extra = h.given + p.h*len(h.Given)
	h.chosen, h.dgiven = make([][]float32, len(h.Given)), make([][]float32, len(h.Given))
	for range h.extra / p.h {
		h.transposed = append(h.transposed, make([]float32, p.wide*p.wide))
	}
	return h
}

// Head implements [core.GraphPass].
func (p *pass) Head(i int) {
	out := p.in.Heads[i].Out
	p.results = core.Grow(p.results, out.Len())
	p.head(i, p.results)
	out.Store(p.results)
}

// head writes a head's result, [rows][out].
func (p *pass) head(i int, dst []float32) {
	h, b := &p.heads[i], p.in.Batch
	rows, graphs := p.in.Heads[i].Rows, b.Graphs()
	h.out, h.common = dst, core.Grow(h.common, graphs*p.wide)
	if p.storing {
		h.hidden = core.Grow(h.hidden, rows*p.wide)
	}
	for j := range h.Given {
		h.chosen[j] = core.Grow(h.chosen[j], graphs*p.wide)
	}
	p.about = i
	p.do(len(p.graphs.blocks), (*pass).commonBlock)
	if h.Per != nets.WholeGraph {
		p.do((rows+BlockRows-1)/BlockRows, (*pass).headBlock)
	}
}

// commonBlock computes for some graphs what their nodes have in common, and the head's result where that is all.
func (p *pass) commonBlock(i, worker int) {
	h, w, b, s := &p.heads[p.about], &p.in.Heads[p.about], p.graphs.blocks[i], p.scratch[worker]
	n, c := b.to-b.from, rowsOf(h.common, b.from, b.to, p.wide)
	for r := range n {
		copy(c[r*p.wide:], h.b0.value())
	}
	for k := range p.kinds {
		s.times(p.k, n, p.h, rowsOf(p.kinds[k].pooled, b.from, b.to, p.wide), p.wide, h.w0.from(h.vector+k*p.h), c,
			p.wide, kernel.Add)
	}
	for j, kind := range h.Given {
		x := rowsOf(h.chosen[j], b.from, b.to, p.wide)
		for r := range n {
			row := x[r*p.wide:][:p.wide]
			if at := w.Given[j][b.from+r]; at >= 0 {
				copy(row, p.kinds[kind].last()[int(at)*p.wide:])
			} else {
				clear(row)
			}
		}
		s.times(p.k, n, p.h, x, p.wide, h.w0.from(h.given+j*p.h), c, p.wide, kernel.Add)
	}
	if h.Extra > 0 {
		s.times(p.k, n, h.Extra, w.Extra[b.from*h.Extra:], h.Extra, h.w0.from(h.extra), c, p.wide, kernel.Add)
	}
	if h.Per == nets.WholeGraph {
		x := s.y[:n*p.wide]
		if p.storing {
			x = rowsOf(h.hidden, b.from, b.to, p.wide)
		}
		for j, v := range c {
			x[j] = max(v, 0)
		}
		p.score(h, b, x)
	}
}

// headBlock computes the results of some nodes.
func (p *pass) headBlock(i, worker int) {
	h, s := &p.heads[p.about], p.scratch[worker]
	k := &p.kinds[h.Per]
	b := block{h.Per, i * BlockRows, min((i+1)*BlockRows, k.rows)}
	x := s.y[:(b.to-b.from)*p.wide]
	if p.storing {
		x = rowsOf(h.hidden, b.from, b.to, p.wide)
	}
	p.fill(x, b, k, h.common)
	s.product = kernel.Product{
		M: b.to - b.from, N: p.wide, K: p.h, A: k.last()[b.from*p.wide:], AK: 1, AM: p.wide, B: h.w0.value(), LDB: p.wide,
		C: x, LDC: p.wide, Start: kernel.Add, Finish: kernel.ReLU,
	}
	p.k.Product(&s.product)
	p.score(h, b, x)
}

// fill sets a block's rows to those of their graphs.
func (p *pass) fill(x []float32, b block, k *nodeKind, of []float32) {
	for i, last := k.pieces.of(b.from); i < last; i++ {
		row := of[int(k.pieces.graph[i])*p.wide:][:p.wide]
		for r := int(k.pieces.starts[i]); r < int(k.pieces.starts[i+1]); r++ {
			copy(x[(r-b.from)*p.wide:], row)
		}
	}
}

// score computes a head's second layer.
func (p *pass) score(h *head, b block, hidden []float32) {
	out := rowsOf(h.out, b.from, b.to, h.Out)
	for r := range b.to - b.from {
		copy(out[r*h.Out:][:h.Out], h.b1.value())
	}
	for o := range h.Out {
		p.k.Dots(out[o:], h.Out, hidden, b.to-b.from, h.w1.from(o)[:p.wide])
	}
}

// headsBack sets the gradients w.r.t. the last layer's x from those w.r.t. the results of the heads that have run.
func (p *pass) headsBack() {
	graphs := p.in.Batch.Graphs()
	for i := range p.heads {
		h, w := &p.heads[i], &p.in.Heads[i]
		if !w.Ran {
			continue
		}
		h.gout, h.dh, h.dcommon = core.Grow(h.gout, w.Grad.Len()), core.Grow(h.dh, w.Rows*p.wide),
			core.Grow(h.dcommon, graphs*p.wide)
		w.Grad.Load(h.gout)
		for j := range h.dgiven {
			h.dgiven[j] = core.Grow(h.dgiven[j], graphs*p.wide)
		}
		if h.Per != nets.WholeGraph {
			h.partial = core.Grow(h.partial, len(p.kinds[h.Per].pieces.graph)*p.wide)
		}
		for j := range h.transposed {
			p.k.Transpose(h.transposed[j], p.wide, h.w0.from(j*p.h), p.wide, p.h, p.wide)
		}
	}
	p.do(p.shards, (*pass).scoreBack)
	for i := range p.heads {
		if h := &p.heads[i]; p.in.Heads[i].Ran && h.Per != nets.WholeGraph {
			p.addPieces(h.dcommon, &p.kinds[h.Per], h.partial)
		}
	}
	p.do(min(p.shards, len(p.graphs.blocks)), (*pass).commonBack)
	p.do(len(p.blocks), (*pass).lastBack)
	for i := range p.heads {
		if p.in.Heads[i].Ran {
			p.givenBack(&p.heads[i], &p.in.Heads[i])
		}
	}
}

func (p *pass) scoreBack(i, worker int) { p.eachBlock(i, (*pass).scoreBlockBack, worker) }

// scoreBlockBack goes back through the heads per node as far as what a graph's nodes have in common.
func (p *pass) scoreBlockBack(b block, s *scratch, sums []float32) {
	k := &p.kinds[b.kind]
	for i := range p.heads {
		h := &p.heads[i]
		if h.Per != b.kind || !p.in.Heads[i].Ran {
			continue
		}
		p.hiddenBack(h, b, s, sums)
		dh := rowsOf(h.dh, b.from, b.to, p.wide)
		s.addOuter(p.k, b.to-b.from, p.h, k.last()[b.from*p.wide:], p.wide, dh, h.w0.in(sums), p.wide)
		first, last := k.pieces.of(b.from)
		p.g.Sums(h.partial[first*p.wide:], h.dh, k.pieces.starts[first:last+1], p.wide)
	}
}

// hiddenBack sets the gradient w.r.t. the first layer's sums, and adds to those w.r.t. the second layer's parameters.
func (p *pass) hiddenBack(h *head, b block, s *scratch, sums []float32) {
	n, g := b.to-b.from, h.gout[b.from*h.Out:]
	hidden, dh, db := rowsOf(h.hidden, b.from, b.to, p.wide), rowsOf(h.dh, b.from, b.to, p.wide), h.b1.in(sums)
	for r := range n {
		for o, v := range g[r*h.Out:][:h.Out] {
			db[o] += v
		}
	}
	s.addOuter(p.k, n, h.Out, g, h.Out, hidden, h.w1.in(sums), p.wide)
	s.product = kernel.Product{
		M: n, N: p.wide, K: h.Out, A: g, AK: 1, AM: h.Out, B: h.w1.value(), LDB: p.wide, C: dh, LDC: p.wide,
		Finish: kernel.Mask, Mask: hidden, LDM: p.wide,
	}
	p.k.Product(&s.product)
}

// commonBack goes back from what graphs' nodes have in common.
func (p *pass) commonBack(i, worker int) {
	s, sums := p.scratch[worker], p.sums[i]
	from, to := pool.Shard(i, min(p.shards, len(p.graphs.blocks)), len(p.graphs.blocks))
	for _, b := range p.graphs.blocks[from:to] {
		for j := range p.heads {
			if p.in.Heads[j].Ran {
				p.commonBlockBack(&p.heads[j], &p.in.Heads[j], b, s, sums)
			}
		}
	}
}

func (p *pass) commonBlockBack(h *head, w *headRun, b block, s *scratch, sums []float32) {
	n, dc := b.to-b.from, rowsOf(h.dcommon, b.from, b.to, p.wide)
	part := 0 // of transposed
	if h.Per == nets.WholeGraph {
		p.hiddenBack(h, b, s, sums)
		copy(dc, rowsOf(h.dh, b.from, b.to, p.wide))
	} else {
		part = 1
	}
	for r := range n {
		p.k.Axpy(1, dc[r*p.wide:][:p.wide], h.b0.in(sums))
	}
	for k := range p.kinds {
		s.addOuter(p.k, n, p.h, rowsOf(p.kinds[k].pooled, b.from, b.to, p.wide), p.wide, dc,
			h.w0.fromIn(sums, h.vector+k*p.h), p.wide)
		s.times(p.k, n, p.h, dc, p.wide, h.transposed[part], rowsOf(p.kinds[k].dpooled, b.from, b.to, p.wide),
			p.wide, kernel.Add)
		part++
	}
	for j := range h.Given {
		s.addOuter(p.k, n, p.h, rowsOf(h.chosen[j], b.from, b.to, p.wide), p.wide, dc,
			h.w0.fromIn(sums, h.given+j*p.h), p.wide)
		s.times(p.k, n, p.h, dc, p.wide, h.transposed[part], rowsOf(h.dgiven[j], b.from, b.to, p.wide), p.wide, kernel.Zero)
		part++
	}
	if h.Extra > 0 {
		s.addOuter(p.k, n, h.Extra, w.Extra[b.from*h.Extra:], h.Extra, dc, h.w0.fromIn(sums, h.extra), p.wide)
	}
}

// lastBack sets a block's gradient w.r.t. its last x: its part of its graph's mean, and the heads per node.
func (p *pass) lastBack(i, worker int) {
	b, s := p.blocks[i], p.scratch[worker]
	k := &p.kinds[b.kind]
	g := rowsOf(k.grad[0], b.from, b.to, p.wide)
	starts := p.in.Batch.Nodes[b.kind].Starts
	for i, last := k.pieces.of(b.from); i < last; i++ {
		graph := int(k.pieces.graph[i])
		n, d := float32(starts[graph+1]-starts[graph]), k.dpooled[graph*p.wide:][:p.wide]
		first := g[(int(k.pieces.starts[i])-b.from)*p.wide:][:p.wide]
		for j, v := range d {
			first[j] = v / n
		}
		for r := int(k.pieces.starts[i]) + 1; r < int(k.pieces.starts[i+1]); r++ {
			copy(g[(r-b.from)*p.wide:], first)
		}
	}
	for j := range p.heads {
		if h := &p.heads[j]; h.Per == b.kind && p.in.Heads[j].Ran {
			s.times(p.k, b.to-b.from, p.h, rowsOf(h.dh, b.from, b.to, p.wide), p.wide, h.transposed[0], g, p.wide, kernel.Add)
		}
	}
}

// givenBack adds to the gradients w.r.t. the nodes that a head was given.
func (p *pass) givenBack(h *head, w *headRun) {
	for j, kind := range h.Given {
		for g, r := range w.Given[j] {
			if r >= 0 {
				p.k.Axpy(1, h.dgiven[j][g*p.wide:][:p.wide], p.kinds[kind].grad[0][int(r)*p.wide:])
			}
		}
	}
}
