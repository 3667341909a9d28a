package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"
)

// graph draws edges from sources into rows: some rows have no edges, a few have many. out and starts list the same
// edges by source.
func (d *draws) graph(rows, sources int) (src, to, in, out, starts []int32) {
	in = append(in, 0)
	for r := range rows {
		n := d.between(0, 5)
		if d.IntN(8) == 0 {
			n = d.between(14, 60)
		}
		for range n {
			src, to = append(src, int32(d.IntN(sources))), append(to, int32(r))
		}
		in = append(in, int32(len(src)))
	}
	starts = append(starts, 0)
	for u := range sources {
		for e, s := range src {
			if int(s) == u {
				out = append(out, int32(e))
			}
		}
		starts = append(starts, int32(len(out)))
	}
	return atEnd(d.t, src), atEnd(d.t, to), atEnd(d.t, in), atEnd(d.t, out), atEnd(d.t, starts)
}

// edgesOf returns the edges as Spread takes them.
func edgesOf(t testing.TB, w, c []float32, to []int32) []Edge {
	edges := guarded[Edge](t, len(w))
	for e := range edges {
		edges[e] = Edge{W: w[e], C: c[e], To: to[e]}
	}
	return edges
}

// The fields of Edge are at the offsets that the generator assumes.
func TestEdgeLayout(t *testing.T) {
	var e Edge
	if got := [5]uintptr{unsafe.Offsetof(e.W), unsafe.Offsetof(e.C), unsafe.Offsetof(e.To), unsafe.Offsetof(e.DZ),
		unsafe.Sizeof(e)}; got != [5]uintptr{0, 4, 8, 12, 16} {
		t.Errorf("an Edge lies at %v", got)
	}
}

// atEnd is a copy that ends where a page without access begins.
func atEnd(t testing.TB, x []int32) []int32 {
	c := guarded[int32](t, len(x))
	copy(c, x)
	return c
}

func graphSets(t testing.TB) (sets []*Set, graphs []*Graphs) {
	for _, s := range withReference(t) {
		sets, graphs = append(sets, s), append(graphs, s.OfGraphs())
	}
	return sets, graphs
}

func TestWeigh(t *testing.T) {
	sets, graphs := graphSets(t)
	times(t, "Weigh", 21, 200, func(d *draws) {
		rows, sources := d.between(0, 20), d.between(1, 30)
		src, _, in, _, _ := d.graph(rows, sources)
		p, q, extra := d.slice(sources), d.slice(rows), d.slice(len(src))
		if d.IntN(2) == 0 {
			extra = nil
		}
		w := d.output(len(src))
		for i := range sets {
			graphs[i].Weigh(w.of(i), p, q, extra, src, in, 0.2)
		}
		w.check(t, fmt.Sprintf("weights of %d rows", rows), sets, 1e-6)
	})
}

// Weights sum to 1 even if a large constant is added to all scores, and their sign bit marks scores of 0 or less.
func TestWeighLargeScores(t *testing.T) {
	_, graphs := graphSets(t)
	for _, g := range graphs {
		for _, shift := range []float32{0, 1e4, -3e4} {
			p, w := make([]float32, 40), make([]float32, 40)
			src := make([]int32, 40)
			for i := range p {
				p[i], src[i] = float32(i%7)-3, int32(i)
			}
			g.Weigh(w, p, []float32{shift, shift}, nil, src, []int32{0, 9, 40}, 0.2)
			for _, row := range [][]float32{w[:9], w[9:]} {
				sum := 0.0
				for _, v := range row {
					sum += math.Abs(float64(v))
				}
				if math.Abs(sum-1) > 1e-6 {
					t.Errorf("scores around %g: weights add up to %g", shift, sum)
				}
			}
			for i, v := range w {
				if math.Signbit(float64(v)) != (p[i]+shift <= 0) {
					t.Errorf("weight %d of score %g is %g", i, p[i]+shift, v)
				}
			}
		}
	}
}

