package graph

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

// blockRows is how many nodes of a kind go through a layer together: their rows and what is aggregated for
// them, of 64 features each, are 32 kB.
const blockRows = 64

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
			if r%blockRows == 0 {
				p.first = append(p.first, int32(len(p.graph)))
			}
			p.starts, p.graph = append(p.starts, r), append(p.graph, int32(g))
			r = min((r/blockRows+1)*blockRows, starts[g+1])
		}
	}
	p.starts, p.first = append(p.starts, starts[len(starts)-1]), append(p.first, int32(len(p.graph)))
}

// of is the pieces of a block that begins at a row.
func (p *pieces) of(row int) (first, last int) {
	return int(p.first[row/blockRows]), int(p.first[row/blockRows+1])
}

// groups is graphs side by side in blocks.
type groups struct{ blocks []block }

// plan cuts the batch into blocks and makes what passes over it write to.
func (p *pass) plan() {
	b := p.in.Batch
	p.blocks, p.graphs.blocks = p.blocks[:0], p.graphs.blocks[:0]
	graphs := b.Graphs()
	for from := 0; from < graphs; from += blockRows {
		p.graphs.blocks = append(p.graphs.blocks, block{nets.WholeGraph, from, min(from+blockRows, graphs)})
	}
	for i := range p.kinds {
		k := &p.kinds[i]
		k.rows, k.features = b.Nodes[i].Rows(), b.Nodes[i].Features
		for from := 0; from < k.rows; from += blockRows {
			p.blocks = append(p.blocks, block{i, from, min(from+blockRows, k.rows)})
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
