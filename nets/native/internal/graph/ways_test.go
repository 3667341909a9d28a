package graph_test

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/nets/native/internal/graph"
	"github.com/stoker-rl/stoker/nets/native/kernel"
	"github.com/stoker-rl/stoker/rng"
)

// wayKind is a kind of edges of the graph that stoker bench graph measures, and what its ways of passing
// messages work on.
type wayKind struct {
	from, to  int
	src, in   []int32 // sorted by where edges end
	fromAs    []int32 // as they were added
	toAs      []int32
	w, x, y   []float32
	m, each   []float32 // x·W, and messages edge by edge
	weight, p []float32
}

const wayWidth = 64

func newWayKind(from, to, edges int) *wayKind {
	s := rng.NewStream(1, "ways")
	k := &wayKind{
		from: from, to: to, src: make([]int32, edges), in: make([]int32, to+1), w: make([]float32, edges),
		p: make([]float32, edges),
		x: make([]float32, from*wayWidth), m: make([]float32, max(from, to)*wayWidth),
		y: make([]float32, to*wayWidth), each: make([]float32, edges*wayWidth),
		weight: make([]float32, wayWidth*wayWidth),
	}
	for range edges {
		k.fromAs, k.toAs = append(k.fromAs, int32(s.IntN(from))), append(k.toAs, int32(s.IntN(to)))
	}
	order := make([]int32, edges)
	for i := range order {
		order[i] = int32(i)
		k.w[i] = float32(s.Float64())
		k.in[k.toAs[i]+1]++
	}
	slices.SortStableFunc(order, func(a, b int32) int { return int(k.toAs[a] - k.toAs[b]) })
	for i, e := range order {
		k.src[i] = k.fromAs[e]
	}
	for i := range to {
		k.in[i+1] += k.in[i]
	}
	for _, x := range [][]float32{k.x, k.weight} {
		for i := range x {
			x[i] = float32(s.Float64())
		}
	}
	return k
}

// product does rows of c = rows of a times the weight.
func (k *wayKind) product(set *kernel.Set, p *kernel.Product, a, c []float32, from, to int) {
	*p = kernel.Product{
		M: to - from, N: wayWidth, K: wayWidth, A: a[from*wayWidth:], AK: 1, AM: wayWidth, B: k.weight,
		LDB: wayWidth, C: c[from*wayWidth:], LDC: wayWidth,
	}
	set.Product(p)
}

func (k *wayKind) edge(i int32) []float32 { return k.x[int(i)*wayWidth:][:wayWidth] }

// Ways of passing messages, given attention's weights, on one thread: why graph.pass does what it does
// (docs/results/graph/README.md). ns/edge is the fastest of the benchmark's runs.
func BenchmarkGraphWays(b *testing.B) {
	set := kernel.Best()
	if set == nil {
		b.Skip("no assembly for this CPU")
	}
	g, p := set.OfGraphs(), &kernel.Product{}
	ways := []struct {
		name string
		do   func(k *wayKind)
	}{
		{"indexed adds, edges as added", func(k *wayKind) {
			clear(k.y)
			for i, from := range k.fromAs {
				set.Axpy(k.w[i], k.edge(from), k.y[int(k.toAs[i])*wayWidth:])
			}
		}},
		{"messages by edge, then sorted segments", func(k *wayKind) {
			for i, from := range k.src {
				copy(k.each[i*wayWidth:], k.edge(from))
			}
			g.Combine(k.y, k.w, k.each, k.in, wayWidth)
		}},
		{"CSR product in Go", func(k *wayKind) {
			clear(k.y)
			for v := range k.to {
				for e := k.in[v]; e < k.in[v+1]; e++ {
					y := k.y[v*wayWidth:][:wayWidth]
					for i, x := range k.edge(k.src[e]) {
						y[i] += k.w[e] * x
					}
				}
			}
		}},
		{"CSR product, own kernel", func(k *wayKind) { g.Gather(k.y, k.w, k.x, k.src, k.in, wayWidth) }},
		{"with x·W first, whole kinds", func(k *wayKind) {
			k.product(set, p, k.x, k.m, 0, k.from)
			g.Gather(k.y, k.w, k.m, k.src, k.in, wayWidth)
		}},
		{"with x·W after, whole kinds", func(k *wayKind) {
			g.Gather(k.m, k.w, k.x, k.src, k.in, wayWidth)
			k.product(set, p, k.m, k.y, 0, k.to)
		}},
		{"with x·W after, by blocks", func(k *wayKind) {
			for from := 0; from < k.to; from += graph.BlockRows {
				to := min(from+graph.BlockRows, k.to)
				g.Gather(k.m, k.w, k.x, k.src, k.in[from:to+1], wayWidth)
				*p = kernel.Product{M: to - from, N: wayWidth, K: wayWidth, A: k.m, AK: 1, AM: wayWidth, B: k.weight,
					LDB: wayWidth, C: k.y[from*wayWidth:], LDC: wayWidth}
				set.Product(p)
			}
		}},
	}
	for _, c := range []struct {
		name            string
		from, to, edges int
	}{
		{"temporal, 1e4 edges", 860, 860, 2500},
		{"temporal, 1e6 edges", 85938, 85938, 250000},
		{"allocation, 1e6 edges", 85938, 7812, 250000},
		{"sharing, 1e6 edges", 7812, 85938, 250000},
	} {
		k := newWayKind(c.from, c.to, c.edges)
		for _, way := range ways {
			b.Run(c.name+"/"+way.name, func(b *testing.B) {
				ns := fastest(b, func() { way.do(k) })
				b.ReportMetric(ns/float64(c.edges), "ns/edge")
			})
		}
	}
}

// fastest is the shortest time of a benchmark's runs, in ns: on a machine with other work the mean says little.
func fastest(b *testing.B, f func()) float64 {
	b.Helper()
	b.ReportAllocs()
	best := 0.0
	for b.Loop() {
		start := b.Elapsed()
		f()
		if took := float64(b.Elapsed() - start); best == 0 || took < best {
			best = took
		}
	}
	return best
}
