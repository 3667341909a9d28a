package steps

import "github.com/stoker-rl/stoker/rng/portable"

// never is the logarithm of a probability of about 0.
const never = -1e3

// The table of the logarithm of the standard normal distribution and of its derivative: straight lines between points
// 1/256 apart, with an error below 2e-6.
const (
	tableFrom = -8.0
	tableStep = 256
	tableSize = 2*8*tableStep + 1
)

var logTable = func() *[tableSize][2]float64 {
	var t [tableSize][2]float64
	for i := range t {
		x := tableFrom + float64(float64(i)/tableStep)
		below := upper(max(x, -x))
		if x < 0 {
			t[i][0] = portable.Log(below)
		} else {
			t[i][0], below = portable.Log1p(-below), 1-below
		}
		t[i][1] = density(x) / below
	}
	return &t
}()

func density(x float64) float64 { return 0.3989422804014327 * portable.Exp(-float64(x*x/2)) }

// upper is the probability that a standard normal number is above x ≥ 0: the continued fraction of Laplace, and the
// series where that is slow.
func upper(x float64) float64 {
	f := density(x)
	if x > 3 {
		d := x
		for k := 60; k > 0; k-- {
			d = x + float64(k)/d
		}
		return f / d
	}
	sum, term := x, x
	for k := 3.0; k < 200; k += 2 {
		term = float64(term * (float64(x*x) / k))
		sum += term
	}
	return 0.5 - float64(f*sum)
}

// logNormal returns the logarithm of the probability that a standard normal number is below z, and its derivative.
func logNormal(z float64) (y, slope float64) {
	at := float64((z - tableFrom) * tableStep)
	if at < 0 {
		return logTable[0][0] - float64((float64(z*z)-64)/2), -z
	}
	i := int(at)
	if i >= tableSize-1 {
		return 0, 0
	}
	a, b, part := &logTable[i], &logTable[i+1], at-float64(i)
	return a[0] + float64(part*(b[0]-a[0])), a[1] + float64(part*(b[1]-a[1]))
}
