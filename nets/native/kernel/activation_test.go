package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-rl/stoker/tools/proof"
)

// ulps is the distance from x to want in units in the last place of a float32 of want's size.
func ulps(x float32, want float64) float64 {
	unit := math.Nextafter32(float32(math.Abs(want)), float32(math.Inf(1))) - float32(math.Abs(want))
	return math.Abs(float64(x)-want) / float64(unit)
}

// grid is every stride-th float32 from smallest to largest, with both signs.
func grid(smallest, largest float32, stride uint32) []float32 {
	var x []float32
	for b := math.Float32bits(smallest); b <= math.Float32bits(largest); b += stride {
		x = append(x, math.Float32frombits(b), -math.Float32frombits(b))
	}
	return x
}

func TestActivations(t *testing.T) {
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, s := range assemblies(t) {
		for _, c := range []struct {
			name  string
			f     func(y []float32)
			want  func(float64) float64
			bound float64
			x     []float32
		}{
			{"sigmoid", s.Sigmoid, logistic, 3, grid(1e-44, 87, 4999)},
			{"tanh", s.Tanh, math.Tanh, 2, grid(1e-44, 100, 4999)},
		} {
			y := append([]float32{}, c.x...)
			c.f(y)
			var worst float64
			var where float32
			for i, x := range c.x {
				if u := ulps(y[i], c.want(float64(x))); !(u <= worst) {
					worst, where = u, x
				}
			}
			proof.Claim(t, proof.Row{Topic: "numerics",
				Claim:    fmt.Sprintf("%s of %s over %d values of both signs and all sizes", c.name, s.Name, len(y)),
				Bound:    fmt.Sprintf("%g units in the last place", c.bound),
				Measured: fmt.Sprintf("%.2f at %g", worst, where), Holds: worst <= c.bound})
		}
	}
}

// The exponential is measured through a softmax of 0 and x < −17, where the sum rounds to 1.
func TestExponential(t *testing.T) {
	for _, s := range assemblies(t) {
		var worst float64
		for _, x := range grid(17.5, 200, 1999) {
			if x > 0 {
				continue
			}
			w := make([]float32, 2*Lanes)
			for l := range Lanes {
				w[Lanes+l] = x
			}
			s.Softmax(w, 2, Lanes)
			got, want := w[Lanes], math.Exp(float64(x))
			switch {
			case x < -87.33655:
				if got != 0 {
					t.Fatalf("%s: exp(%g) = %g, want 0: the result would be denormal", s.Name, x, got)
				}
			default:
				worst = max(worst, ulps(got, want))
			}
		}
		proof.Claim(t, proof.Row{Topic: "numerics", Claim: "exp of " + s.Name + " where its result is no denormal",
			Bound:    "2 units in the last place",
			Measured: fmt.Sprintf("%.2f", worst), Holds: worst <= 2})
	}
}

func TestActivationLimits(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, s := range withReference(t) {
		for _, c := range []struct{ x, sigmoid, tanh float32 }{
			{inf, 1, 1}, {-inf, 0, -1}, {nan, nan, nan}, {0, 0.5, 0}, {1e-40, 0.5, 1e-40}, {-1e-40, 0.5, -1e-40},
			{3e38, 1, 1}, {-3e38, 0, -1}, {88.8, 1, 1}, {-1e4, 0, -1},
			{float32(math.Copysign(0, -1)), 0.5, float32(math.Copysign(0, -1))},
		} {
			for n := 1; n < 40; n += 19 {
				a, b := make([]float32, n), make([]float32, n)
				for i := range a {
					a[i], b[i] = c.x, c.x
				}
				s.Sigmoid(a)
				s.Tanh(b)
				for i := range a {
					if !same(a[i], c.sigmoid) || !same(b[i], c.tanh) {
						t.Errorf("%s: sigmoid, tanh of %g are %g, %g, want %g, %g", s.Name, c.x, a[i], b[i], c.sigmoid, c.tanh)
					}
				}
			}
		}
	}
}

