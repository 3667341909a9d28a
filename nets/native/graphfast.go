package native

import (
	"math"
	"time"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// graphFast runs a [nets.Graph] with kernels. What it computes is what graphPlain does, put so that products run over nodes and
// not over edges, and that nothing is added to from two sides:
//
//   - A score's parts are numbers of nodes: x_u·(W·source) and x_v·(W·target), with W·source and W·target computed once a pass.
//   - Σ α·(x_u·W) is (Σ α·x_u)·W: of the two, the one whose product has fewer rows.
//   - Backward, D_v = Σ_u α_uv (g_v·m_uv) is g_v·Σ_u α_uv m_uv, so that one way along the edges by where they begin is enough.
//
// Rows are padded to a multiple of 16. The nodes are cut into blocks of blockRows, each of which goes through all of a layer while it is in
// the cache: aggregation, product, norm, and the next layer's scores. A phase does that for all blocks, on as many
// threads as there are; the gradients by the parameters are summed in shares that follow from the number of blocks alone.
//
// A Work keeps what backward passes need from the first time that one is asked for; that first time goes forward again.
type graphFast struct {
	w       *graphWork[float32]
	a       nets.Graph
	t       *tiler
	k       *kernel.Set
	g       *kernel.Graphs
	h, wide int // features of a row, and with padding
	keep    bool
	lanes   []float32 // all bits set in the features of a row
	par     graphParams
	kinds   []fastKind
	edges   []fastEdges
	layers  []fastLayer
	heads   []fastHead
	blocks  []graphBlock
	shares  int
	graphs  graphGroups // blocks of graphs
	sums    [][]float32 // gradients by share, laid out as par says
	scratch []*graphScratch

	phase        func(p *graphFast, i, worker int)
	layer, about int // of the phase: its layer, or the head that it is about
	threads      int
	paces        [2]pace // of passes forward and backward
}

// fastKind is a kind of nodes.
type fastKind struct {
	name     string
	width    int
	rows     int
	updated  bool
	in       []int       // kinds of edges that end here
	out      []int       // that begin here
	votes    int         // numbers of a score's parts per node: one for each of in and out
	x, own   [][]float32 // by layer, and their memory
	features []float32
	scores   [2][]float32 // [votes][rows], by layer
	dscores  []float32
	grad     [2][]float32
	pieces   graphPieces
	pooled   []float32 // [graphs][wide]
	dpooled  []float32
	partial  []float32 // sums over pieces
	weight   *graphParam
	bias     *graphParam
}

// fastEdges is a kind of edges.
type fastEdges struct {
	name           string
	from, to       int
	width, padded  int  // of features
	source, target int  // which of their kind's scores
	first          bool // the product comes before the aggregation
	b              *nets.BatchEdges
	features       []float32 // [edges][padded]
	extra          []float32 // what they add to scores
	c              []float32 // backward: what is added to gradients by weights
	back           []kernel.Edge
	dagg           []float32 // gradient by what is aggregated, [rows][wide]
}

// active says whether there are any edges.
func (e *fastEdges) active() bool { return len(e.b.From) > 0 }

// fastLayer is what a layer keeps.
type fastLayer struct {
	edges []layerEdges
	nodes []layerNodes
}

type layerEdges struct {
	w, agg, aggFeatures        []float32 // by edge; by row that receives
	m                          []float32 // x·W of the senders, where that comes first
	ownW, ownM                 []float32 // the memory of w and m
	weight, source, target, ff *graphParam
	votes                      *graphParam // F·source
	turned, turnedFeatures     []float32   // weight and features transposed
}

type layerNodes struct {
	hat, scale              []float32
	mask                    []float32 // of dropout, [rows][h]
	own, bias, gain, offset *graphParam
	votes                   *graphParam // W·source and W·target, [votes][wide]
	turned                  []float32
}

// graphScratch is a worker's memory for a block.
type graphScratch struct {
	product  kernel.Product
	y, agg   []float32 // [blockRows][wide]
	features []float32 // [blockRows][most padded]
	d        []float32 // [blockRows]
	scale    []float32
}

func newGraphFast(w *graphWork[float32]) *graphFast {
	n, a := w.net.net, w.net.arch
	p := &graphFast{w: w, a: a, t: n.e.tiler, k: n.e.tiler.set, h: a.Hidden, wide: padded(a.Hidden)}
	p.g = p.k.OfGraphs()
	p.lanes = make([]float32, p.wide)
	for i := range p.h {
		p.lanes[i] = math.Float32frombits(math.MaxUint32)
	}
	p.par.n = n
	p.init()
	p.par.finish()
	most := 0
	for _, e := range p.edges {
		most = max(most, e.padded)
	}
	for range p.t.threads {
		p.scratch = append(p.scratch, &graphScratch{
			y: make([]float32, blockRows*p.wide), agg: make([]float32, blockRows*p.wide),
			features: make([]float32, blockRows*most), d: make([]float32, blockRows), scale: make([]float32, blockRows),
		})
	}
	return p
}

// init lists kinds, edges, layers and heads with their parameters.
func (p *graphFast) init() {
	a := p.a
	for i, n := range a.Nodes {
		k := fastKind{name: n.Name, width: n.Width, updated: a.Updated(i), x: make([][]float32, a.Layers+1), own: make([][]float32, a.Layers+1)}
		k.weight, k.bias = p.par.of("in.%s.weight", n.Name), p.par.of("in.%s.bias", n.Name)
		p.kinds = append(p.kinds, k)
	}
	for i, e := range a.Edges {
		from, to := &p.kinds[e.From], &p.kinds[e.To]
		x := fastEdges{name: e.Name, from: e.From, to: e.To, width: e.Width, padded: padded(e.Width)}
		from.out, x.source = append(from.out, i), from.votes
		from.votes++
		to.in, x.target = append(to.in, i), to.votes
		to.votes++
		p.edges = append(p.edges, x)
	}
	for l := range a.Layers {
		var layer fastLayer
		for _, e := range p.edges {
			x := layerEdges{
				weight: p.par.of("layer%d.%s.weight", l, e.name), source: p.par.of("layer%d.%s.source", l, e.name),
				target: p.par.of("layer%d.%s.target", l, e.name), turned: make([]float32, p.wide*p.wide),
			}
			if e.width > 0 {
				x.ff = p.par.of("layer%d.%s.features", l, e.name)
				x.votes = p.par.derived(1, e.padded)
				x.turnedFeatures = make([]float32, p.wide*e.padded)
			}
			layer.edges = append(layer.edges, x)
		}
		for _, k := range p.kinds {
			x := layerNodes{votes: p.par.derived(k.votes, p.wide)}
			if k.updated {
				x.bias = p.par.of("layer%d.%s.bias", l, k.name)
				if a.Own {
					x.own, x.turned = p.par.of("layer%d.%s.own", l, k.name), make([]float32, p.wide*p.wide)
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

// run does a phase of some parts.
func (p *graphFast) run(parts int, phase func(p *graphFast, i, worker int)) {
	p.phase = phase
	helpers.do(p, parts, p.threads)
}

// paced does a pass on as many threads as have been the faster of late, by the time that a block takes.
func (p *graphFast) paced(x *pace, do func(p *graphFast)) {
	blocks := max(1, len(p.blocks))
	if p.threads = x.threads(p.t.threads); blocks < fewBlocks {
		p.threads = 1
	}
	if p.t.threads == 1 || blocks < fewBlocks {
		do(p)
		return
	}
	begun := time.Now()
	do(p)
	x.ran(time.Since(begun) * 1024 / time.Duration(blocks))
}

// fewBlocks are not worth waking other threads for.
const fewBlocks = 8

// part implements [job].
func (p *graphFast) part(i, worker int) { p.phase(p, i, worker) }

// last is x after the last layer.
func (k *fastKind) last() []float32 { return k.x[len(k.x)-1] }

// votesOf is the parts of scores number j of a kind's rows, for a layer.
func (k *fastKind) votesOf(layer, j int) []float32 { return k.scores[layer%2][j*k.rows:][:k.rows] }

// row returns rows from a to b of a matrix with rows of width w.
func rowsOf(x []float32, a, b, w int) []float32 { return x[a*w : b*w] }

// times does c = a·b, or c += a·b: a is n rows of stride lda of which depth numbers count, b [depth][wide], c n rows of stride wide.
func (s *graphScratch) times(k *kernel.Set, n, depth int, a []float32, lda int, b, c []float32, wide int, start kernel.Start) {
	p := s.product.Begin(n, wide, depth)
	p.A, p.AK, p.AM = a, 1, lda
	p.B, p.LDB = b, wide
	p.C, p.LDC, p.Start = c, wide, start
	k.Product(p)
}

// addOuter does c += aᵀ·b over n rows: a of stride lda of which rows numbers count, b of stride wide, c [rows][wide].
func (s *graphScratch) addOuter(k *kernel.Set, n, rows int, a []float32, lda int, b, c []float32, wide int) {
	p := s.product.Begin(rows, wide, n)
	p.A, p.AK, p.AM = a, lda, 1
	p.B, p.LDB = b, wide
	p.C, p.LDC, p.Start = c, wide, kernel.Add
	k.Product(p)
}
