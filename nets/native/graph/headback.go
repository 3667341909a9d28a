package graph

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
	"github.com/stoker-rl/stoker/nets/native/pool"
)

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
