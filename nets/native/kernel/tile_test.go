package kernel

import (
	"fmt"
	"testing"
)

// times tries a kernel with ordinary values, and then with some NaN, infinities, denormals and zeros.
func times(t *testing.T, kernels string, seed uint64, n int, try func(d *draws)) {
	t.Helper()
	d := newDraws(t, seed)
	for range n {
		try(d)
	}
	d.special = 0.03
	for range n / 2 {
		try(d)
	}
	d.claim(kernels)
}

// lanesOf draws a tile's number of lanes.
func (d *draws) lanesOf() int { return Lanes * d.between(1, 9) }

func TestTranspose(t *testing.T) {
	sets := withReference(t)
	times(t, "Transpose", 2, 300, func(d *draws) {
		rows, cols := d.between(0, 40), d.between(0, 40)
		ldd, lds := rows+d.IntN(20), cols+d.IntN(5)
		src, dst := d.slice(max(0, (rows-1)*lds+cols)), d.output(cols*ldd)
		for i, s := range sets {
			s.Transpose(dst.of(i), ldd, src, lds, rows, cols)
		}
		dst.check(t, fmt.Sprintf("transpose %d×%d to %d", rows, cols, ldd), sets, 0)
	})
}

func TestDots(t *testing.T) {
	sets := withReference(t)
	times(t, "Dots, RowDots", 3, 200, func(d *draws) {
		n, rows, stride := d.lanesOf(), d.between(0, 40), d.between(1, 4)
		x, y, one := d.slice(rows*n), d.slice(rows*n), d.slice(n)
		apart, out := d.output(max(0, (rows-1)*stride+1)), d.output(rows)
		for i, s := range sets {
			s.Dots(apart.of(i), stride, x, rows, one)
			s.RowDots(out.of(i), x, y, n)
		}
		apart.check(t, fmt.Sprintf("dots of %d rows of %d", rows, n), sets, 1e-5)
		out.check(t, fmt.Sprintf("row dots of %d rows of %d", rows, n), sets, 1e-5)
	})
}

// neighbours draws n offsets of parts of the given size, with repetitions.
func (d *draws) neighbours(n, size, parts int) []int32 {
	at := guarded[int32](d.t, n)
	for i := range at {
		at[i] = int32(d.IntN(parts) * size)
	}
	return at
}

func TestAttention(t *testing.T) {
	sets := withReference(t)
	times(t, "Scores, Mix, Scatter", 4, 150, func(d *draws) {
		n, rows, e, parts := d.lanesOf(), d.between(0, 13), d.between(0, 11), d.between(1, 6)
		size := (rows + d.IntN(2)) * n
		at := d.neighbours(e, size, parts)
		base, q, w := d.slice((parts-1)*size+rows*n), d.slice(rows*n), d.slice(e*n)
		scores, mixed, scattered := d.output(e*n), d.output(rows*n), d.outputOf(base)
		for i, s := range sets {
			s.Scores(scores.of(i), q, base, at, rows, n, 0.25)
			s.Mix(mixed.of(i), w, base, at, rows, n)
			s.Scatter(scattered.of(i), at, w, q, rows, n)
		}
		what := fmt.Sprintf("%d neighbours of %d × %d", e, rows, n)
		scores.check(t, "scores, "+what, sets, 1e-5)
		mixed.check(t, "mix, "+what, sets, 1e-5)
		scattered.check(t, "scatter, "+what, sets, 1e-5)
	})
}

func TestSoftmax(t *testing.T) {
	sets := withReference(t)
	times(t, "Softmax, SoftmaxBack", 5, 150, func(d *draws) {
		n, e := d.lanesOf(), d.between(0, 12)
		x, grad := d.slice(e*n), d.slice(e*n)
		for i := range x {
			x[i] *= 30
		}
		w, g := d.outputOf(x), d.outputOf(grad)
		for i, s := range sets {
			s.Softmax(w.of(i), e, n)
			s.SoftmaxBack(g.of(i), x, e, n, 0.5)
		}
		w.check(t, fmt.Sprintf("softmax %d × %d", e, n), sets, 1e-6)
		g.check(t, fmt.Sprintf("softmax backward %d × %d", e, n), sets, 2e-3) // relative to x up to 30 squared
	})
}

