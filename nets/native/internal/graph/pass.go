// Package graph computes networks over graphs ([nets.Graph]) with kernels, on row-major rows of nodes, block by block.
//
// A file is a part of the pass: forward plans a batch's memory and goes through the layers, backward goes back, head
// goes both ways through the heads, and params arranges the parameters in padded rows. plain/graph.go computes
// the same an edge at a time and has the equations.
//
// What is not here: the kernels themselves (kernel), tensors and optimisers (tile), checks (core).
package graph

import (
	"math"
	"time"

	"github.com/stoker-rl/stoker/internal/pool"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
	"github.com/stoker-rl/stoker/nets/native/internal/tile"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// pass runs a [nets.Graph] with kernels. It computes what plain/graph.go does, arranged so that products run
// over nodes and not over edges, and that no two threads add to the same number:
//
//   - A score is a sum of terms of its nodes, x_u·(W·source) and x_v·(W·target), with W·source and W·target
//     computed once a pass.
//   - Σ α·(x_u·W) is (Σ α·x_u)·W: of the two, the one whose product has fewer rows.
//   - Backward, D_v = Σ_u α_uv (g_v·m_uv) is g_v·Σ_u α_uv m_uv, so that the edges are visited once, by where
//     they begin.
//
// Rows are padded to a multiple of 16. The nodes are cut into blocks of BlockRows, each of which goes through
// all of a layer while it is in the cache: aggregation, product, norm, and the next layer's scores. A phase
// does that for all blocks, on as many threads as there are; the gradients w.r.t. the parameters are summed in
// shards that follow from the number of blocks alone.
//
// Activations are stored for backward passes from the first one on, which goes forward again for them.
type pass struct {
	in      *run
	a       nets.Graph
	k       *kernel.Set
	g       *kernel.Graphs
	h, wide int       // features of a row, and with padding
	storing bool      // activations are stored for backward passes
	lanes   []float32 // all bits set in the features of a row
	par     params
	kinds   []nodeKind
	edges   []edgeKind
	layers  []layer
	heads   []head
	blocks  []block
	shards  int
	graphs  groups      // blocks of graphs
	sums    [][]float32 // gradients by shard, laid out as par says
	scratch []*scratch

	phase        func(p *pass, i, worker int)
	layer, about int // of the phase: its layer, or the head that it is about
	threads      int // of the phase
	threadsMax   int
	paces        [2]pool.Pace // of passes forward and backward
	results      []float32    // of a head without padding, on their way to its tensor
}

// nodeKind is a kind of nodes.
type nodeKind struct {
	name     string
	width    int
	rows     int
	updated  bool
	in       []int       // kinds of edges that end here
	out      []int       // that begin here
	terms    int         // numbers of a score's parts per node: one for each of in and out
	x, own   [][]float32 // by layer, and their memory
	features []float32
	scores   [2][]float32 // [terms][rows], by layer
	dscores  []float32
	grad     [2][]float32
	pieces   pieces
	pooled   []float32 // [graphs][wide]
	dpooled  []float32
	partial  []float32 // sums over pieces
	weight   *param
	bias     *param
}

// edgeKind is a kind of edges.
type edgeKind struct {
	name           string
	from, to       int
	width, padded  int  // of features
	source, target int  // which of their kind's scores
	first          bool // the product comes before the aggregation
	b              *nets.BatchEdges
	features       []float32 // [edges][padded]
	extra          []float32 // what they add to scores
	c              []float32 // backward: what is added to gradients w.r.t. weights
	back           []kernel.Edge
	dagg           []float32 // gradient w.r.t. what is aggregated, [rows][wide]
}

// active says whether there are any edges.
func (e *edgeKind) active() bool { return len(e.b.From) > 0 }

// layer is what is stored of a layer.
type layer struct {
	edges []layerEdges
	nodes []layerNodes
}

type layerEdges struct {
	w, agg, aggFeatures            []float32 // by edge; by row that receives
	m                              []float32 // x·W of the senders, where that comes first
	ownW, ownM                     []float32 // the memory of w and m
	weight, source, target, ff     *param
	terms                          *param    // F·source
	transposed, transposedFeatures []float32 // weight and features transposed
}

type layerNodes struct {
	hat, scale              []float32
	mask                    []float32 // of dropout, [rows][h]
	own, bias, gain, offset *param
	terms                   *param // W·source and W·target, [terms][wide]
	transposed              []float32
}

// scratch is a worker's memory for a block.
type scratch struct {
	product  kernel.Product
	y, agg   []float32 // [BlockRows][wide]
	features []float32 // [BlockRows][most padded]
	d        []float32 // [BlockRows]
	scale    []float32
}

// Graphs implements [core.Graphs].
type Graphs struct{ b *tile.Backend }

// New returns networks over graphs beside a backend, whose tensors, threads and kernels they use.
func New(b *tile.Backend) Graphs { return Graphs{b} }

// NewGraphNet implements [core.Graphs].
func (g Graphs) NewGraphNet(v *vectors, _ nets.Graph) (core.GraphNetwork[*tile.Tensor], error) {
	return &network{g.b.Learner(v), g.b, v}, nil
}

type (
	vectors = core.Vectors[*tile.Tensor]
	run     = core.GraphRun[*tile.Tensor]
	headRun = core.HeadRun[*tile.Tensor]
)

// network implements [core.GraphNetwork].
type network struct {
	core.Learner[*tile.Tensor]
	b *tile.Backend
	v *vectors
}

// NewPass implements [core.GraphNetwork].
func (n *network) NewPass(r *run) core.GraphPass[*tile.Tensor] {
	threads, _ := n.b.Info()
	p := &pass{in: r, a: r.Arch, k: n.b.Kernels(), h: r.Arch.Hidden, wide: padded(r.Arch.Hidden), threadsMax: threads}
	p.g = p.k.OfGraphs()
	p.lanes = make([]float32, p.wide)
	for i := range p.h {
		p.lanes[i] = math.Float32frombits(math.MaxUint32)
	}
	p.par.init(n.v)
	p.init()
	p.par.finish()
	most := 0
	for _, e := range p.edges {
		most = max(most, e.padded)
	}
	for range p.threadsMax {
		p.scratch = append(p.scratch, &scratch{
			y: make([]float32, BlockRows*p.wide), agg: make([]float32, BlockRows*p.wide),
			features: make([]float32, BlockRows*most), d: make([]float32, BlockRows), scale: make([]float32, BlockRows),
		})
	}
	return p
}

// init lists kinds, edges, layers and heads with their parameters.
func (p *pass) init() {
	a := p.a
	for i, n := range a.Nodes {
		k := nodeKind{name: n.Name, width: n.Width, updated: a.Updated(i), x: make([][]float32, a.Layers+1),
			own: make([][]float32, a.Layers+1)}
		k.weight, k.bias = p.par.of("in.%s.weight", n.Name), p.par.of("in.%s.bias", n.Name)
		p.kinds = append(p.kinds, k)
	}
	for i, e := range a.Edges {
		from, to := &p.kinds[e.From], &p.kinds[e.To]
		x := edgeKind{name: e.Name, from: e.From, to: e.To, width: e.Width, padded: padded(e.Width)}
		from.out, x.source = append(from.out, i), from.terms
		from.terms++
		to.in, x.target = append(to.in, i), to.terms
		to.terms++
		p.edges = append(p.edges, x)
	}
	for l := range a.Layers {
		var layer layer
		for _, e := range p.edges {
			x := layerEdges{
				weight: p.par.of("layer%d.%s.weight", l, e.name), source: p.par.of("layer%d.%s.source", l, e.name),
				target: p.par.of("layer%d.%s.target", l, e.name), transposed: make([]float32, p.wide*p.wide),
			}
			if e.width > 0 {
				x.ff = p.par.of("layer%d.%s.features", l, e.name)
				x.terms = p.par.derived(1, e.padded)
				x.transposedFeatures = make([]float32, p.wide*e.padded)
			}
			layer.edges = append(layer.edges, x)
		}
		for _, k := range p.kinds {
			x := layerNodes{terms: p.par.derived(k.terms, p.wide)}
			if k.updated {
				x.bias = p.par.of("layer%d.%s.bias", l, k.name)
				if a.Own {
					x.own, x.transposed = p.par.of("layer%d.%s.own", l, k.name), make([]float32, p.wide*p.wide)
				}
				if a.Norm == nets.LayerNorm {
					x.gain, x.offset = p.par.of("layer%d.%s.gain", l, k.name), p.par.of("layer%d.%s.offset", l, k.name)
				}
			}
			layer.nodes = append(layer.nodes, x)
		}
		p.layers = append(p.layers, layer)
	}
	for i := range a.Heads {
		p.heads = append(p.heads, p.newHead(i))
	}
}

func padded(n int) int { return (n + kernel.Lanes - 1) / kernel.Lanes * kernel.Lanes }

// do does a phase of some parts.
func (p *pass) do(parts int, phase func(p *pass, i, worker int)) {
	p.phase = phase
	pool.Do(p, parts, p.threads)
}

// paced does a pass on as many threads as have been faster lately, by the time that a block takes.
func (p *pass) paced(x *pool.Pace, do func(p *pass)) {
	blocks := max(1, len(p.blocks))
	if p.threads = x.Threads(p.threadsMax); blocks < fewBlocks {
		p.threads = 1
	}
	if p.threadsMax == 1 || blocks < fewBlocks {
		do(p)
		return
	}
	begun := time.Now()
	do(p)
	x.Ran(time.Since(begun) * 1024 / time.Duration(blocks))
}

// fewBlocks are not worth waking other threads for.
const fewBlocks = 8

// Part implements [pool.Job].
func (p *pass) Part(i, worker int) { p.phase(p, i, worker) }

// last is x after the last layer.
func (k *nodeKind) last() []float32 { return k.x[len(k.x)-1] }

// termsOf is the parts of scores number j of a kind's rows, for a layer.
func (k *nodeKind) termsOf(layer, j int) []float32 { return k.scores[layer%2][j*k.rows:][:k.rows] }

// row returns rows from a to b of a matrix with rows of width w.
func rowsOf(x []float32, a, b, w int) []float32 { return x[a*w : b*w] }

// times does c = a·b, or c += a·b: a is n rows of stride lda of which depth numbers count, b [depth][wide], c n
// rows of stride wide.
func (s *scratch) times(k *kernel.Set, n, depth int, a []float32, lda int, b, c []float32, wide int,
	start kernel.Start) {
	p := s.product.Begin(n, wide, depth)
	p.A, p.AK, p.AM = a, 1, lda
	p.B, p.LDB = b, wide
	p.C, p.LDC, p.Start = c, wide, start
	k.Product(p)
}

// addOuter does c += aᵀ·b over n rows: a of stride lda of which rows numbers count, b of stride wide, c [rows][wide].
func (s *scratch) addOuter(k *kernel.Set, n, rows int, a []float32, lda int, b, c []float32, wide int) {
	p := s.product.Begin(rows, wide, n)
	p.A, p.AK, p.AM = a, lda, 1
	p.B, p.LDB = b, wide
	p.C, p.LDC, p.Start = c, wide, kernel.Add
	k.Product(p)
}
