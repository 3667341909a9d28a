package memory

import (
	"fmt"
	"math"
)

// Options say how laws are fitted.
type Options struct {
	// Plain minimises the squares of plain errors, as the papers' curve_fit does; without it relative errors count, since
	// times over sizes differ by a factor of ten.
	Plain bool
	// SingleCore is m_s of StepConf's laws in MB, 0 for AWS's 1769. Cores is q, the cores that the code uses, 0 for as
	// many as the largest size gives.
	SingleCore, Cores float64
}

// parameters is how many numbers each form has.
var parameters = map[Form]int{Exponential: 3, Knee: 3, Single: 3, Multi: 3, Table: 1}

// Fit fits a law of a form to the means of sizes by least squares. All forms but the table have one parameter that is
// not linear: it is searched over its range by a grid and then golden section, and for each value the others follow
// from a linear problem with coefficients ≥ 0, so that no start value is needed. It needs as many sizes as the form
// has parameters.
func Fit(form Form, sizes []Size, o Options) (Law, error) {
	n, ok := parameters[form]
	if !ok {
		return nil, fmt.Errorf("memory: no law %q, there are %v", form, Forms())
	}
	if len(sizes) < n {
		return nil, fmt.Errorf("memory: %d memory sizes are too few for the %s law, which has %d parameters: "+
			"measure at least %d sizes", len(sizes), form, n, n)
	}
	if form == Table {
		var l Measured
		for _, s := range sizes {
			l.MB, l.Mean = append(l.MB, s.MB), append(l.Mean, s.Mean)
		}
		return l, nil
	}
	first, last := sizes[0].MB, sizes[len(sizes)-1].MB
	m := o.SingleCore
	if m == 0 {
		m = SingleCore
	}
	q := o.Cores
	if q == 0 {
		q = last / m
	}
	// basis is what B is multiplied by, for a value of the parameter that is not linear; low and high are that one's
	// range.
	var basis func(c, mb float64) float64
	var low, high float64
	switch form {
	case Exponential:
		basis = func(c, mb float64) float64 { return math.Exp(-c * mb) }
		low, high = 0.01/last, 20/first
	case Knee:
		basis = func(c, mb float64) float64 { return 1 / min(mb, c) }
		low, high = first, last
	case Single:
		basis = func(c, mb float64) float64 { return 1 / (min(mb/m, q) + c) }
		low, high = 1e-6, 10*last/m
	case Multi:
		basis = func(c, mb float64) float64 { return math.Exp(-c * min(mb/m, q)) }
		low, high = 0.01*m/last, 20*m/first
	}
	c := minimise(low, high, func(c float64) float64 {
		_, _, sse := linear(sizes, o.Plain, func(mb float64) float64 { return basis(c, mb) })
		return sse
	})
	a, b, _ := linear(sizes, o.Plain, func(mb float64) float64 { return basis(c, mb) })
	switch form {
	case Exponential:
		return Exp{a, b, c}, nil
	case Knee:
		return Inverse{a, b, c}, nil
	default:
		return Step{Case: form, A: a, B: b, C: c, M: m, Q: q}, nil
	}
}

// linear returns a, b ≥ 0 with the least squares of a + b·basis(mb) - mean, and their sum.
func linear(sizes []Size, plain bool, basis func(mb float64) float64) (a, b, sse float64) {
	var s1, sx, sxx, sy, sxy float64
	weight := func(s Size) float64 {
		if plain {
			return 1
		}
		return 1 / float64(s.Mean*s.Mean)
	}
	for _, s := range sizes {
		w, x := weight(s), basis(s.MB)
		s1 += w
		sx += float64(w * x)
		sxx += float64(float64(w*x) * x)
		sy += float64(w * s.Mean)
		sxy += float64(float64(w*x) * s.Mean)
	}
	if d := float64(s1*sxx) - float64(sx*sx); d > 1e-12*float64(s1*sxx) {
		a, b = (float64(sxx*sy)-float64(sx*sxy))/d, (float64(s1*sxy)-float64(sx*sy))/d
	} else {
		a = -1
	}
	switch { // where one is negative it is 0 in the best of the quarter
	case a < 0:
		a, b = 0, max(0, sxy/sxx)
	case b < 0:
		a, b = sy/s1, 0
	}
	for _, s := range sizes {
		e := a + float64(b*basis(s.MB)) - s.Mean
		sse += float64(float64(weight(s)*e) * e)
	}
	return a, b, sse
}

// minimise returns where f is least in [low, high], with 0 < low: the best of a grid in the logarithm, then golden
// section between its neighbours.
func minimise(low, high float64, f func(float64) float64) float64 {
	const grid = 240
	at := func(i int) float64 { return float64(low * math.Pow(high/low, float64(i)/grid)) }
	best, least := 0, math.Inf(1)
	for i := range grid + 1 {
		if v := f(at(i)); v < least {
			best, least = i, v
		}
	}
	a, b := at(max(0, best-1)), at(min(grid, best+1))
	const golden = 0.6180339887498949
	x, y := b-float64(golden*(b-a)), a+float64(golden*(b-a))
	fx, fy := f(x), f(y)
	for b-a > 1e-10*b {
		if fx <= fy {
			b, y, fy = y, x, fx
			x = b - float64(golden*(b-a))
			fx = f(x)
		} else {
			a, x, fx = x, y, fy
			y = a + float64(golden*(b-a))
			fy = f(y)
		}
	}
	if c := (a + b) / 2; f(c) < least {
		return c
	}
	return at(best)
}