func TestNorm(t *testing.T) {
	sets := withReference(t)
	times(t, "Norm, NormBack", 6, 150, func(d *draws) {
		n, rows := d.lanesOf(), d.between(0, 20)
		x, gain, offset, grads := d.slice(rows*n), d.slice(rows), d.slice(rows), d.slice(rows*n)
		y, hat, scale, g := d.output(rows*n), d.output(rows*n), d.output(n), d.outputOf(grads)
		for i, s := range sets {
			s.Norm(y.of(i), hat.of(i), scale.of(i), x, gain, offset, n, 1e-3)
			s.NormBack(g.of(i), x, scale.of(i), gain, n)
		}
		what := fmt.Sprintf("%d × %d", rows, n)
		y.check(t, "norm "+what, sets, 1e-4)
		hat.check(t, "normalised "+what, sets, 1e-4)
		scale.check(t, "norm's scale "+what, sets, 1e-4)
		g.check(t, "norm backward "+what, sets, 1e-3)
	})
}

// Slices that are too short, and lanes that are not a multiple of Lanes, panic before anything is written.
func TestPanics(t *testing.T) {
	s := make([]float32, 1000)
	at := []int32{0, 16}
	var c Adam
	for _, k := range assemblies(t) {
		for what, f := range map[string]func(){
			"product A":    func() { k.Product(&Product{M: 2, N: 2, K: 2, AK: 2, AM: 1, A: s[:3], B: s, LDB: 2, C: s, LDC: 2}) },
			"product B":    func() { k.Product(&Product{M: 2, N: 2, K: 2, AK: 2, AM: 1, A: s, B: s[:3], LDB: 2, C: s, LDC: 2}) },
			"product C":    func() { k.Product(&Product{M: 2, N: 2, K: 2, AK: 2, AM: 1, A: s, B: s, LDB: 2, C: s[:3], LDC: 2}) },
			"product bias": func() { k.Product(&Product{M: 2, N: 2, A: s, B: s, C: s, LDC: 2, Start: Bias, Bias: s[:1]}) },
			"product mask": func() {
				k.Product(&Product{M: 2, N: 2, A: s, B: s, C: s, LDC: 2, Finish: Mask,
					Mask: s[:3], LDM: 2})
			},
			"product LDB":  func() { k.Product(&Product{M: 2, N: 2, K: 2, A: s, B: s, LDB: -1, C: s}) },
			"vector w":     func() { k.Vector(s[:3], s[:3], s[:8:8], nil, false) },
			"vector bias":  func() { k.Vector(s[:3], s[:3], s, s[:2:2], false) },
			"transpose":    func() { k.Transpose(s[:3:3], 2, s, 2, 2, 2) },
			"transpose in": func() { k.Transpose(s, 2, s[:3:3], 2, 2, 2) },
			"rows":         func() { k.Transpose(s, 2, s, 2, 3, 2) },
			"dots out":     func() { k.Dots(s[:2:2], 2, s, 2, s[:16]) },
			"dots lanes":   func() { k.Dots(s, 1, s, 2, s[:17]) },
			"row dots":     func() { k.RowDots(s[:2], s[:31:31], s, 16) },
			"scores":       func() { k.Scores(s, s, s[:31:31], at, 1, 16, 1) },
			"scores at":    func() { k.Scores(s, s, s, []int32{-16}, 1, 16, 1) },
			"mix":          func() { k.Mix(s, s, s[:31:31], at, 1, 16) },
			"scatter":      func() { k.Scatter(s[:31:31], at, s, s, 1, 16) },
			"softmax":      func() { k.Softmax(s[:31:31], 2, 16) },
			"softmax back": func() { k.SoftmaxBack(s, s[:31:31], 2, 16, 1) },
			"norm":         func() { k.Norm(s, s, s[:15:15], s, s[:2], s, 16, 1) },
			"norm back":    func() { k.NormBack(s, s[:31:31], s, s[:2], 16) },
			"axpy":         func() { k.Axpy(1, s[:3], s[:2:2]) },
			"tanh back":    func() { k.TanhBack(s, s[:2:2], s[:3]) },
			"adam":         func() { k.Adam(&c, s[:3], s, s, s[:2:2]) },
			"update":       func() { k.Update(&c, s[:3], s, s, nil, [][]float32{s, s[:2:2]}, 0, false) },
			"no shards":    func() { k.Update(&c, s[:3], s, s, nil, nil, 0, false) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %s: no panic", k.Name, what)
					}
				}()
				f()
			}()
		}
	}
}