func TestGatherAndSpread(t *testing.T) {
	sets, graphs := graphSets(t)
	times(t, "Gather, Combine, Sums, Spread", 22, 200, func(d *draws) {
		rows, sources, width := d.between(0, 20), d.between(1, 30), Lanes*d.between(1, 9)
		src, to, in, out, starts := d.graph(rows, sources)
		n := len(src)
		w, x, xe, y, c := d.slice(n), d.slice(sources*width), d.slice(n*width), d.slice(rows*width), d.slice(n)
		gathered, combined, summed := d.output(rows*width), d.output(rows*width), d.output(rows*width)
		gx, dp, dz := d.output(sources*width), d.output(sources), d.output(n)
		for i, g := range graphs {
			g.Gather(gathered.of(i), w, x, src, in, width)
			g.Combine(combined.of(i), w, xe, in, width)
			g.Sums(summed.of(i), xe, in, width)
			edges := edgesOf(d.t, w, c, to)
			g.Spread(gx.of(i), dp.of(i), x, y, edges, out, starts, width, 0.2)
			for e := range edges {
				dz.of(i)[e] = edges[e].DZ
			}
		}
		for what, o := range map[string]*outputs{"gathered": gathered, "combined": combined, "summed": summed,
			"gx": gx, "dp": dp, "dz": dz} {
			o.check(t, fmt.Sprintf("%s of %d edges, width %d", what, n, width), sets, 1e-4)
		}
	})
}

func TestNormRows(t *testing.T) {
	sets, graphs := graphSets(t)
	times(t, "NormRows, BiasRows", 23, 200, func(d *draws) {
		rows, n := d.between(0, 9), d.between(1, 130)
		width := (n + Lanes - 1) / Lanes * Lanes
		padded := func(rows int) []float32 {
			x := d.slice(rows * width)
			for r := range rows {
				clear(x[r*width+n : (r+1)*width])
			}
			return x
		}
		keep := guarded[float32](d.t, width)
		for i := range n {
			keep[i] = math.Float32frombits(math.MaxUint32)
		}
		y, x, bias, gain, offset, grad := padded(rows), padded(rows), padded(1), padded(1), padded(1), padded(rows)
		if d.IntN(2) == 0 {
			x = nil
		}
		out, hat, scale, plain := d.output(rows*width), d.output(rows*width), d.output(rows), d.output(rows*width)
		g, h, dgain, doffset, dbias, dplain := d.outputOf(grad), d.outputOf(grad), d.outputOf(padded(1)),
			d.outputOf(padded(1)), d.outputOf(padded(1)), d.outputOf(padded(1))
		for i, k := range graphs {
			k.NormRows(out.of(i), hat.of(i), scale.of(i), y, x, bias, gain, offset, keep, float32(n), 1e-5)
			k.BiasRows(plain.of(i), y, x, bias, rows)
			first := 0 // all sets go backward from set 0's results: a rounding difference may make a number of out 0
			k.NormRowsBack(g.of(i), out.of(first), hat.of(first), scale.of(first), gain, keep, dgain.of(i),
				doffset.of(i), dbias.of(i), float32(n))
			k.BiasRowsBack(h.of(i), plain.of(first), dplain.of(i), rows)
			for r := range rows {
				for _, o := range []*outputs{out, hat, plain, g, h} {
					row := o.of(i)[r*width:][:width]
					// NaN may reach the padding.
					if row[0] == row[0] && slices.ContainsFunc(row[n:], func(v float32) bool { return v != 0 }) {
						t.Fatalf("%s: row %d of width %d has values in its padding", sets[i].Name, r, n)
					}
				}
			}
		}
		tolerance := 1e-4
		if n < 4 {
			tolerance = 1e-2 // the few numbers of a row may nearly cancel
		}
		for what, o := range map[string]*outputs{"out": out, "hat": hat, "scale": scale, "plain": plain, "grad": g,
			"plain grad": h, "dgain": dgain, "doffset": doffset, "dbias": dbias, "plain dbias": dplain} {
			o.check(t, fmt.Sprintf("%s of %d rows of %d", what, rows, n), sets, tolerance)
		}
	})
}

