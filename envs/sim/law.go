package sim

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// LawKind names a family of positive random times.
type LawKind uint8

const (
	// Deterministic always gives the mean.
	Deterministic LawKind = iota
	// Exponential has the mean and coefficient of variation 1.
	Exponential
	// Lognormal has the mean and coefficient of variation given.
	Lognormal
	// Gamma has the mean and coefficient of variation given; 1/CV² is its shape, so CV = 1/√k is Erlang-k.
	Gamma
	// Empirical interpolates linearly in a table of quantiles.
	Empirical
	lawKinds
)

var lawNames = [lawKinds]string{"deterministic", "exponential", "lognormal", "gamma", "empirical"}

func (k LawKind) String() string {
	if k < lawKinds {
		return lawNames[k]
	}
	return fmt.Sprintf("LawKind(%d)", uint8(k))
}

// Law is a law of positive times. A draw is rounded to a microsecond, at least one and at most MaxSpan.
type Law struct {
	Kind LawKind
	Mean float64 // seconds; ignored by Empirical
	CV   float64 // standard deviation over mean; Lognormal and Gamma only
	// Table holds an Empirical law's quantiles in seconds at the probabilities 0, 1/(n-1), …, 1: at least two,
	// never falling. The simulator keeps the slice; do not change it afterwards.
	Table []float64
}

// Moments returns the law's mean (seconds) and squared coefficient of variation, before rounding.
func (l Law) Moments() (mean, scv float64) {
	switch l.Kind {
	case Exponential:
		return l.Mean, 1
	case Lognormal, Gamma:
		return l.Mean, l.CV * l.CV
	case Empirical:
		// Between neighbours a, b the law is uniform: mean (a+b)/2, second moment (a²+ab+b²)/3.
		var m, sq float64
		for i := 1; i < len(l.Table); i++ {
			a, b := l.Table[i-1], l.Table[i]
			m += float64((a + b) / 2)
			sq += (float64(a*a) + float64(a*b) + float64(b*b)) / 3
		}
		n := float64(len(l.Table) - 1)
		m, sq = m/n, sq/n
		if m == 0 {
			return 0, 0
		}
		return m, sq/float64(m*m) - 1
	}
	return l.Mean, 0
}

// validate reports what is wrong with the law; field names it in the error.
func (l Law) validate(field string) error {
	top := MaxSpan.Seconds()
	switch l.Kind {
	case Deterministic, Exponential, Lognormal, Gamma:
		if !(l.Mean >= 0 && l.Mean <= top) {
			return fmt.Errorf("%s.Mean is %v, want seconds in [0, %v]", field, l.Mean, top)
		}
		if (l.Kind == Lognormal || l.Kind == Gamma) && !(l.CV > 0 && l.CV <= 100) {
			return fmt.Errorf("%s.CV is %v, want a number in (0, 100]", field, l.CV)
		}
	case Empirical:
		if len(l.Table) < 2 {
			return fmt.Errorf("%s.Table has %d quantiles, want at least 2", field, len(l.Table))
		}
		for i, q := range l.Table {
			if !(q >= 0 && q <= top) {
				return fmt.Errorf("%s.Table[%d] is %v, want seconds in [0, %v]", field, i, q, top)
			}
			if i > 0 && q < l.Table[i-1] {
				return fmt.Errorf("%s.Table[%d] is %v, below its predecessor %v: quantiles must not fall", field, i, q,
					l.Table[i-1])
			}
		}
	default:
		return fmt.Errorf("%s.Kind is %d, want one of %v", field, l.Kind, lawNames)
	}
	return nil
}

// drawer is a Law made ready to draw from, in microseconds.
type drawer struct {
	kind  LawKind
	a, b  float64
	table []float64 // seconds
}

func newDrawer(l Law) drawer {
	d := drawer{kind: l.Kind, a: l.Mean * 1e6, table: l.Table}
	switch l.Kind {
	case Lognormal:
		// ln X is normal with variance ln(1+CV²) and mean ln(mean) - variance/2.
		v := portable.Log(1 + float64(l.CV*l.CV))
		d.a, d.b = portable.Log(d.a)-float64(v/2), math.Sqrt(v)
	case Gamma:
		d.b = 1 / (l.CV * l.CV) // shape; the scale is a/b
	}
	return d
}

// draw gives the key's time: whole microseconds, at least one.
func (d *drawer) draw(k rng.Key) Time {
	us := d.a
	switch d.kind {
	case Exponential:
		us = float64(d.a * k.Exp())
	case Lognormal:
		us = portable.Exp(d.a + float64(d.b*k.Norm()))
	case Gamma:
		us = float64(d.a / d.b * standardGamma(k, d.b))
	case Empirical:
		x := float64(k.Float64() * float64(len(d.table)-1))
		i := int(x)
		lo, hi := d.table[i], d.table[i+1]
		us = float64(1e6 * (lo + float64((x-float64(i))*(hi-lo))))
	}
	if !(us > 1) {
		return 1
	}
	if us >= float64(MaxSpan) {
		return MaxSpan
	}
	return Time(us + 0.5)
}

// standardGamma draws a gamma variate of the given shape and scale 1 by Marsaglia and Tsang's rejection method
// (ACM TOMS 26, 2000). Each trial has its own keys, so that the draw belongs to k alone.
func standardGamma(k rng.Key, shape float64) float64 {
	boost := 1.0
	if shape < 1 {
		boost = portable.Exp(portable.Log(k.With(0).Open()) / shape)
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for i := uint64(1); ; i++ {
		t := k.With(i)
		x := t.With(0).Norm()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * v * v)
		u := t.With(1).Open()
		x2 := x * x
		if u < 1-float64(0.0331*float64(x2*x2)) || portable.Log(u) < float64(0.5*x2)+float64(d*(1-v+portable.Log(v))) {
			return boost * d * v
		}
	}
}
