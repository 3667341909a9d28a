package gp

import "math"

// LeaveOneOut returns what the other rows say of each row's output: its mean and its standard deviation with noise,
// with the parameters as they are (GPML eqs. 5.12). It is closed form: no row is fitted again.
func (m *Model) LeaveOneOut() (mean, sd []float64) {
	n := m.rows
	mean, sd = make([]float64, n), make([]float64, n)
	inverse := m.inverted()
	for i := range n {
		precision := inverse[i*n+i]
		mean[i] = m.y[i] - m.alpha[i]/precision
		sd[i] = math.Sqrt(1 / precision)
	}
	return mean, sd
}