// A slice that is too short panics before anything is written.
func TestGraphsPanic(t *testing.T) {
	_, graphs := graphSets(t)
	f := func(n int) []float32 { return make([]float32, n) }
	src, in := []int32{0, 0}, []int32{0, 2}
	for _, g := range graphs {
		for i, call := range []func(){
			func() { g.Weigh(f(1), f(1), f(1), nil, src, in, 0.2) },
			func() { g.Weigh(f(2), f(1), f(1), f(1), src, in, 0.2) },
			func() { g.Weigh(f(2), f(1), f(2), nil, src, in, 0.2) },
			func() { g.Gather(f(15), f(2), f(16), src, in, 16) },
			func() { g.Gather(f(16), f(2), f(16), src, in, 15) },
			func() { g.Combine(f(16), f(2), f(16), in, 16) },
			func() { g.Sums(f(16), f(31), in, 16) },
			func() { g.Spread(f(15), f(1), f(16), f(16), make([]Edge, 2), src, in, 16, 0.2) },
			func() { g.Spread(f(16), f(1), f(16), f(16), make([]Edge, 2), []int32{0}, in, 16, 0.2) },
			func() { g.NormRows(f(16), f(16), f(1), f(16), f(3), f(16), f(16), f(16), f(16), 3, 1) },
			func() { g.NormRowsBack(f(16), f(16), f(16), f(1), f(16), f(16), f(16), f(16), f(15), 3) },
			func() { g.BiasRows(f(16), f(16), nil, f(16), 2) },
			func() { g.BiasRowsBack(f(16), f(15), f(16), 1) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("call %d did not panic", i)
					}
				}()
				call()
			}()
		}
	}
}

// Edges among 10⁶/8 nodes of 64 features, whose rows are 32 MB, at random: Gather and Spread wait for memory.
func BenchmarkGraphsWide(b *testing.B) {
	d := newDraws(b, 31)
	const rows, sources, width, n = 83_333, 125_000, 64, 83_333 * 3
	src, to, in := make([]int32, n), make([]int32, n), make([]int32, rows+1)
	for e := range src {
		src[e], to[e] = int32(d.IntN(sources)), int32(d.IntN(sources))
		in[e/3+1] = int32(e + 1)
	}
	w, x, out, order := d.slice(n), d.slice(sources*width), d.slice(rows*width), make([]int32, n)
	edges := edgesOf(b, w, w, to)
	for e := range order { // the order of edges is independent of their sources
		order[e] = int32(e)
	}
	d.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, s := range assemblies(b) {
		g := s.OfGraphs()
		for name, f := range map[string]func(){
			"Gather": func() { g.Gather(out, w, x, src, in, width) },
			"Spread": func() { g.Spread(out, w[:rows], x, x, edges, order, in, width, 0.2) },
		} {
			b.Run(s.Name+"/"+name, func(b *testing.B) { b.ReportMetric(measure(b, f)/n, "ns/edge") })
		}
	}
}

func BenchmarkGraphs(b *testing.B) {
	d := newDraws(b, 30)
	const rows, sources, width = 256, 2048, 64
	src, to, in, out, starts := d.graph(rows, sources)
	n := len(src)
	w, x, y, o := d.slice(n), d.slice(sources*width), d.slice(rows*width), d.slice(sources*width)
	edges := edgesOf(b, w, w, to)
	scale, row, row1, keep, gradient, hat := d.slice(rows), d.slice(width), d.slice(width), make([]float32, width),
		d.slice(rows*width), d.slice(rows*width)
	for i := range keep {
		keep[i] = math.Float32frombits(math.MaxUint32)
	}
	for _, s := range withReference(b) {
		g := s.OfGraphs()
		for name, f := range map[string]func(){
			"Weigh":    func() { g.Weigh(w, x[:sources], y[:rows], nil, src, in, 0.2) },
			"Gather":   func() { g.Gather(o, w, x, src, in, width) },
			"Spread":   func() { g.Spread(o, x[:sources], x, y, edges, out, starts, width, 0.2) },
			"NormRows": func() { g.NormRows(gradient, hat, scale, y, y, row, row, row, keep, width, 1e-5) },
			"NormRowsBack": func() {
				copy(gradient, y)
				g.NormRowsBack(gradient, y, hat, scale, row, keep, row1,
					row1, row1, width)
			},
		} {
			b.Run(s.Name+"/"+name, func(b *testing.B) {
				ns := measure(b, f)
				per := n
				if name[0] == 'N' {
					per = rows
				}
				b.ReportMetric(ns/float64(per), "ns/edge-or-row")
			})
		}
	}
}
