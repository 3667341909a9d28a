package portable

import "math"

// π/2 in three parts of at most 33 bits, so that a whole number below 2^20 times one of the first two is exact.
const (
	halfPi1 = 1.57079632673412561417e+00
	halfPi2 = 6.07710050630396597660e-11
	halfPi3 = 2.02226624879595063154e-21
)

// Sincos returns sin x and cos x. Beyond |x| of 800,000 digits are lost, and beyond 2^52 both are NaN.
func Sincos(x float64) (sin, cos float64) {
	if math.Abs(x) <= math.Pi/4 {
		return sinOf(x), cosOf(x)
	}
	if !(math.Abs(x) < 1<<52) {
		return math.NaN(), math.NaN()
	}
	n := math.Floor(float64(x*(2/math.Pi)) + 0.5)
	r := x - float64(n*halfPi1)
	r -= float64(n * halfPi2)
	r -= float64(n * halfPi3)
	s, c := sinOf(r), cosOf(r)
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	}
	return -c, s
}

// Sin returns sin x; see [Sincos].
func Sin(x float64) float64 { s, _ := Sincos(x); return s }

// Cos returns cos x; see [Sincos].
func Cos(x float64) float64 { _, c := Sincos(x); return c }

// sinOf is the Taylor series for |x| ≤ π/4; x^19/19! is below the last place.
func sinOf(x float64) float64 {
	z := float64(x * x)
	p := float64(z*(1.0/355687428096000)) - 1.0/1307674368000
	p = float64(z*p) + 1.0/6227020800
	p = float64(z*p) - 1.0/39916800
	p = float64(z*p) + 1.0/362880
	p = float64(z*p) - 1.0/5040
	p = float64(z*p) + 1.0/120
	p = float64(z*p) - 1.0/6
	return x + float64(float64(x*z)*p)
}

// cosOf is the Taylor series for |x| ≤ π/4; x^18/18! is below the last place. 1 − z/2 loses digits, which are added to
// the rest.
func cosOf(x float64) float64 {
	z := float64(x * x)
	p := float64(z*(1.0/20922789888000)) - 1.0/87178291200
	p = float64(z*p) + 1.0/479001600
	p = float64(z*p) - 1.0/3628800
	p = float64(z*p) + 1.0/40320
	p = float64(z*p) - 1.0/720
	p = float64(z*p) + 1.0/24
	half := float64(0.5 * z)
	w := 1 - half
	return w + (((1 - w) - half) + float64(float64(z*z)*p))
}