// For arbitrary float32 bits both assemblies give the same bits, and their softmax is NaN where the reference's is.
func TestActivationBits(t *testing.T) {
	sets := withReference(t)
	d := newDraws(t, 12)
	for n := range 300 {
		x := guarded[float32](t, n)
		for i := range x {
			x[i] = math.Float32frombits(d.Uint32())
		}
		a, b, c := d.outputOf(x), d.outputOf(x), d.outputOf(x[:n/48*48])
		for i, s := range sets {
			s.Sigmoid(a.of(i))
			s.Tanh(b.of(i))
			s.Softmax(c.of(i), 3, n/48*16)
		}
		what := fmt.Sprintf("%d random words", n)
		a.check(t, "sigmoid of "+what, sets, 1e-6)
		b.check(t, "tanh of "+what, sets, 1e-6)
		c.check(t, "softmax of "+what, sets, 1e-6)
	}
	d.claim("Sigmoid, Tanh, Softmax of any words")
}

// Gumbel noise of the smallest, the largest and many other words satisfies its equation.
func TestGumbel(t *testing.T) {
	words := []uint32{0, 1, 511, 512, 1<<31 - 1, 1 << 31, math.MaxUint32 - 512, math.MaxUint32}
	for w := uint32(0); w < math.MaxUint32-99991; w += 99991 {
		words = append(words, w)
	}
	for _, s := range assemblies(t) {
		dst := make([]float32, len(words))
		s.Gumbel(dst, words)
		var worst float64
		var where uint32
		for i, w := range words {
			e := -math.Log((float64(w>>9) + 0.5) / (1 << 23)) // exact also where 1 − u is tiny, because u is exact
			want := -math.Log(e)
			// The argument of the second logarithm is rounded to float32: the error is relative to max(1, |noise|).
			if d := math.Abs(float64(dst[i])-want) / (0x1p-23 * max(1, math.Abs(want))); !(d <= worst) {
				worst, where = d, w
			}
		}
		proof.Claim(t, proof.Row{Topic: "numerics",
			Claim:    fmt.Sprintf("Gumbel noise of %s over %d words", s.Name, len(words)),
			Bound:    "2 units in the last place of max(1, |noise|)",
			Measured: fmt.Sprintf("%.2f at %#x", worst, where), Holds: worst <= 2})
	}
}

// All assemblies give the same bits for any words and any length.
func TestGumbelBits(t *testing.T) {
	sets := withReference(t)
	times(t, "Gumbel", 14, 140, func(d *draws) {
		n := d.between(0, 70)
		if d.IntN(40) == 0 {
			n = 2*pieceElements + 5
		}
		words := guarded[uint32](t, n)
		for i := range words {
			words[i] = d.Uint32()
		}
		out := d.output(n)
		for i, s := range sets {
			s.Gumbel(out.of(i), words)
		}
		out.check(t, fmt.Sprintf("Gumbel noise of %d words", n), sets, 3e-7)
	})
}

// Of equal values the first is chosen; a lane with NaN becomes NaN.
func TestOneHot(t *testing.T) {
	sets := withReference(t)
	times(t, "OneHot", 15, 200, func(d *draws) {
		n, lanes := d.between(1, 9), Lanes*d.between(1, 9)
		y, out := d.slice(n*lanes), d.output(n*lanes)
		for i := range y {
			y[i] = float32(d.IntN(4)) / 4 // many equal values
		}
		for range d.IntN(4) {
			l := d.IntN(lanes)
			for e := range n {
				y[e*lanes+l] = float32(math.NaN())
			}
		}
		for i, s := range sets {
			s.OneHot(out.of(i), y, n, lanes)
		}
		out.check(t, fmt.Sprintf("one-hot of %d rows", n), sets, 0)
		for l := range lanes {
			sum := float32(0)
			for e := range n {
				sum += out.of(0)[e*lanes+l]
			}
			if sum != 1 && y[l] == y[l] {
				t.Fatalf("lane %d of %d rows sums to %g, want 1", l, n, sum)
			}
		}
	})
}

// The softmax's rows sum to 1.
func TestSoftmaxSums(t *testing.T) {
	for _, s := range assemblies(t) {
		d := newDraws(t, 13)
		w := d.slice(7 * Lanes)
		s.Softmax(w, 7, Lanes)
		for l := range Lanes {
			var sum float64
			for e := range 7 {
				sum += float64(w[e*Lanes+l])
			}
			if math.Abs(sum-1) > 3e-7 {
				t.Errorf("%s: lane %d sums to %g", s.Name, l, sum)
			}
		}
	}
}
