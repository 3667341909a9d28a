package gp

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

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

// Joint returns means and covariances (row-major) of the function at several points, without noise.
func (m *Model) Joint(points []float64) (mean, covariance []float64) {
	p := len(points) / m.inputs
	mean, covariance = make([]float64, p), make([]float64, p*p)
	solved := make([][]float64, p)
	scaled := make([][]float64, p)
	q := m.Query()
	for a := range p {
		q.At(points[a*m.inputs : (a+1)*m.inputs])
		mean[a] = q.Mean
		solved[a], scaled[a] = append([]float64(nil), q.v...), append([]float64(nil), q.x...)
		for b := range a + 1 {
			k, _ := m.config.Kernel.of(distance(scaled[a], scaled[b]))
			c := m.params.Signal*k - dot(solved[a], solved[b])
			covariance[a*p+b], covariance[b*p+a] = c, c
		}
	}
	return mean, covariance
}

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
