package workflow

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/dsp/fourier"
)

// The transform is gonum's, and its inverse gives the numbers back.
func TestFFT(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 4; n <= 8192; n *= 2 {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		f := newFFT(n)
		got, want := f.forward(x), fourier.NewFFT(n).Coefficients(nil, x)
		for k := range want {
			if d := got[k] - want[k]; math.Hypot(real(d), imag(d)) > 1e-13*float64(n) {
				t.Fatalf("%d points: coefficient %d is %v, want %v", n, k, got[k], want[k])
			}
		}
		f.inverse(y, got)
		for i := range x {
			if math.Abs(x[i]-y[i]) > 1e-13 {
				t.Fatalf("%d points: number %d is %v, want %v", n, i, y[i], x[i])
			}
		}
	}
}

func BenchmarkFFT(b *testing.B) {
	for _, n := range []int{1024, 4096} {
		x := make([]float64, n)
		for i := range x {
			x[i] = 1 / float64(i+1)
		}
		f := newFFT(n)
		c := f.forward(x)
		b.Run(fmt.Sprint("forward/", n), func(b *testing.B) {
			for b.Loop() {
				c = f.forward(x)
			}
		})
		b.Run(fmt.Sprint("inverse/", n), func(b *testing.B) {
			for b.Loop() {
				f.inverse(x, c)
			}
		})
		b.Run(fmt.Sprint("gonum/", n), func(b *testing.B) {
			g := fourier.NewFFT(n)
			for b.Loop() {
				g.Sequence(x, c)
			}
		})
	}
}
