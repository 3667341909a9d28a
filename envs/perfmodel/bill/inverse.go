package bill

import (
	"math"
)

// Invertible is a law of a run's time from which runs can be drawn: Quantile(u) of an even draw u.
type Invertible interface {
	Distribution
	// Quantile returns the time that a share p of the runs does not exceed, 0 ≤ p ≤ 1.
	Quantile(p float64) float64
}

// Quantile implements [Invertible].
func (a Always) Quantile(float64) float64 { return float64(a) }

// Quantile implements [Invertible].
func (r Runs) Quantile(p float64) float64 {
	return r[min(len(r)-1, max(0, int(math.Ceil(p*float64(len(r))))-1))]
}

// Quantile implements [Invertible]. It is +Inf for p = 1 unless CV is 0.
func (l Lognormal) Quantile(p float64) float64 {
	if l.CV == 0 {
		return l.M
	}
	v := math.Log1p(float64(l.CV * l.CV))
	z := math.Sqrt2 * math.Erfinv(float64(2*p)-1)
	return math.Exp(math.Log(l.M) - float64(v/2) + float64(math.Sqrt(v)*z))
}
