package graph

import (
	"github.com/stoker-rl/stoker/internal/pool"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// Backward implements [core.GraphPass].
func (p *pass) Backward() {
	if !p.storing { // the first time: activations were not stored
		p.storing = true
		p.Forward()
		for i := range p.heads {
			if p.in.Heads[i].Ran {
				p.head(i, p.heads[i].out)
			}
		}
	}
	p.paced(&p.paces[1], (*pass).back)
}

// back goes back through heads and layers.
func (p *pass) back() {
	p.planBack()
	p.headsBack()
	for p.layer = len(p.layers) - 1; p.layer >= 0; p.layer-- {
		p.do(p.shards, (*pass).receiveBack)
		for i := range p.kinds {
			if k := &p.kinds[i]; k.updated {
				k.grad[0], k.grad[1] = k.grad[1], k.grad[0]
			}
		}
		p.do(p.shards, (*pass).spreadBack)
	}
	p.do(p.shards, (*pass).embedBack)
	p.do(len(p.par.all), (*pass).reduce)
	p.allTermsBack()
}

// planBack makes what the way back writes to.
func (p *pass) planBack() {
	for len(p.sums) < p.shards {
		p.sums = append(p.sums, make([]float32, p.par.size))
	}
	for i := range p.kinds {
		k := &p.kinds[i]
		k.dscores = core.Grow(k.dscores, k.terms*k.rows)
		k.grad[0] = core.Grow(k.grad[0], k.rows*p.wide)
		if k.updated {
			k.grad[1] = core.Grow(k.grad[1], k.rows*p.wide)
		}
		clear(k.dpooled)
	}
	for i := range p.edges {
		e := &p.edges[i]
		n := len(e.b.From)
		e.c, e.back = core.Grow(e.c, n), core.Grow(e.back, n)
		if !e.first {
			e.dagg = core.Grow(e.dagg, p.kinds[e.to].rows*p.wide)
		}
		if !e.active() {
			from, to := &p.kinds[e.from], &p.kinds[e.to]
			clear(from.dscores[e.source*from.rows:][:from.rows])
			clear(to.dscores[e.target*to.rows:][:to.rows])
		}
		for l := range p.layers {
			x := &p.layers[l].edges[i]
			p.k.Transpose(x.transposed, p.wide, x.weight.value(), p.wide, p.h, p.wide)
			if e.width > 0 {
				p.k.Transpose(x.transposedFeatures, e.padded, x.ff.value(), p.wide, e.width, p.wide)
			}
		}
	}
	for l := range p.layers {
		for i := range p.kinds {
			if x := &p.layers[l].nodes[i]; x.own != nil {
				p.k.Transpose(x.transposed, p.wide, x.own.value(), p.wide, p.h, p.wide)
			}
		}
	}
}

// eachBlock runs f over the blocks of a shard.
func (p *pass) eachBlock(i int, f func(p *pass, b block, s *scratch, sums []float32), worker int) {
	from, to := pool.Shard(i, p.shards, len(p.blocks))
	for _, b := range p.blocks[from:to] {
		f(p, b, p.scratch[worker], p.sums[i])
	}
}

func (p *pass) receiveBack(i, worker int) { p.eachBlock(i, (*pass).receiveBlockBack, worker) }
func (p *pass) spreadBack(i, worker int)  { p.eachBlock(i, (*pass).spreadBlockBack, worker) }
func (p *pass) embedBack(i, worker int)   { p.eachBlock(i, (*pass).embedBlockBack, worker) }

// receiveBlockBack takes a block's gradient w.r.t. its new x back to what it received, ∂L/∂y, and on to what was
// aggregated for it. D_v stands by edge, as what is still to be added to a gradient w.r.t. a weight.
func (p *pass) receiveBlockBack(b block, s *scratch, sums []float32) {
	k, l := &p.kinds[b.kind], p.layer
	layer, n := &p.layers[l], b.to-b.from
	if l+1 < len(p.layers) {
		p.termsBack(b, s, sums, l+1)
	}
	if !k.updated {
		return
	}
	nodes, g, gx := &layer.nodes[b.kind], rowsOf(k.grad[0], b.from, b.to, p.wide), rowsOf(k.grad[1], b.from, b.to, p.wide)
	x, out := rowsOf(k.x[l], b.from, b.to, p.wide), rowsOf(k.x[l+1], b.from, b.to, p.wide)
	p.drop(b, nodes, g)
	if nodes.gain != nil {
		p.g.NormRowsBack(g, out, rowsOf(nodes.hat, b.from, b.to, p.wide), nodes.scale[b.from:b.to],
			nodes.gain.value(), p.lanes,
			nodes.gain.in(sums), nodes.offset.in(sums), nodes.bias.in(sums), float32(p.h))
	} else {
		p.g.BiasRowsBack(g, out, nodes.bias.in(sums), n)
	}
	if p.a.Skip {
		copy(gx, g)
	} else {
		clear(gx)
	}
	if nodes.own != nil {
		s.times(p.k, n, p.h, g, p.wide, nodes.transposed, gx, p.wide, kernel.Add)
		s.addOuter(p.k, n, p.h, x, p.wide, g, nodes.own.in(sums), p.wide)
	}
	for _, j := range k.in {
		if p.edges[j].active() {
			p.aggregateBack(b, s, sums, j, g)
		}
	}
}

// aggregateBack takes ∂L/∂y back along a kind of edges, as far as the nodes that received.
func (p *pass) aggregateBack(b block, s *scratch, sums []float32, j int, g []float32) {
	e, x, n := &p.edges[j], &p.layers[p.layer].edges[j], b.to-b.from
	agg, d := rowsOf(x.agg, b.from, b.to, p.wide), s.d[:n]
	clear(d)
	if e.first {
		p.k.RowDots(d, g, agg, p.wide)
	} else {
		dagg := rowsOf(e.dagg, b.from, b.to, p.wide)
		s.times(p.k, n, p.h, g, p.wide, x.transposed, dagg, p.wide, kernel.Zero)
		s.addOuter(p.k, n, p.h, agg, p.wide, g, x.weight.in(sums), p.wide)
		p.k.RowDots(d, dagg, agg, p.wide)
	}
	features := s.features[:n*e.padded]
	if e.width > 0 {
		aggregated := rowsOf(x.aggFeatures, b.from, b.to, e.padded)
		s.times(p.k, n, p.h, g, p.wide, x.transposedFeatures, features, e.padded, kernel.Zero)
		s.addOuter(p.k, n, e.width, aggregated, e.padded, g, x.ff.in(sums), p.wide)
		p.k.RowDots(d, features, aggregated, e.padded)
	}
	for r, v := range d {
		first, last := int(e.b.In[b.from+r]), int(e.b.In[b.from+r+1])
		c := e.c[first:last]
		for i := range c {
			c[i] = -v
		}
		if e.width > 0 {
			p.k.Dots(c, 1, e.features[first*e.padded:], last-first, features[r*e.padded:][:e.padded])
		}
		back := e.back[first:last]
		for i, w := range x.w[first:last] {
			back[i] = kernel.Edge{W: w, C: c[i], To: int32(b.from + r)}
		}
	}
}

// spreadBlockBack takes gradients back to a block's nodes along the edges that leave it.
func (p *pass) spreadBlockBack(b block, s *scratch, sums []float32) {
	k, l, n := &p.kinds[b.kind], p.layer, b.to-b.from
	gx, x := rowsOf(k.grad[0], b.from, b.to, p.wide), rowsOf(k.x[l], b.from, b.to, p.wide)
	for _, j := range k.out {
		e, y := &p.edges[j], &p.layers[l].edges[j]
		if !e.active() {
			continue
		}
		to, dp, starts := &p.kinds[e.to], k.dscores[e.source*k.rows:][b.from:b.to], e.b.OutStarts[b.from:b.to+1]
		if !e.first {
			p.g.Spread(gx, dp, x, e.dagg, e.back, e.b.Out, starts, p.wide, nets.Slope)
			continue
		}
		gm := s.y[:n*p.wide]
		clear(gm)
		p.g.Spread(gm, dp, rowsOf(y.m, b.from, b.to, p.wide), to.grad[1], e.back, e.b.Out, starts, p.wide, nets.Slope)
		s.times(p.k, n, p.h, gm, p.wide, y.transposed, gx, p.wide, kernel.Add)
		s.addOuter(p.k, n, p.h, x, p.wide, gm, y.weight.in(sums), p.wide)
	}
}

// termsBack adds to a block's gradient w.r.t. a layer's x what comes through its nodes' parts of scores.
func (p *pass) termsBack(b block, s *scratch, sums []float32, l int) {
	k, n := &p.kinds[b.kind], b.to-b.from
	if k.terms == 0 {
		return
	}
	for _, j := range k.in {
		e := &p.edges[j]
		if !e.active() {
			continue
		}
		in := e.b.In[b.from : b.to+1]
		for r, part := 0, k.dscores[e.target*k.rows:][b.from:b.to]; r < n; r++ {
			sum := float32(0)
			edges := e.back[in[r]:in[r+1]]
			for i := range edges {
				sum += edges[i].DZ
			}
			part[r] = sum
		}
		if e.width > 0 {
			first, last := int(in[0]), int(in[n])
			dz := e.c[first:last]
			for i := range dz {
				dz[i] = e.back[first+i].DZ
			}
			s.addOuter(p.k, last-first, 1, dz, 1, e.features[first*e.padded:], p.layers[l].edges[j].terms.in(sums), e.padded)
		}
	}
	terms := p.layers[l].nodes[b.kind].terms
	gx, x := rowsOf(k.grad[0], b.from, b.to, p.wide), rowsOf(k.x[l], b.from, b.to, p.wide)
	s.product = kernel.Product{
		M: n, N: p.wide, K: k.terms, A: k.dscores[b.from:], AK: k.rows, AM: 1, B: terms.value(), LDB: p.wide, C: gx,
		LDC: p.wide, Start: kernel.Add,
	}
	p.k.Product(&s.product)
	s.product = kernel.Product{
		M: k.terms, N: p.wide, K: n, A: k.dscores[b.from:], AK: 1, AM: k.rows, B: x, LDB: p.wide, C: terms.in(sums),
		LDC: p.wide, Start: kernel.Add,
	}
	p.k.Product(&s.product)
}

// embedBlockBack takes a block's gradient w.r.t. the features embedded to the parameters.
func (p *pass) embedBlockBack(b block, s *scratch, sums []float32) {
	k, n := &p.kinds[b.kind], b.to-b.from
	if len(p.layers) > 0 {
		p.termsBack(b, s, sums, 0)
	}
	g := rowsOf(k.grad[0], b.from, b.to, p.wide)
	p.g.BiasRowsBack(g, rowsOf(k.x[0], b.from, b.to, p.wide), k.bias.in(sums), n)
	s.addOuter(p.k, n, k.width, k.features[b.from*k.width:], k.width, g, k.weight.in(sums), p.wide)
}

// reduce adds up the shards of one parameter.
func (p *pass) reduce(i, _ int) { p.par.all[i].reduce(p.k, p.sums[:p.shards]) }

// allTermsBack takes the gradients w.r.t. W·source, W·target and F·source to their factors.
func (p *pass) allTermsBack() {
	for l := range p.layers {
		layer := &p.layers[l]
		for i := range p.edges {
			e, x := &p.edges[i], &layer.edges[i]
			from, to := layer.nodes[e.from].terms, layer.nodes[e.to].terms
			p.throughBack(from.fromIn(p.sums[0], e.source), x.weight, x.source, p.h)
			p.throughBack(to.fromIn(p.sums[0], e.target), x.weight, x.target, p.h)
			if e.width > 0 {
				p.throughBack(x.terms.in(p.sums[0]), x.ff, x.source, e.width)
			}
		}
	}
}

// throughBack takes the gradient by matrix·vector to both, and leaves it at zero.
func (p *pass) throughBack(g []float32, matrix, vector *param, rows int) {
	v, dv := vector.value()[:p.h], vector.grad()
	for r, a := range g[:rows] {
		p.k.Axpy(a, v, matrix.grad()[r*p.h:])
		p.k.Axpy(a, matrix.from(r)[:p.h], dv)
	}
	clear(g[:rows])
}
