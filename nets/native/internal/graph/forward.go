package graph

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/internal/tile"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// BlockRows is how many nodes of a kind go through a layer together: their rows and what is aggregated for
// them, of 64 features each, are 32 kB.
const BlockRows = 64

// block is nodes of a kind, rows [from, to).
type block struct{ kind, from, to int }

// pieces are the parts of graphs' rows that blocks cut: piece i is rows [starts[i], starts[i+1]) of one graph,
// and block j of the kind has pieces [first[j], first[j+1]).
type pieces struct {
	starts, graph, first []int32
}

// cut cuts the rows of graphs, which begin at starts.
func (p *pieces) cut(starts []int32) {
	p.starts, p.graph, p.first = p.starts[:0], p.graph[:0], p.first[:0]
	for g := range len(starts) - 1 {
		for r := starts[g]; r < starts[g+1]; {
			if r%BlockRows == 0 {
				p.first = append(p.first, int32(len(p.graph)))
			}
			p.starts, p.graph = append(p.starts, r), append(p.graph, int32(g))
			r = min((r/BlockRows+1)*BlockRows, starts[g+1])
		}
	}
	p.starts, p.first = append(p.starts, starts[len(starts)-1]), append(p.first, int32(len(p.graph)))
}

// of is the pieces of a block that begins at a row.
func (p *pieces) of(row int) (first, last int) {
	return int(p.first[row/BlockRows]), int(p.first[row/BlockRows+1])
}

// groups is graphs side by side in blocks.
type groups struct{ blocks []block }

// plan cuts the batch into blocks and makes what passes over it write to.
func (p *pass) plan() {
	b := p.in.Batch
	p.blocks, p.graphs.blocks = p.blocks[:0], p.graphs.blocks[:0]
	graphs := b.Graphs()
	for from := 0; from < graphs; from += BlockRows {
		p.graphs.blocks = append(p.graphs.blocks, block{nets.WholeGraph, from, min(from+BlockRows, graphs)})
	}
	for i := range p.kinds {
		k := &p.kinds[i]
		k.rows, k.features = b.Nodes[i].Rows(), b.Nodes[i].Features
		for from := 0; from < k.rows; from += BlockRows {
			p.blocks = append(p.blocks, block{i, from, min(from+BlockRows, k.rows)})
		}
		k.pieces.cut(b.Nodes[i].Starts)
		k.partial = core.Grow(k.partial, len(k.pieces.graph)*p.wide)
		k.pooled, k.dpooled = core.Grow(k.pooled, graphs*p.wide), core.Grow(k.dpooled, graphs*p.wide)
		for j := range k.scores {
			k.scores[j] = core.Grow(k.scores[j], k.terms*k.rows)
		}
		for l := range k.x {
			k.place(l, p.storing, k.rows*p.wide)
		}
	}
	for i := range p.edges {
		e := &p.edges[i]
		e.b = &b.Edges[i]
		n := len(e.b.From)
		e.first = productFirst(p.kinds[e.from].rows, p.kinds[e.to].rows)
		if e.width > 0 {
			e.features, e.extra = core.Grow(e.features, n*e.padded), core.Grow(e.extra, n)
		}
	}
	for l := range p.layers {
		p.planLayer(l)
	}
	p.shards = shardCount(len(p.blocks))
}

// place makes room for x of layer l: with storing for each, else for two in turn, or one that no layer changes.
func (k *nodeKind) place(l int, storing bool, size int) {
	from := l
	switch {
	case !k.updated:
		from = 0
	case !storing:
		from = l % 2
	}
	if from == l {
		k.own[l] = core.Grow(k.own[l], size)
	}
	k.x[l] = k.own[from]
}

// planLayer does so for a layer. Without storing, layers take their memory in turn.
func (p *pass) planLayer(l int) {
	layer := &p.layers[l]
	for i := range p.edges {
		e, x := &p.edges[i], &layer.edges[i]
		of := l // whose memory it takes
		if !p.storing {
			of = l % 2
		}
		mine := &p.layers[of].edges[i]
		if of == l {
			x.ownW = core.Grow(x.ownW, len(e.b.From))
			if e.first {
				x.ownM = core.Grow(x.ownM, p.kinds[e.from].rows*p.wide)
			}
		}
		x.w, x.m = mine.ownW, mine.ownM
		if p.storing {
			rows := p.kinds[e.to].rows
			x.agg = core.Grow(x.agg, rows*p.wide)
			x.aggFeatures = core.Grow(x.aggFeatures, rows*e.padded)
		}
	}
	for i := range p.kinds {
		k, x := &p.kinds[i], &layer.nodes[i]
		if p.in.Drop != nil && k.updated {
			x.mask = core.Grow(x.mask, k.rows*p.h)
		}
		if p.storing && k.updated && x.gain != nil {
			x.hat, x.scale = core.Grow(x.hat, k.rows*p.wide), core.Grow(x.scale, k.rows)
		}
	}
}

