package kernel

import (
	"fmt"
	"testing"
)

// What a tile of 64 samples meets in an update: GFLOP/s where arithmetic counts, else GB/s of what is read and written.
func BenchmarkTile(b *testing.B) {
	const t, rows, parts = 64, 32, 5
	for _, s := range assemblies(b) {
		d := newDraws(b, 1)
		base, q, w, out := d.slice(parts*rows*t), d.slice(64*t), d.slice(64*t), d.slice(64*t)
		hat, gain, offset, scale, wide := d.slice(64*t), d.slice(64), d.slice(64), d.slice(t), d.slice(64*t)
		at := []int32{0, rows * t, 2 * rows * t, 3 * rows * t, 4 * rows * t}
		dots, tiny := d.slice(64*64), d.slice(64*t)
		for i := range tiny { // what is added up again and again must not grow
			tiny[i] *= 1e-9
		}
		for _, c := range []struct {
			name, unit string
			work       float64
			f          func()
		}{
			{"Scores/5x32", "GFLOP/s", 2 * parts * rows * t, func() { s.Scores(out, q, base, at, rows, t, 0.1) }},
			{"Mix/5x32", "GFLOP/s", 2 * parts * rows * t, func() { s.Mix(out, w, base, at, rows, t) }},
			{"Mix/5x10", "GFLOP/s", 2 * parts * 10 * t, func() { s.Mix(out, w, base, at, 10, t) }},
			{"Scatter/5x32", "GFLOP/s", 2 * parts * rows * t, func() { s.Scatter(base, at, w, tiny, rows, t) }},
			{"Softmax/5", "Gexp/s", parts * t, func() { s.Softmax(w, parts, t) }},
			{"SoftmaxBack/5", "GB/s", 4 * 5 * parts * t, func() { s.SoftmaxBack(q, w, parts, t, 0.1) }},
			{"Norm/64", "GB/s", 4 * 5 * 64 * t, func() { s.Norm(out, hat, scale, wide, gain, offset, t, 1e-5) }},
			{"NormBack/64", "GB/s", 4 * 5 * 64 * t, func() { s.NormBack(q, hat, scale, gain, t) }},
			{"Transpose/64x64", "GB/s", 4 * 2 * 64 * t, func() { s.Transpose(out, 64, wide, t, 64, t) }},
			{"Transpose/64x20to64", "GB/s", 4 * 2 * 64 * 20, func() { s.Transpose(out, 64, wide, t, 20, t) }},
			{"Dots/64", "GFLOP/s", 2 * 64 * t, func() { s.Dots(dots, 1, wide, 64, scale) }},
			{"Dots/64by4", "GFLOP/s", 2 * 64 * t, func() { s.Dots(dots, 4, wide, 64, scale) }},
			{"Dots/14", "GFLOP/s", 2 * 14 * t, func() { s.Dots(dots, 1, wide, 14, scale) }},
			{"RowDots/64", "GFLOP/s", 2 * 64 * t, func() { s.RowDots(dots[:64], wide, hat, t) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", s.Name, c.name), func(b *testing.B) { measure(b, c.work, c.unit, c.f) })
		}
	}
}

func BenchmarkLength(b *testing.B) {
	c := &Adam{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Rate: 1e-3, Scale: 1.3, Epsilon: 1e-8, Clip: 1}
	for _, s := range assemblies(b) {
		for _, n := range []int{4096, 1 << 20} {
			d := newDraws(b, 1)
			p, g, m, v, target := d.slice(n), d.slice(n), d.slice(n), d.slice(n), d.slice(n)
			for i := range v {
				v[i] *= v[i]
			}
			shares := [][]float32{g, d.slice(n), d.slice(n), d.slice(n)}
			size := float64(4 * n)
			for _, k := range []struct {
				name string
				work float64
				f    func()
			}{
				{"Axpy", 3 * size, func() { s.Axpy(1e-9, p, g) }},
				{"Lerp", 3 * size, func() { s.Lerp(0.01, p, target) }},
				{"SumSquares", size, func() { s.SumSquares(p) }},
				{"Adam", 7 * size, func() { s.Adam(c, p, g, m, v) }},
				{"Update1", 9 * size, func() { s.Update(c, p, m, v, target, shares[:1], 0.01, false) }},
				{"Update4clear", (9 + 7) * size, func() { s.Update(c, p, m, v, target, shares, 0.01, true) }},
				{"Separate4", (9 + 7) * size, func() {
					for _, x := range shares[1:] {
						s.Axpy(1, x, g)
					}
					s.Adam(c, p, g, m, v)
					s.Lerp(0.01, p, target)
					for _, x := range shares {
						clear(x)
					}
				}},
				{"Sigmoid", 2 * size, func() { s.Sigmoid(p) }},
				{"Tanh", 2 * size, func() { s.Tanh(p) }},
				{"TanhBack", 3 * size, func() { s.TanhBack(g, p, target) }},
				{"ReLUBack", 3 * size, func() { s.ReLUBack(g, p, target) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/%d", s.Name, k.name, n), func(b *testing.B) { measure(b, k.work, "GB/s", k.f) })
			}
		}
	}
}

// One sample through a network of 64-128-128-8.
func BenchmarkVector(b *testing.B) {
	for _, s := range assemblies(b) {
		b.Run(s.Name+"/64-128-128-8", func(b *testing.B) {
			d := newDraws(b, 1)
			x, h1, h2, y := d.slice(64), d.slice(128), d.slice(128), d.slice(8)
			w1, w2, w3, bias := d.slice(64*128), d.slice(128*128), d.slice(128*8), d.slice(128)
			measure(b, 2*(64*128+128*128+128*8), "GFLOP/s", func() {
				s.Vector(h1, x, w1, bias, true)
				s.Vector(h2, h1, w2, bias, true)
				s.Vector(y, h2, w3, bias[:8], false)
			})
		})
	}
}
