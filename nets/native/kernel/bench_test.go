package kernel

import (
	"fmt"
	"testing"
)

// load is a call as training makes it, with its number of floating-point operations (a multiply-add counts two, an
// exponential one) and of bytes read and written (each operand counted once).
type load struct {
	name         string
	flops, bytes float64
	f            func()
}

// measure reports GFLOP/s and GB/s of the fastest batch of calls.
func (l load) measure(b *testing.B) {
	best := measure(b, l.f)
	b.ReportMetric(best, "best-ns")
	b.ReportMetric(l.flops/best, "GFLOP/s")
	b.ReportMetric(l.bytes/best, "GB/s")
}

// products have the shapes of networks of 64 and 32 units with tiles of 64, 32 and 16 samples, and larger ones.
func products(d *draws, s *Set) []load {
	var loads []load
	for _, c := range [][3]int{
		{64, 64, 64}, {64, 64, 28}, {64, 64, 20}, {64, 64, 14}, {64, 64, 10}, {64, 64, 4}, {32, 64, 14},
		{28, 64, 64}, {14, 64, 64}, {10, 64, 64}, {4, 64, 64}, {1, 64, 64}, {64, 32, 64}, {14, 32, 64}, {4, 32, 64},
		{64, 16, 64}, {14, 16, 64}, {10, 16, 64}, {4, 16, 64}, {64, 10, 64}, {128, 64, 128}, {256, 64, 256},
	} {
		m, n, k := c[0], c[1], c[2]
		p := &Product{
			M: m, N: n, K: k, A: d.slice(k * m), AK: m, AM: 1, B: d.slice(k * n), LDB: n, C: d.slice(m * n), LDC: n,
			Start: Bias, Bias: d.slice(m), Finish: ReLU,
		}
		name := fmt.Sprintf("Product/%dx%dx%d", m, n, k)
		loads = append(loads, load{name, float64(2 * m * n * k), float64(4 * (m*k + k*n + m*n)), func() { s.Product(p) }})
	}
	return loads
}

// tiles are the other kernels on a tile of 64 samples with five neighbours.
func tiles(d *draws, s *Set) []load {
	const t, rows, n = 64, 32, 5
	base, q, w, out := d.slice(n*rows*t), d.slice(64*t), d.slice(64*t), d.slice(64*t)
	hat, gain, offset, scale, wide := d.slice(64*t), d.slice(64), d.slice(64), d.slice(t), d.slice(64*t)
	at := []int32{0, rows * t, 2 * rows * t, 3 * rows * t, 4 * rows * t}
	dots, tiny := d.slice(64*64), d.slice(64*t)
	for i := range tiny { // repeated additions must not overflow
		tiny[i] *= 1e-9
	}
	return []load{
		{"Scores/5x32", 2 * n * rows * t, 4 * (rows + n*rows + n) * t, func() { s.Scores(out, q, base, at, rows, t, 0.1) }},
		{"Mix/5x32", 2 * n * rows * t, 4 * (rows + n*rows + n) * t, func() { s.Mix(out, w, base, at, rows, t) }},
		{"Mix/5x10", 2 * n * 10 * t, 4 * (10 + n*10 + n) * t, func() { s.Mix(out, w, base, at, 10, t) }},
		{"Scatter/5x32", 2 * n * rows * t, 4 * (rows + 2*n*rows + n) * t, func() { s.Scatter(base, at, w, tiny, rows, t) }},
		{"Softmax/5", 4 * n * t, 4 * 2 * n * t, func() { s.Softmax(w, n, t) }},
		{"SoftmaxBack/5", 5 * n * t, 4 * 3 * n * t, func() { s.SoftmaxBack(q, w, n, t, 0.1) }},
		{"OneHot/5", 0, 4 * 2 * n * t, func() { s.OneHot(q, w, n, t) }},
		{"Norm/64", 8 * 64 * t, 4 * 3 * 64 * t, func() { s.Norm(out, hat, scale, wide, gain, offset, t, 1e-5) }},
		{"NormBack/64", 9 * 64 * t, 4 * 3 * 64 * t, func() { s.NormBack(q, hat, scale, gain, t) }},
		{"Transpose/64x64", 0, 4 * 2 * 64 * t, func() { s.Transpose(out, 64, wide, t, 64, t) }},
		{"Transpose/20x64to64", 0, 4 * (20 + 64) * t, func() { s.Transpose(out, 64, wide, t, 20, t) }},
		{"Dots/64", 2 * 64 * t, 4 * 64 * t, func() { s.Dots(dots, 1, wide, 64, scale) }},
		{"Dots/64by4", 2 * 64 * t, 4 * 64 * t, func() { s.Dots(dots, 4, wide, 64, scale) }},
		{"Dots/14", 2 * 14 * t, 4 * 14 * t, func() { s.Dots(dots, 1, wide, 14, scale) }},
		{"RowDots/64", 2 * 64 * t, 4 * 2 * 64 * t, func() { s.RowDots(dots[:64], wide, hat, t) }},
	}
}

