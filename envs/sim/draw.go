package sim

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

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
