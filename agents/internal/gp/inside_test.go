package gp

import (
	"fmt"
	"math"
	"math/bits"
)

// Rows is the number of rows.
func (m *Model) Rows() int { return m.rows }

// Jitter is the variance that was added to the diagonal because the matrix was singular without; mostly 0.
func (m *Model) Jitter() float64 { return m.jitter }

// Likelihood is the log marginal likelihood of the rows (GPML eq. 2.30).
func (m *Model) Likelihood() float64 { return m.likelihood }

// Set conditions the model on rows with given parameters. It copies what it is given.
func (m *Model) Set(x, y []float64, p Params) error {
	if err := m.load(x, y); err != nil {
		return err
	}
	if len(p.Length) != m.inputs {
		return fmt.Errorf("gp: %d length scales, want %d", len(p.Length), m.inputs)
	}
	for _, v := range append([]float64{p.Signal, p.Noise + math.SmallestNonzeroFloat64}, p.Length...) {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("gp: signal %g, noise %g and length scales %v, want finite numbers above 0 (noise may be 0)",
				p.Signal, p.Noise, p.Length)
		}
	}
	m.take(p)
	return m.condition()
}

func (m *Model) take(p Params) {
	m.params.Signal, m.params.Noise = p.Signal, p.Noise
	copy(m.params.Length, p.Length)
}

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

// SobolDimensions is the number of dimensions that have direction numbers.
func SobolDimensions() int { return len(table()) }

// Sobol returns the first n points (row-major) of the Sobol sequence in [0, 1)^d, d at most [SobolDimensions], with the
// direction numbers new-joe-kuo-6 of Joe and Kuo (2008), in Gray code order; the first point is 0.
func Sobol(n, d int) []float64 {
	out := make([]float64, n*d)
	for j := range d {
		v, x := &table()[j], uint32(0)
		for i := range n {
			if i > 0 {
				x ^= v[bits.TrailingZeros32(uint32(i))]
			}
			out[i*d+j] = float64(x) / (1 << sobolBits)
		}
	}
	return out
}

// Params returns the model's parameters.
func (m *Model) Params() Params {
	p := m.params
	p.Length = append([]float64(nil), p.Length...)
	return p
}