// productFirst says whether messages are multiplied before they are added up, or after: what has fewer rows.
func productFirst(from, to int) bool { return from < to }

// shardCount is in how many parts gradients are summed; it follows from the number of blocks alone.
func shardCount(blocks int) int {
	shards := 1
	for shards < 32 && blocks >= 8*shards {
		shards *= 2
	}
	return shards
}

// Forward implements [core.GraphPass].
func (p *pass) Forward() {
	p.plan()
	p.paced(&p.paces[0], (*pass).embed)
}

// embed goes through all layers.
func (p *pass) embed() {
	p.par.copyAll()
	p.allTerms()
	if p.in.Drop != nil {
		p.do(len(p.layers)*len(p.kinds), (*pass).maskPart)
	}
	p.do(len(p.blocks), (*pass).embedBlock)
	for p.layer = range p.layers {
		p.do(len(p.blocks), (*pass).layerBlock)
	}
	p.pool()
}

// allTerms computes W·source, W·target and F·source of all layers.
func (p *pass) allTerms() {
	for l := range p.layers {
		layer := &p.layers[l]
		for i := range p.edges {
			e, x := &p.edges[i], &layer.edges[i]
			from, to := layer.nodes[e.from].terms, layer.nodes[e.to].terms
			p.through(from.from(e.source), x.weight, x.source, p.h)
			p.through(to.from(e.target), x.weight, x.target, p.h)
			if e.width > 0 {
				p.through(x.terms.value(), x.ff, x.source, e.width)
			}
		}
	}
}

// through sets dst = matrix·vector, of some rows.
func (p *pass) through(dst []float32, matrix, vector *param, rows int) {
	clear(dst[:rows])
	p.k.Dots(dst, 1, matrix.value(), rows, vector.value())
}

// maskPart draws the dropout mask of a layer's new x of a kind.
func (p *pass) maskPart(i, _ int) {
	l, kind := i/len(p.kinds), i%len(p.kinds)
	if p.kinds[kind].updated {
		p.in.Mask(p.layers[l].nodes[kind].mask, l, kind)
	}
}

// embedBlock does x = ReLU(f·In + b), and copies the features of the edges that end in the block.
func (p *pass) embedBlock(i, worker int) {
	b, s := p.blocks[i], p.scratch[worker]
	k := &p.kinds[b.kind]
	x, n := rowsOf(k.x[0], b.from, b.to, p.wide), b.to-b.from
	s.times(p.k, n, k.width, k.features[b.from*k.width:], k.width, k.weight.value(), x, p.wide, kernel.Zero)
	p.g.BiasRows(x, x, nil, k.bias.value(), n)
	for _, j := range k.in {
		e := &p.edges[j]
		if e.width == 0 {
			continue
		}
		for r := int(e.b.In[b.from]); r < int(e.b.In[b.to]); r++ {
			row := e.features[r*e.padded:][:e.padded]
			clear(row[copy(row, e.b.Features[r*e.width:][:e.width]):])
		}
	}
	p.after(b, s, 0)
}

// layerBlock does a layer for a block: what its nodes receive, norm, ReLU and dropout.
func (p *pass) layerBlock(i, worker int) {
	b, s, l := p.blocks[i], p.scratch[worker], p.layer
	k, layer := &p.kinds[b.kind], &p.layers[l]
	if !k.updated {
		p.after(b, s, l+1)
		return
	}
	n, nodes := b.to-b.from, &layer.nodes[b.kind]
	y, start := s.y[:n*p.wide], kernel.Zero
	x, out := rowsOf(k.x[l], b.from, b.to, p.wide), rowsOf(k.x[l+1], b.from, b.to, p.wide)
	if nodes.own != nil {
		s.times(p.k, n, p.h, x, p.wide, nodes.own.value(), y, p.wide, start)
		start = kernel.Add
	}
	for _, j := range k.in {
		if p.edges[j].active() {
			p.receive(b, s, j, y, start)
			start = kernel.Add
		}
	}
	if start == kernel.Zero {
		clear(y)
	}
	if !p.a.Skip {
		x = nil
	}
	if nodes.gain != nil {
		hat, scale := y, s.scale[:n]
		if p.storing {
			hat, scale = rowsOf(nodes.hat, b.from, b.to, p.wide), nodes.scale[b.from:b.to]
		}
		p.g.NormRows(out, hat, scale, y, x, nodes.bias.value(), nodes.gain.value(), nodes.offset.value(), p.lanes,
			float32(p.h), nets.LayerNormEpsilon)
	} else {
		p.g.BiasRows(out, y, x, nodes.bias.value(), n)
	}
	p.drop(b, nodes, out)
	p.after(b, s, l+1)
}

