package workflow

import (
	"math"
	"slices"
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

// transform computes a distribution on a grid of N points, as spectra: the discrete Fourier transforms of probabilities
// p_k·r^k with r^N = damping. A product of spectra is the spectrum of a sum of times. What of a sum lies beyond the grid
// comes back at its start, but times r^N, so that it can be neglected; below the end of the grid nothing is missing.
type transform struct {
	w   *Workflow
	g   Grid
	way rounding
	*damped
	own      [][]complex128          // per node: a run with its calls, its delay and that of the edge after it
	inner    [][]complex128          // per inner region: from the end of its fork's run
	spans    [][]complex128          // per span: from the start of its entry's first run, given the exit
	joins    map[string][]complex128 // waits at joins, by joinKey
	crossing bool
	startEnd float64        // delays of the start and the end
	x        []float64      // scratch of latest
	paths    [][]complex128 // scratch of joins
}

// damped transforms probabilities, multiplied by r^k.
type damped struct {
	fft        *fft
	damp, lift []float64 // r^k and its inverse
}

const damping = 1e-5

func newDamped(points int) *damped {
	t := &damped{fft: newFFT(points), damp: make([]float64, points), lift: make([]float64, points)}
	for k := range t.damp {
		t.damp[k] = math.Pow(damping, float64(k)/float64(points))
		t.lift[k] = 1 / t.damp[k]
	}
	return t
}

// newTransform returns a transform whose nodes run for times with given spectra, delays included.
func newTransform(w *Workflow, runs [][]complex128, d Delays, g Grid, way rounding, with *damped) *transform {
	t := &transform{w: w, g: g, way: way, damped: with, own: make([][]complex128, len(w.function)),
		inner: make([][]complex128, len(w.inner)), spans: make([][]complex128, len(w.spans)), joins: map[string][]complex128{},
		x: make([]float64, g.Points)}
	if d.Count == Published {
		t.startEnd = 2*d.Node + d.Edge
	}
	for _, n := range slices.Backward(w.order) { // callees before callers
		t.own[n] = runs[n]
		if len(w.calls[n]) > 0 {
			t.own[n] = slices.Clone(runs[n])
			t.calls(n)
		}
	}
	for _, x := range w.terms {
		if x.region {
			t.inner[x.index] = t.forked(&w.inner[x.index])
		} else {
			t.spans[x.index] = t.walk(&w.spans[x.index])
		}
	}
	return t
}

// run returns the spectrum of a node's run with a law, its delay and that of the edge after it.
func (w *Workflow) run(n int, l Law, d Delays, g Grid, way rounding, with *damped) []complex128 {
	delay := d.Node
	if len(w.next[n]) > 0 || len(w.alts[n]) > 0 || w.caller[n] >= 0 || d.Count == Published {
		delay += d.Edge
	}
	return with.spectrum(lattice(l, delay, g, way))
}

// calls adds a node's calls to its time.
func (t *transform) calls(n int) {
	var paths [][]complex128
	for _, m := range t.w.calls[n] {
		paths = append(paths, t.own[m])
	}
	if t.w.mode[n] == Together {
		paths = [][]complex128{t.latest(paths, false)}
	}
	for _, p := range paths {
		multiply(t.own[n], p)
	}
}

// response returns the distribution function of the response time.
func (t *transform) response() []float64 {
	w := t.w
	arrives := make([][]complex128, len(w.function)) // probability and time of arriving at a region
	arrives[w.entry] = t.always()
	ends := make([]complex128, t.g.Points/2+1)
	for i := range w.regions {
		r := &w.regions[i]
		if arrives[r.from] == nil {
			continue
		}
		for j := range r.scenarios {
			s := &r.scenarios[j]
			x := t.scenario(r.from, s, true)
			multiply(x, arrives[r.from])
			to := ends
			if s.to != exit {
				if arrives[s.to] == nil {
					arrives[s.to] = make([]complex128, len(ends))
				}
				to = arrives[s.to]
			}
			for k := range to {
				to[k] += times(complex(s.p, 0), x[k])
			}
		}
	}
	if w := t.startEnd; w > 0 {
		multiply(ends, t.spectrum(lattice(fixed(w), 0, t.g, t.way)))
	}
	out := make([]float64, t.g.Points)
	t.masses(out, ends)
	sums(out)
	return out
}

// forked returns the spectrum of an inner region.
func (t *transform) forked(r *region) []complex128 {
	out := make([]complex128, t.g.Points/2+1)
	for j := range r.scenarios {
		for k, x := range t.scenario(r.from, &r.scenarios[j], false) {
			out[k] += times(complex(r.scenarios[j].p, 0), x)
		}
	}
	return out
}

// walk returns the spectrum of a span: it solves, at every frequency, g_i = Σ_arcs p·φ_i·g_j + Σ_exits p·φ_i for the time
// from the start of state i to the exit, with φ_i the spectrum of a run of i, or of i and its fork's region. Before an
// exit by a fork the fork's last run is not counted.
func (t *transform) walk(s *span) []complex128 {
	y := s.cycle
	n := len(y.index)
	nodes := make([]int32, n)
	for m, i := range y.index {
		nodes[i] = m
	}
	out := make([]complex128, t.g.Points/2+1)
	a, b := make([]complex128, n*n), make([]complex128, n)
	for k := range out {
		clear(a)
		clear(b)
		for i := range n {
			a[i*n+i] = 1
		}
		for _, c := range y.arcs {
			step := t.own[nodes[c.from]][k]
			switch {
			case c.out && y.exits[c.to].fork:
				step = 1
			case c.fork >= 0:
				step = times(step, t.inner[c.fork][k])
			}
			if step = times(step, complex(c.p, 0)); !c.out {
				a[c.from*n+c.to] -= step
			} else if c.to == s.exit {
				b[c.from] += step
			}
		}
		solveComplex(a, b)
		out[k] = b[s.from] / complex(s.p, 0)
	}
	return out
}

// solveComplex solves a·x = b in place of b. The matrix is diagonally dominant: rows of probabilities times spectra, which
// are below 1, taken from the identity.
func solveComplex(a, b []complex128) {
	n := len(b)
	for k := range n {
		for i := k + 1; i < n; i++ {
			if a[i*n+k] == 0 {
				continue
			}
			f := a[i*n+k] / a[k*n+k]
			for j := k + 1; j < n; j++ {
				a[i*n+j] -= times(f, a[k*n+j])
			}
			b[i] -= times(f, b[k])
		}
	}
	for k := n - 1; k >= 0; k-- {
		for j := k + 1; j < n; j++ {
			b[k] -= times(a[k*n+j], b[j])
		}
		b[k] /= a[k*n+k]
	}
}

// spectrum transforms probabilities; it overwrites them.
func (t *damped) spectrum(mass []float64) []complex128 {
	for k := range mass {
		mass[k] *= t.damp[k]
	}
	return t.fft.forward(mass)
}

// masses writes the probabilities of a spectrum.
func (t *damped) masses(x []float64, s []complex128) {
	t.fft.inverse(x, s)
	for k := range x {
		x[k] *= t.lift[k]
	}
}

// always returns the spectrum of no time at all.
func (t *transform) always() []complex128 {
	out := make([]complex128, t.g.Points/2+1)
	for k := range out {
		out[k] = 1
	}
	return out
}

// latest returns the spectrum of the longest of several times. Independent times have the product of the distribution
// functions. Times that depend on each other through nodes that they share have at least the product, and at most the
// smallest of the functions: bounds where times are rounded up, and down, and else the middle of both.
func (t *transform) latest(paths [][]complex128, dependent bool) []complex128 {
	if len(paths) == 1 {
		return paths[0]
	}
	var all, least []float64 // the product and the least
	for i, p := range paths {
		t.masses(t.x, p)
		sums(t.x)
		if i == 0 {
			all = slices.Clone(t.x)
			if dependent {
				least = slices.Clone(t.x)
			}
			continue
		}
		for k, f := range t.x {
			all[k] *= f
		}
		if dependent {
			for k, f := range t.x {
				least[k] = min(least[k], f)
			}
		}
	}
	if dependent {
		switch t.way {
		case down:
			all = least
		case nearest:
			for k, f := range least {
				all[k] = (all[k] + f) / 2
			}
		}
	}
	for k := len(all) - 1; k > 0; k-- {
		all[k] -= all[k-1]
	}
	return t.spectrum(all)
}

func multiply(dst, by []complex128) {
	for k := range dst {
		dst[k] = times(dst[k], by[k])
	}
}

// times is a·b, each product rounded by itself: the same on processors that fuse products with sums.
func times(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}
