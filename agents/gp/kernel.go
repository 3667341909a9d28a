package gp

import "math"

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