// receive adds to y what a block's nodes receive along a kind of edges, or sets it.
func (p *pass) receive(b block, s *scratch, j int, y []float32, start kernel.Start) {
	e, x := &p.edges[j], &p.layers[p.layer].edges[j]
	from, to, n := &p.kinds[e.from], &p.kinds[e.to], b.to-b.from
	in := e.b.In[b.from : b.to+1]
	first, last := int(in[0]), int(in[n])
	if e.width > 0 {
		extra := e.extra[first:last]
		clear(extra)
		p.k.Dots(extra, 1, e.features[first*e.padded:], last-first, x.terms.value())
	}
	p.g.Weigh(x.w, from.termsOf(p.layer, e.source), to.termsOf(p.layer, e.target)[b.from:b.to], e.extra, e.b.From,
		in, nets.Slope)
	agg := s.agg[:n*p.wide]
	if p.storing {
		agg = rowsOf(x.agg, b.from, b.to, p.wide)
	}
	if e.first {
		p.g.Gather(agg, x.w, x.m, e.b.From, in, p.wide)
		if start == kernel.Zero {
			copy(y, agg)
		} else {
			p.k.Axpy(1, agg, y)
		}
	} else {
		p.g.Gather(agg, x.w, from.x[p.layer], e.b.From, in, p.wide)
		s.times(p.k, n, p.h, agg, p.wide, x.weight.value(), y, p.wide, start)
	}
	if e.width > 0 {
		features := s.features[:n*e.padded]
		if p.storing {
			features = rowsOf(x.aggFeatures, b.from, b.to, e.padded)
		}
		p.g.Combine(features, x.w, e.features, in, e.padded)
		s.times(p.k, n, e.width, features, e.padded, x.ff.value(), y, p.wide, kernel.Add)
	}
}

// drop multiplies a block's rows by the layer's mask.
func (p *pass) drop(b block, nodes *layerNodes, x []float32) {
	if p.in.Drop == nil {
		return
	}
	for r := range b.to - b.from {
		row := x[r*p.wide:][:p.h]
		for i, m := range nodes.mask[(b.from+r)*p.h:][:p.h] {
			row[i] *= m
		}
	}
}

// after prepares the next layer while a block's x is in the cache, or after the last the sums over graphs.
func (p *pass) after(b block, s *scratch, l int) {
	k := &p.kinds[b.kind]
	n, x := b.to-b.from, rowsOf(k.x[l], b.from, b.to, p.wide)
	if l == len(p.layers) {
		first, last := k.pieces.of(b.from)
		p.g.Sums(k.partial[first*p.wide:], k.x[l], k.pieces.starts[first:last+1], p.wide)
		return
	}
	terms := p.layers[l].nodes[b.kind].terms
	for j := range k.terms {
		part := k.termsOf(l, j)[b.from:b.to]
		clear(part)
		p.k.Dots(part, 1, x, n, terms.from(j)[:p.wide])
	}
	for _, j := range k.out {
		if e, x2 := &p.edges[j], &p.layers[l].edges[j]; e.first && e.active() {
			s.times(p.k, n, p.h, x, p.wide, x2.weight.value(), rowsOf(x2.m, b.from, b.to, p.wide), p.wide, kernel.Zero)
		}
	}
}

// pool adds up the graphs' means.
func (p *pass) pool() {
	for i := range p.kinds {
		k, starts := &p.kinds[i], p.in.Batch.Nodes[i].Starts
		p.addPieces(k.pooled, k, k.partial)
		for g := range p.in.Batch.Graphs() {
			if n := starts[g+1] - starts[g]; n > 0 {
				mean := k.pooled[g*p.wide:][:p.wide]
				for j := range mean {
					mean[j] /= float32(n)
				}
			}
		}
	}
}

// addPieces sets dst [graphs][wide] to the sums over each graph's pieces.
func (p *pass) addPieces(dst []float32, k *nodeKind, partial []float32) {
	clear(dst)
	for i, g := range k.pieces.graph {
		p.k.Axpy(1, partial[i*p.wide:][:p.wide], dst[int(g)*p.wide:])
	}
}

// Embedding implements [core.GraphPass].
func (p *pass) Embedding(kind int, out *tile.Tensor) {
	k := &p.kinds[kind]
	p.results = core.Grow(p.results, out.Len())
	for r := range k.rows {
		copy(p.results[r*p.h:][:p.h], k.last()[r*p.wide:])
	}
	out.Store(p.results)
}

// Pooled implements [core.GraphPass].
func (p *pass) Pooled(out *tile.Tensor) {
	width := p.h * len(p.kinds)
	p.results = core.Grow(p.results, out.Len())
	for g := range p.in.Batch.Graphs() {
		for i := range p.kinds {
			copy(p.results[g*width+i*p.h:][:p.h], p.kinds[i].pooled[g*p.wide:])
		}
	}
	out.Store(p.results)
}
