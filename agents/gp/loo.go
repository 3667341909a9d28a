package gp

import "math"

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
