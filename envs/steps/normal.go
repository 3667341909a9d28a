package steps

import "github.com/stoker-rl/stoker/rng/portable"

// never is the logarithm of a probability of about 0.
const never = -1e3

// The table of the logarithm of the standard normal distribution: straight lines between points 1/256 apart, with an
// error below 2e-6.
const (
	tableFrom = -8.0
	tableStep = 256
	tableSize = 2*8*tableStep + 1
)

var logTable = tabulate()

func tabulate() *[tableSize]float64 {
	var t [tableSize]float64
	for i := range t {
		x := tableFrom + float64(float64(i)/tableStep)
		if q := upper(max(x, -x)); x < 0 {
			t[i] = portable.Log(q)
		} else {
			t[i] = portable.Log1p(-q)
		}
	}
	return &t
}

// upper is the probability that a standard normal number is above x ≥ 0: the continued fraction of Laplace, and the
// series where that is slow.
func upper(x float64) float64 {
	density := 0.3989422804014327 * portable.Exp(-float64(x*x/2))
	if x > 3 {
		d := x
		for k := 60; k > 0; k-- {
			d = x + float64(k)/d
		}
		return density / d
	}
	sum, term := x, x
	for k := 3.0; k < 200; k += 2 {
		term = float64(term * (float64(x*x) / k))
		sum += term
	}
	return 0.5 - float64(density*sum)
}

// logNormal returns the logarithm of the probability that a standard normal number is below z.
func logNormal(z float64) float64 {
	at := float64((z - tableFrom) * tableStep)
	if at < 0 {
		return logTable[0] - float64((float64(z*z)-64)/2)
	}
	i := int(at)
	if i >= tableSize-1 {
		return 0
	}
	return logTable[i] + float64((at-float64(i))*(logTable[i+1]-logTable[i]))
}
