package kernel

import (
	"fmt"
	"math"
	"testing"
	"unsafe"
)

func TestVector(t *testing.T) {
	sets := withReference(t)
	times(t, "Vector", 7, 400, func(d *draws) {
		n, k := d.between(0, 300), d.between(0, 20)
		x, w, relu := d.slice(k), d.slice(k*n), d.IntN(2) == 0
		var bias []float32
		if d.IntN(2) == 0 {
			bias = d.slice(n)
		}
		y := d.output(n)
		for i, s := range sets {
			s.Vector(y.of(i), x, w, bias, relu)
		}
		y.check(t, fmt.Sprintf("vector %d to %d", k, n), sets, 1e-5)
	})
}

// Vector and Product give the same bits for a sample.
func TestVectorIsProduct(t *testing.T) {
	d := newDraws(t, 8)
	for _, s := range assemblies(t) {
		for _, n := range []int{1, 8, 64, 100, 128} {
			const k = 37
			x, w, bias, y := d.slice(k), d.slice(k*n), d.slice(n), d.slice(n)
			tile, out := make([]float32, k*Lanes), make([]float32, n*Lanes)
			for i, v := range x {
				tile[i*Lanes+3] = v
			}
			s.Vector(y, x, w, bias, true)
			s.Product(&Product{M: n, N: Lanes, K: k, A: w, AK: n, AM: 1, B: tile, LDB: Lanes, C: out, LDC: Lanes,
				Start: Bias, Bias: bias, Finish: ReLU})
			for i := range y {
				if !same(y[i], out[i*Lanes+3]) {
					t.Fatalf("%s: output %d of %d is %g alone, %g in a tile", s.Name, i, n, y[i], out[i*Lanes+3])
				}
			}
		}
	}
}

func TestLengths(t *testing.T) {
	sets := withReference(t)
	n := 0
	times(t, "Axpy, Lerp, SigmoidBack, TanhBack, ReLUBack", 9, 140, func(d *draws) {
		n = (n + 1) % 70
		size := n
		if n == 69 {
			size = 2*pieceElements + 5
		}
		x, y := d.slice(size), d.slice(size)
		axpy, lerp, sigmoid, tanh, relu := d.outputOf(y), d.outputOf(y), d.output(size), d.output(size), d.output(size)
		for i, s := range sets {
			s.Axpy(0.3, x, axpy.of(i))
			s.Lerp(0.01, x, lerp.of(i))
			s.SigmoidBack(sigmoid.of(i), x, y)
			s.TanhBack(tanh.of(i), x, y)
			s.ReLUBack(relu.of(i), x, y)
			if got, want := s.SumSquares(x), sets[0].SumSquares(x); got != want && got == got {
				t.Fatalf("%s: Σx² = %g, want exactly %g", s.Name, got, want)
			}
		}
		axpy.check(t, "axpy", sets, 1e-6)
		lerp.check(t, "lerp", sets, 1e-6)
		sigmoid.check(t, "sigmoid backward", sets, 1e-6)
		tanh.check(t, "tanh backward", sets, 1e-6)
		relu.check(t, "ReLU backward", sets, 0)
	})
}

func TestAdam(t *testing.T) {
	c := Adam{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Rate: 1e-3, Scale: 1.3, Epsilon: 1e-8, Clip: 0.7}
	sets := withReference(t)
	n := 0
	times(t, "Adam, Update", 10, 140, func(d *draws) {
		n = (n + 1) % 70
		size := n
		if n == 69 {
			size = 2*pieceElements + 5
		}
		moments := func() []float32 {
			v := d.slice(size)
			for i := range v {
				v[i] *= v[i]
			}
			return v
		}
		g, second := d.slice(size), moments()
		p, m, v := d.output(size), d.output(size), d.outputOf(second)
		shards := make([]*outputs, d.between(1, 9))
		for i := range shards {
			shards[i] = d.output(size)
		}
		q, a, b, target := d.output(size), d.output(size), d.outputOf(second), d.output(size)
		clear, alone := d.IntN(2) == 0, d.IntN(3) == 0
		for i, s := range sets {
			s.Adam(&c, p.of(i), g, m.of(i), v.of(i))
			var parts [][]float32
			for _, o := range shards {
				parts = append(parts, o.of(i))
			}
			to := target.of(i)
			if alone {
				to = nil
			}
			s.Update(&c, q.of(i), a.of(i), b.of(i), to, parts, 0.01, clear)
		}
		for _, o := range append(shards, p, m, v, q, a, b, target) {
			o.check(t, "Adam", sets, 3e-5)
		}
	})
}

// The fused Update gives the results of the separate kernels.
func TestUpdateIsItsParts(t *testing.T) {
	c := Adam{Beta1: 0.9, Rest1: 0.1, Beta2: 0.999, Rest2: 0.001, Rate: 1e-3, Scale: 1.3, Epsilon: 1e-8, Clip: 0.7}
	for _, s := range assemblies(t) {
		d := newDraws(t, 11)
		const n = 1003
		x := make([][]float32, 11)
		for i := range x {
			x[i] = d.slice(n)
		}
		p, m, v, target, one, two := x[0], x[1], x[2], x[3], x[4], x[5]
		for i := range v {
			v[i] *= v[i]
		}
		q, a, b, u := append([]float32{}, p...), append([]float32{}, m...), append([]float32{}, v...),
			append([]float32{}, target...)
		sum := append([]float32{}, one...)
		s.Axpy(1, two, sum)
		s.Adam(&c, q, sum, a, b)
		s.Lerp(0.01, q, u)
		s.Update(&c, p, m, v, target, [][]float32{one, two}, 0.01, true)
		for i := range p {
			if !same(p[i], q[i]) || !same(m[i], a[i]) || !same(v[i], b[i]) || !same(target[i], u[i]) {
				t.Fatalf("%s: element %d: %g, %g, %g, %g by Update, want %g, %g, %g, %g", s.Name, i, p[i], m[i],
					v[i], target[i], q[i], a[i], b[i], u[i])
			}
			if one[i] != 0 || two[i] != 0 {
				t.Fatalf("%s: shard %d is %g, %g, want 0", s.Name, i, one[i], two[i])
			}
		}
	}
}

// The fields of Adam are at the offsets that the generator assumes.
func TestAdamLayout(t *testing.T) {
	var c Adam
	for i, offset := range []uintptr{
		unsafe.Offsetof(c.Beta1), unsafe.Offsetof(c.Rest1), unsafe.Offsetof(c.Beta2), unsafe.Offsetof(c.Rest2),
		unsafe.Offsetof(c.Rate), unsafe.Offsetof(c.Scale), unsafe.Offsetof(c.Epsilon), unsafe.Offsetof(c.Clip),
	} {
		if offset != uintptr(4*i) {
			t.Errorf("field %d of Adam is at byte %d, the assembly takes it from %d", i, offset, 4*i)
		}
	}
}

func TestSumSquaresIsExact(t *testing.T) {
	x := []float32{float32(math.Inf(-1)), 1}
	for _, s := range withReference(t) {
		if got := s.SumSquares(x); !math.IsInf(got, 1) {
			t.Errorf("%s: Σx² with an infinity = %g", s.Name, got)
		}
		x := []float32{3e38, 3e38, 1e-45}
		if got, want := s.SumSquares(x), 2*float64(x[0])*float64(x[0]); got != want {
			t.Errorf("%s: Σx² = %g, want %g: it does not overflow", s.Name, got, want)
		}
	}
}
