package chart

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// fit makes an axis that can be drawn: finite, wider than rounding errors, and extended by margin times its width at
// both ends. An axis without values becomes 0 to 1 (1 to 10 where it is logarithmic); a single value x becomes 0.9 x to
// 1.1 x, and a single 0 becomes 0 to 1.
func fit(a *plot.Axis, margin float64) {
	log := logarithmic(a)
	if !(a.Min <= a.Max) || !finite(a.Min) || !finite(a.Max) {
		a.Min, a.Max = 0, 1
		if log {
			a.Min, a.Max = 1, 10
		}
		return
	}
	if log {
		f := math.Pow(max(a.Max/a.Min, 1.01), margin)
		a.Min, a.Max = a.Min/f, a.Max*f
		return
	}
	w := a.Max - a.Min
	if most := max(math.Abs(a.Min), math.Abs(a.Max)); w <= 1e-9*most {
		w = most / 10
		a.Min, a.Max = a.Min-w, a.Max+w
	}
	if w == 0 { // all values are 0
		a.Max, w = 1, 1
	}
	a.Min, a.Max = a.Min-margin*w, a.Max+margin*w
}

// linear marks about Want round numbers, only whole ones where Whole is set.
type linear struct {
	Want  int
	Whole bool
}

// Ticks implements [plot.Ticker].
func (l linear) Ticks(lo, hi float64) []plot.Tick {
	w := hi - lo
	if !(w > 0) || !finite(w) {
		return nil
	}
	step := roundStep(w / float64(max(1, l.Want-1)))
	if l.Whole {
		step = max(step, 1)
	}
	var values []float64
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+1e-9*w && len(values) < 100; k++ {
		values = append(values, k*step)
	}
	return labelled(values, step)
}

// roundStep is the number nearest to x, by ratio, among 1, 2 and 5 times the powers of ten.
func roundStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	switch f := x / power; {
	case f < math.Sqrt(2):
		return power
	case f < math.Sqrt(10):
		return 2 * power
	case f < math.Sqrt(50):
		return 5 * power
	}
	return 10 * power
}

// labelled writes values with as many decimals as their step needs, in thousands or millions where they are large.
func labelled(values []float64, step float64) []plot.Tick {
	most := 0.0
	for _, v := range values {
		most = max(most, math.Abs(v))
	}
	div, suffix := 1.0, ""
	switch {
	case most >= 1e10 || most < 1e-4:
		out := make([]plot.Tick, len(values))
		for i, v := range values {
			if math.Abs(v) < step/2 {
				v = 0
			}
			out[i] = plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 4, 64)}
		}
		return out
	case most >= 1e6:
		div, suffix = 1e6, "M"
	case most >= 1e4:
		div, suffix = 1e3, "k"
	}
	decimals := max(0, -int(math.Floor(math.Log10(step/div)+1e-9)))
	out := make([]plot.Tick, len(values))
	for i, v := range values {
		if math.Abs(v) < step/2 {
			v = 0 // not −0
		}
		out[i] = plot.Tick{Value: v, Label: strconv.FormatFloat(v/div, 'f', decimals, 64)}
		if v != 0 {
			out[i].Label += suffix
		}
	}
	return out
}

// decades marks the powers of ten of a logarithmic axis, and 2 and 5 times them where there are few. Where fewer than two of
// these lie on the axis it marks what a linear one would.
type decades struct{}

// Ticks implements [plot.Ticker].
func (decades) Ticks(lo, hi float64) []plot.Tick {
	if !(lo > 0 && hi > lo) || !finite(hi) {
		return nil
	}
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := max(1, (last-first)/8) // decades between labels
	var out []plot.Tick
	for e := first; e <= last; e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, float64(e))
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if last-first <= 3 || m == 1 && (e-first)%every == 0 {
				t.Label = short(v)
			}
			out = append(out, t)
		}
	}
	if len(out) < 2 {
		return linear{Want: 6}.Ticks(lo, hi)
	}
	return out
}

// short writes a power of ten, or 2 or 5 times one, in thousands or millions where it is large, as along a linear axis.
func short(v float64) string {
	switch {
	case v >= 1e6*(1-1e-9) && v < 1e10:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case v >= 1e4*(1-1e-9) && v < 1e10:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// named marks 0, 1, 2… by names, from the top down; empty names are not written.
type named []string

// Ticks implements [plot.Ticker].
func (n named) Ticks(float64, float64) []plot.Tick {
	out := make([]plot.Tick, len(n))
	for i, s := range n {
		if s == "" {
			s = " "
		}
		out[i] = plot.Tick{Value: -float64(i), Label: s}
	}
	return out
}
