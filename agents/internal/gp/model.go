package gp

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"github.com/stoker-rl/stoker/internal/reuse"
)

// Kernel is a form of covariance.
type Kernel string

// Kernels, as functions of the scaled distance r.
const (
	// Matern52 is (1 + √5·r + 5r²/3)·exp(−√5·r): twice differentiable.
	Matern52 Kernel = "matern52"
	// RBF is exp(−r²/2): smooth.
	RBF Kernel = "rbf"
)

// of returns the covariance at a squared distance q, and its derivative by q. Both are smooth at q = 0.
func (k Kernel) of(q float64) (value, slope float64) {
	if k == RBF {
		e := math.Exp(-q / 2)
		return e, -e / 2
	}
	s := math.Sqrt(5 * q)
	e := math.Exp(-s)
	return (1 + s + s*s/3) * e, -5.0 / 6 * (1 + s) * e
}

// distance is the squared distance of two scaled points.
func distance(a, b []float64) float64 {
	b = b[:len(a)]
	var even, odd float64
	i := 0
	for ; i+1 < len(a); i += 2 {
		u, v := a[i]-b[i], a[i+1]-b[i+1]
		even += u * u
		odd += v * v
	}
	if i < len(a) {
		u := a[i] - b[i]
		even += u * u
	}
	return even + odd
}

// Params are the positive numbers of a model.
type Params struct {
	Signal, Noise float64
	// Length has one length scale per input, all equal where they are shared.
	Length []float64
}

// Model is a Gaussian process, conditioned on rows by [Model.Fit].
type Model struct {
	config         Config
	inputs, rows   int
	params         Params
	jitter         float64 // added to the diagonal so that the matrix could be factored
	x, scaled, y   []float64
	lower          []float64 // Cholesky factor of K + (noise + jitter)·I, row-major, lower triangle
	alpha          []float64 // (K + (noise + jitter)·I)⁻¹·y
	inverse, slope []float64 // scratch of the gradient
	likelihood     float64
}

// New returns a model of points with a number of inputs.
func New(c Config, inputs int) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if inputs < 1 {
		return nil, fmt.Errorf("gp: %d inputs, want 1 or more", inputs)
	}
	m := &Model{config: c, inputs: inputs}
	m.params = Params{Signal: c.Signal.Start, Noise: c.Noise.Start, Length: make([]float64, inputs)}
	for i := range m.params.Length {
		m.params.Length[i] = c.Length.Start
	}
	return m, nil
}

func (m *Model) load(x, y []float64) error {
	n := len(y)
	if n == 0 || len(x) != n*m.inputs {
		return fmt.Errorf("gp: %d numbers of input for %d outputs, want 1 output or more and %d inputs for each", len(x), n,
			m.inputs)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("gp: input %d of row %d is %g, want a finite number", i%m.inputs, i/m.inputs, v)
		}
	}
	for i, v := range y {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("gp: output of row %d is %g, want a finite number", i, v)
		}
	}
	m.rows = n
	m.x, m.y = append(m.x[:0], x...), append(m.y[:0], y...)
	m.scaled, m.alpha = reuse.Slice(m.scaled, n*m.inputs), reuse.Slice(m.alpha, n)
	m.lower, m.slope = reuse.Slice(m.lower, n*n), reuse.Slice(m.slope, n*n)
	return nil
}

func (m *Model) row(i int) []float64 { return m.scaled[i*m.inputs : (i+1)*m.inputs] }

// jitters are tried in turn, as shares of the signal's variance.
var jitters = []float64{0, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8}

// condition factors the matrix and solves for alpha (GPML algorithm 2.1).
func (m *Model) condition() error {
	n, p := m.rows, &m.params
	for i := range n {
		for j := range m.inputs {
			m.scaled[i*m.inputs+j] = m.x[i*m.inputs+j] / p.Length[j]
		}
	}
	for _, share := range jitters {
		m.jitter = share * p.Signal
		if same := m.covariances(); same && p.Noise == 0 {
			break // jitter would only hide that such a function cannot be
		}
		if potrf(m.lower, n) {
			copy(m.alpha, m.y)
			potrs(m.lower, n, m.alpha)
			m.likelihood = -float64(n) / 2 * math.Log(2*math.Pi)
			for i := range n {
				m.likelihood -= m.y[i]*m.alpha[i]/2 + math.Log(m.lower[i*n+i])
			}
			return nil
		}
	}
	return m.singular()
}

// covariances fills the lower triangles of K + (noise + jitter)·I, and of the kernel's slopes. It reports whether two
// rows have the same inputs.
func (m *Model) covariances() (same bool) {
	n, p := m.rows, &m.params
	for i := range n {
		for j := range i {
			q := distance(m.row(i), m.row(j))
			same = same || q == 0
			k, slope := m.config.Kernel.of(q)
			m.lower[i*n+j], m.slope[i*n+j] = p.Signal*k, p.Signal*slope
		}
		m.lower[i*n+i] = p.Signal + p.Noise + m.jitter
	}
	return same
}

// singular names the rows that are too near to each other.
func (m *Model) singular() error {
	near, a, b := math.Inf(1), 0, 0
	for i := range m.rows {
		for j := range i {
			if q := distance(m.row(i), m.row(j)); q < near {
				near, a, b = q, j, i
			}
		}
	}
	what := fmt.Sprintf("rows %d and %d are %.2g length scales apart", a, b, math.Sqrt(near))
	if near == 0 {
		what = fmt.Sprintf("rows %d and %d have the same inputs", a, b)
	}
	return fmt.Errorf("gp: the kernel matrix of %d rows is singular: %s, and the noise is %g of the signal's variance "+
		"%g. Drop one of them, or give the model more noise", m.rows, what, m.params.Noise/m.params.Signal, m.params.Signal)
}

