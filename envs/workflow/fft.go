package workflow

import (
	"math"
	"sync"
)

// fft is the discrete Fourier transform of n real numbers, n a power of two from 4 on. It never changes after newFFT; what
// a call needs beside it is in a pool, so that several goroutines can use it.
//
// Two neighbours are one complex number of a transform of half the length, which Stockham's algorithm does by factors of
// four: it sorts as it goes. Products are rounded by themselves, so that all processors give the same bits.
type fft struct {
	half  []complex128 // exp(-2πi·k/(n/2))
	whole []complex128 // exp(-2πi·k/n) for k up to n/4
	work  sync.Pool    // of *[2][]complex128
}

func newFFT(n int) *fft {
	f := &fft{half: make([]complex128, n/2), whole: make([]complex128, n/4+1)}
	for k := range f.half {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n/2))
		f.half[k] = complex(cos, sin)
	}
	for k := range f.whole {
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		f.whole[k] = complex(cos, sin)
	}
	f.work.New = func() any {
		return &[2][]complex128{make([]complex128, n/2), make([]complex128, n/2)}
	}
	return f
}

// forward returns the coefficients 0 to n/2 of n numbers.
func (f *fft) forward(x []float64) []complex128 {
	m := len(f.half)
	work := f.work.Get().(*[2][]complex128)
	z := work[0]
	for k := range z {
		z[k] = complex(x[2*k], x[2*k+1])
	}
	z = f.complex(z, work[1])
	out := make([]complex128, m+1)
	out[0], out[m] = complex(real(z[0])+imag(z[0]), 0), complex(real(z[0])-imag(z[0]), 0)
	for k := 1; k <= m/2; k++ {
		a, b := z[k], z[m-k]
		even := complex(float64((real(a)+real(b))/2), float64((imag(a)-imag(b))/2))
		odd := times(complex(float64((imag(a)+imag(b))/2), float64((real(b)-real(a))/2)), f.whole[k])
		out[k] = even + odd
		out[m-k] = complex(real(even)-real(odd), imag(odd)-imag(even))
	}
	f.work.Put(work)
	return out
}

// inverse writes the n numbers that have coefficients 0 to n/2.
func (f *fft) inverse(x []float64, c []complex128) {
	m := len(f.half)
	work := f.work.Get().(*[2][]complex128)
	z := work[0]
	// The conjugate of the packed coefficients: the transform of that is the conjugate of the inverse.
	z[0] = complex((real(c[0])+real(c[m]))/2, (real(c[m])-real(c[0]))/2)
	for k := 1; k <= m/2; k++ {
		a, b := c[k], c[m-k]
		even := complex(float64((real(a)+real(b))/2), float64((imag(a)-imag(b))/2))
		w := f.whole[k]
		odd := times(complex(float64((real(a)-real(b))/2), float64((imag(a)+imag(b))/2)), complex(real(w), -imag(w)))
		z[k] = complex(real(even)-imag(odd), -(imag(even) + real(odd)))
		z[m-k] = complex(real(even)+imag(odd), imag(even)-real(odd))
	}
	z = f.complex(z, work[1])
	scale := 1 / float64(m)
	for k, v := range z {
		x[2*k], x[2*k+1] = real(v)*scale, -imag(v)*scale
	}
	f.work.Put(work)
}

// complex transforms x and returns x or y, whichever has the result; the other is overwritten.
func (f *fft) complex(x, y []complex128) []complex128 {
	s := 1 // transforms side by side
	n := len(x)
	for ; n >= 4; n /= 4 {
		m := n / 4
		for p := range m {
			w1, w2, w3 := f.half[p*s], f.half[2*p*s], f.half[3*p*s]
			a, b, c, d := x[s*p:s*p+s], x[s*(p+m):s*(p+m)+s], x[s*(p+2*m):s*(p+2*m)+s], x[s*(p+3*m):s*(p+3*m)+s]
			o := y[4*s*p : 4*s*p+4*s]
			o0, o1, o2, o3 := o[:s], o[s:2*s], o[2*s:3*s], o[3*s:]
			for q := range a {
				ac, bd := a[q]+c[q], b[q]+d[q]
				less, turned := a[q]-c[q], b[q]-d[q]
				turned = complex(-imag(turned), real(turned))
				o0[q] = ac + bd
				o1[q] = times(w1, less-turned)
				o2[q] = times(w2, ac-bd)
				o3[q] = times(w3, less+turned)
			}
		}
		x, y = y, x
		s *= 4
	}
	if n == 2 {
		for q := range s {
			a, b := x[q], x[q+s]
			y[q], y[q+s] = a+b, a-b
		}
		x = y
	}
	return x
}
