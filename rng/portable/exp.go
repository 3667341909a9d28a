// Package portable holds elementary functions whose results have the same bits everywhere.
//
// Those of package math do not: its Sin, Cos, Log1p and Erfinv are compiled with fused multiply-add where the
// architecture or the GOAMD64 level has it, and its Exp looks at the processor. A world computed with them would differ
// between machines, and its golden traces with it. Here every product that feeds a sum is rounded first, and nothing
// but +, −, ×, ÷, square root and moves of bits is used.
//
// Results are within two units in the last place of the exact ones (one for most arguments); each function says where
// that ends. math.Sqrt, math.Floor and the like are exact and need no replacement; math.Hypot and math.Pow do.
package portable

import "math"

// ln 2 in two parts: the first has so few bits that a whole number below 2^20 times it is exact.
const (
	ln2High = 6.93147180369123816490e-01
	ln2Low  = 1.90821492927058770002e-10
)

// Exp returns e^x.
func Exp(x float64) float64 {
	switch {
	case x != x:
		return x
	case x > 709.782712893384: // ln of the largest number
		return math.Inf(1)
	case x < -745.1332191019412: // ln of half the smallest
		return 0
	}
	// x = k·ln2 + r with |r| ≤ ln2/2, and r = high − low.
	k := math.Floor(float64(x*math.Log2E) + 0.5)
	high := x - float64(k*ln2High)
	low := float64(k * ln2Low)
	r := high - low
	// The Taylor series from r²/2 on; r^14/14! is below the last place.
	p := float64(r*(1.0/6227020800)) + 1.0/479001600
	p = float64(r*p) + 1.0/39916800
	p = float64(r*p) + 1.0/3628800
	p = float64(r*p) + 1.0/362880
	p = float64(r*p) + 1.0/40320
	p = float64(r*p) + 1.0/5040
	p = float64(r*p) + 1.0/720
	p = float64(r*p) + 1.0/120
	p = float64(r*p) + 1.0/24
	p = float64(r*p) + 1.0/6
	p = float64(r*p) + 1.0/2
	p = float64(float64(r*r) * p)
	return ldexp(1+(high-(low-p)), int(k))
}

// ldexp is math.Ldexp for y in [½, 2), faster where the result is a normal number.
func ldexp(y float64, k int) float64 {
	if k < -1021 || k > 1022 {
		return math.Ldexp(y, k)
	}
	return math.Float64frombits(math.Float64bits(y) + uint64(k)<<52)
}

// frexp is math.Frexp for x > 0, faster where x is a normal number.
func frexp(x float64) (m float64, e int) {
	bits := math.Float64bits(x)
	if bits < 1<<52 {
		return math.Frexp(x)
	}
	return math.Float64frombits(bits&(1<<52-1) | 1022<<52), int(bits>>52) - 1022
}

// Log returns the natural logarithm of x: NaN below 0, −Inf at 0.
func Log(x float64) float64 {
	switch {
	case x != x || x > math.MaxFloat64:
		return x
	case x < 0:
		return math.NaN()
	case x == 0:
		return math.Inf(-1)
	}
	m, e := frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	return logOf(m-1, float64(e), 0)
}

// Log1p returns ln(1+x), exact also where x is small: NaN below −1, −Inf at −1.
func Log1p(x float64) float64 {
	if x > math.Sqrt2/2-1 && x < math.Sqrt2-1 {
		return logOf(x, 0, 0)
	}
	u := 1 + x
	if u != u || u > math.MaxFloat64 || u <= 0 {
		return Log(u)
	}
	// What rounding took from 1+x, as a correction of the logarithm.
	lost := (x - (u - 1)) / u
	if x > 1 {
		lost = (1 - (u - x)) / u
	}
	m, e := frexp(u)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	return logOf(m-1, float64(e), lost)
}

// logOf is ln(1+f) + e·ln2 + lost, for 1+f in [√½, √2). With s = f/(2+f) it is f − s·f + 2·(s³/3 + s⁵/5 + …), and
// s·f = f²/2 − s·f²/2.
func logOf(f, e, lost float64) float64 {
	s := f / (2 + f)
	z := float64(s * s)
	r := float64(z*(2.0/23)) + 2.0/21
	r = float64(z*r) + 2.0/19
	r = float64(z*r) + 2.0/17
	r = float64(z*r) + 2.0/15
	r = float64(z*r) + 2.0/13
	r = float64(z*r) + 2.0/11
	r = float64(z*r) + 2.0/9
	r = float64(z*r) + 2.0/7
	r = float64(z*r) + 2.0/5
	r = float64(z*r) + 2.0/3
	r = float64(z * r)
	half := float64(float64(0.5*f) * f)
	small := float64(s*(half+r)) + (float64(e*ln2Low) + lost)
	return float64(e*ln2High) - ((half - small) - f)
}

// Pow returns x^y for x ≥ 0 as exp(y·ln x): the relative error grows with |y·ln x|, by about two units in the last
// place for each unit of it. A negative x gives NaN.
func Pow(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x == 0:
		if y < 0 {
			return math.Inf(1)
		}
		return 0
	}
	return Exp(float64(y * Log(x)))
}