// lengths are the kernels on n parameters. Separate4 is what Update4 replaces.
func lengths(d *draws, s *Set, n int) []load {
	c := &Adam{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Rate: 1e-3, Scale: 1.3, Epsilon: 1e-8, Clip: 1}
	p, g, m, v, target, y := d.slice(n), d.slice(n), d.slice(n), d.slice(n), d.slice(n), d.slice(n)
	for i := range v {
		v[i] *= v[i]
	}
	words := make([]uint32, n)
	for i := range words {
		words[i] = d.Uint32()
	}
	shards := [][]float32{d.slice(n), d.slice(n), d.slice(n), d.slice(n)}
	size := float64(n)
	return []load{
		{"Axpy", 2 * size, 12 * size, func() { s.Axpy(1e-9, p, y) }},
		{"Lerp", 3 * size, 12 * size, func() { s.Lerp(0.01, p, target) }},
		{"SumSquares", 2 * size, 4 * size, func() { s.SumSquares(p) }},
		{"Adam", 14 * size, 28 * size, func() { s.Adam(c, p, g, m, v) }},
		{"Update1", 17 * size, 36 * size, func() { s.Update(c, p, m, v, target, shards[:1], 0.01, false) }},
		{"Update4", 20 * size, 64 * size, func() { s.Update(c, p, m, v, target, shards, 0.01, true) }},
		{"Separate4", 23 * size, 64 * size, func() {
			for _, x := range shards[1:] {
				s.Axpy(1, x, shards[0])
			}
			s.Adam(c, p, shards[0], m, v)
			s.Lerp(0.01, p, target)
			for _, x := range shards {
				clear(x)
			}
		}},
		{"Sigmoid", 3 * size, 8 * size, func() { s.Sigmoid(y) }},
		{"Tanh", 3 * size, 8 * size, func() { s.Tanh(y) }},
		{"Gumbel", 4 * size, 8 * size, func() { s.Gumbel(y, words) }},
		{"TanhBack", 3 * size, 12 * size, func() { s.TanhBack(g, p, target) }},
		{"ReLUBack", 0, 12 * size, func() { s.ReLUBack(g, p, target) }},
	}
}

// one is a batch of one through a network of 64-128-128-8.
func one(d *draws, s *Set) load {
	x, h1, h2, y := d.slice(64), d.slice(128), d.slice(128), d.slice(8)
	w1, w2, w3, bias := d.slice(64*128), d.slice(128*128), d.slice(128*8), d.slice(128)
	const weights = 64*128 + 128*128 + 128*8
	return load{"Vector/64-128-128-8", 2 * weights, 4 * weights, func() {
		s.Vector(h1, x, w1, bias, true)
		s.Vector(h2, h1, w2, bias, true)
		s.Vector(y, h2, w3, bias[:8], false)
	}}
}

// sharedNeighbours is attention of six agents to the same 200 agents (in the L2 cache), together and one by one.
func sharedNeighbours(d *draws, s *Set) []load {
	const agents, n, rows, own, t = 6, 200, 32, 14, 64
	keys, features, q, w := d.slice(n*rows*t), d.slice(n*own*t), d.slice(agents*rows*t), d.slice(agents*n*t)
	out, mixed, packed := d.slice(agents*n*t), d.slice(agents*rows*t), make([]float32, agents*n*t)
	at, near := make([]int32, n), make([]int32, n)
	for i := range at {
		at[i], near[i] = int32(i*rows*t), int32(i*own*t)
	}
	const scores, mix = 2 * agents * n * rows * t, 2 * agents * n * own * t
	return []load{
		{"Scores6x200", scores, 0, func() {
			s.Pack(packed, q, rows*t, agents, rows, t)
			s.ScoresTogether(out, n*t, packed, keys, at, agents, rows, t, 1)
		}},
		{"Scores6x1x200", scores, 0, func() {
			for i := range agents {
				s.Scores(out[i*n*t:], q[i*rows*t:], keys, at, rows, t, 1)
			}
		}},
		{"Mix6x200", mix, 0, func() {
			for e := 0; e < n; e += 40 {
				s.Pack(packed, w[e*t:], n*t, agents, 40, t)
				s.MixTogether(mixed, rows*t, packed, features, near[e:e+40], agents, own, t)
			}
		}},
		{"Mix6x1x200", mix, 0, func() {
			for i := range agents {
				s.Mix(mixed[i*rows*t:], w[i*n*t:], features, near, own, t)
			}
		}},
	}
}

func BenchmarkCrowd(b *testing.B) {
	for _, s := range assemblies(b) {
		for _, l := range sharedNeighbours(newDraws(b, 1), s) {
			b.Run(s.Name+"/"+l.name, l.measure)
		}
	}
}

func BenchmarkProduct(b *testing.B) {
	for _, s := range assemblies(b) {
		for _, l := range products(newDraws(b, 1), s) {
			b.Run(s.Name+"/"+l.name, l.measure)
		}
	}
}

func BenchmarkTile(b *testing.B) {
	for _, s := range assemblies(b) {
		for _, l := range append(tiles(newDraws(b, 1), s), one(newDraws(b, 1), s)) {
			b.Run(s.Name+"/"+l.name, l.measure)
		}
	}
}

func BenchmarkLength(b *testing.B) {
	for _, s := range assemblies(b) {
		for _, n := range []int{4096, 1 << 20} {
			for _, l := range lengths(newDraws(b, 1), s, n) {
				b.Run(fmt.Sprintf("%s/%s/%d", s.Name, l.name, n), l.measure)
			}
		}
	}
}