func triangular(lower []float64, n int) blas64.Triangular {
	return blas64.Triangular{N: n, Stride: max(1, n), Data: lower, Uplo: blas.Lower, Diag: blas.NonUnit}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// potrs solves L·Lᵀ·x = b in place.
func potrs(lower []float64, n int, b []float64) {
	t := triangular(lower, n)
	blas64.Trsv(blas.NoTrans, t, vector(b))
	blas64.Trsv(blas.Trans, t, vector(b))
}

// inverted returns the lower triangle of the inverse of K + (noise + jitter)·I.
func (m *Model) inverted() []float64 {
	n := m.rows
	m.inverse = reuse.Slice(m.inverse, n*n)
	copy(m.inverse, m.lower)
	lapack64.Potri(triangular(m.inverse, n))
	return m.inverse
}

// potrf factors the lower triangle of a matrix in place, and reports whether the factor is finite.
func potrf(a []float64, n int) bool {
	_, ok := lapack64.Potrf(blas64.Symmetric{N: n, Stride: max(1, n), Data: a, Uplo: blas.Lower})
	return ok && !math.IsInf(a[n*n-1], 0) && !math.IsNaN(a[n*n-1])
}

// Query asks a model about one point after another, without allocating. It is valid until the model is conditioned
// again.
type Query struct {
	m     *Model
	x     []float64 // the point, scaled
	k     []float64 // covariance with each row
	slope []float64 // its derivative by the squared distance
	v, w  []float64 // L⁻¹·k, and A⁻¹·k
	// Mean and SD are those of the function at the last point, without noise.
	Mean, SD float64
}

// Query returns a query of the conditioned model.
func (m *Model) Query() *Query {
	n := m.rows
	return &Query{m: m, x: make([]float64, m.inputs), k: make([]float64, n), slope: make([]float64, n), v: make([]float64,
		n), w: make([]float64, n)}
}

// At sets Mean and SD to the function's posterior at a point (GPML eqs. 2.25 and 2.26).
func (q *Query) At(x []float64) {
	q.covariances(x)
	q.Mean = dot(q.k, q.m.alpha)
	copy(q.v, q.k)
	blas64.Trsv(blas.NoTrans, triangular(q.m.lower, q.m.rows), vector(q.v))
	q.SD = math.Sqrt(max(q.m.params.Signal-dot(q.v, q.v), 0))
}

// covariances fills k and slope.
func (q *Query) covariances(x []float64) {
	m := q.m
	for j := range q.x {
		q.x[j] = x[j] / m.params.Length[j]
	}
	for i := range q.k {
		k, slope := m.config.Kernel.of(distance(q.x, m.row(i)))
		q.k[i], q.slope[i] = m.params.Signal*k, m.params.Signal*slope
	}
}

// Gradient adds mean·∇Mean + sd·∇SD, by the last point's inputs, to g.
func (q *Query) Gradient(mean, sd float64, g []float64) {
	copy(q.w, q.v)
	blas64.Trsv(blas.Trans, triangular(q.m.lower, q.m.rows), vector(q.w))
	by := 0.0
	if q.SD > 0 {
		by = sd / q.SD
	}
	for i, a := range q.m.alpha {
		q.w[i] = mean*a - by*q.w[i]
	}
	q.pull(q.w, g)
}

// pull adds Σ weights_i·∇k_i to g.
func (q *Query) pull(weights, g []float64) {
	m := q.m
	for i, w := range weights {
		w *= 2 * q.slope[i]
		row := m.row(i)
		for j := range g {
			g[j] += w * (q.x[j] - row[j]) / m.params.Length[j]
		}
	}
}

func dot(a, b []float64) float64 { return blas64.Dot(vector(a), vector(b)) }

// errCovariance reports a matrix that is no covariance.
var errCovariance = errors.New("gp: the matrix is no covariance: it has a negative eigenvalue")

// Factor overwrites the lower triangle of a row-major n×n covariance with its Cholesky factor, and clears the other. It
// raises the diagonal by up to 1e-6 of its mean where the matrix is singular.
func Factor(covariance []float64, n int) error {
	var trace float64
	for i := range n {
		trace += covariance[i*n+i]
	}
	work := make([]float64, n*n)
	for _, share := range []float64{0, 1e-12, 1e-10, 1e-8, 1e-6} {
		copy(work, covariance)
		for i := range n {
			work[i*n+i] += share * trace / float64(n)
			clear(work[i*n+i+1 : (i+1)*n])
		}
		if potrf(work, n) {
			copy(covariance, work)
			return nil
		}
	}
	return errCovariance
}

// LeaveOneOut returns by how much each row's output differs from what the other rows expect, and the standard deviation
// of that expectation with noise, at the parameters as they are (GPML eqs. 5.12). It is closed form: no row is fitted
// again.
func (m *Model) LeaveOneOut() (residual, sd []float64) {
	n := m.rows
	residual, sd = make([]float64, n), make([]float64, n)
	inverse := m.inverted()
	for i := range n {
		precision := inverse[i*n+i]
		residual[i], sd[i] = m.alpha[i]/precision, math.Sqrt(1/precision)
	}
	return residual, sd
}
