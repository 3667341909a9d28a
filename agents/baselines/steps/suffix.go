package steps

import (
	"cmp"
	"math"
	"slices"
)

// point is a plan for a step and all that comes after it.
type point struct {
	seconds float64 // of the plan, as the front is made
	spread  float64 // what of the predicted quantile is above the seconds, squared: squares of independent steps add up
	usd     float64
	first   int32 // place of the first step's option in its menu
}

// rest is the predicted quantile of the plan's time.
func (p *point) rest() float64 { return p.seconds + root(p.spread) }

// root and square keep the sign: a low quantile is below the mean.
func root(x float64) float64   { return math.Copysign(math.Sqrt(math.Abs(x)), x) }
func square(x float64) float64 { return float64(x * math.Abs(x)) }

// grain is the number of bits of a time by which fronts are thinned: within a time of one part in 512 and its double
// there is one point for each of 512 cells, the cheapest.
const grain = 52 - 9

// suffix returns the front of a step's points followed by a plan of the front behind it.
func suffix(step, behind []point) []point {
	if len(behind) == 0 {
		return undominated(slices.Clone(step))
	}
	low := step[0].seconds + behind[0].seconds
	high := step[len(step)-1].seconds + behind[len(behind)-1].seconds
	for _, p := range step {
		low, high = min(low, p.seconds+behind[0].seconds), max(high, p.seconds+behind[len(behind)-1].seconds)
	}
	from := math.Float64bits(low) >> grain
	cells := make([]point, math.Float64bits(high)>>grain-from+1)
	for i := range cells {
		cells[i].usd = math.Inf(1)
	}
	for _, a := range step {
		for _, b := range behind {
			t := a.seconds + b.seconds
			c := &cells[math.Float64bits(t)>>grain-from]
			if usd := a.usd + b.usd; usd < c.usd || usd == c.usd && t < c.seconds {
				*c = point{t, a.spread + b.spread, usd, a.first}
			}
		}
	}
	out := cells[:0]
	for _, p := range cells {
		if !math.IsInf(p.usd, 1) && (len(out) == 0 || p.usd < out[len(out)-1].usd) {
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}

// undominated sorts points by time and drops those that are no cheaper than a faster one.
func undominated(all []point) []point {
	slices.SortStableFunc(all, func(a, b point) int {
		return cmp.Or(cmp.Compare(a.seconds, b.seconds), cmp.Compare(a.usd, b.usd))
	})
	out := all[:0]
	for _, p := range all {
		if len(out) == 0 || p.usd < out[len(out)-1].usd {
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}

// reading is a front as it is read: by the predicted quantile of the time that is left.
type reading struct {
	rest  []float64 // ascending
	first []int32   // place of the step's option in its menu
}

// newReading sorts a front by the quantile that is predicted.
func newReading(front []point) reading {
	all := slices.Clone(front)
	for i := range all {
		all[i].seconds = all[i].rest()
	}
	all = undominated(all)
	r := reading{make([]float64, len(all)), make([]int32, len(all))}
	for i, p := range all {
		r.rest[i], r.first[i] = p.seconds, p.first
	}
	return r
}

// at returns the first step's option of the cheapest plan that takes at most so many seconds, -1 where there is none.
func (r *reading) at(left float64) int {
	lo, hi := 0, len(r.rest)
	for lo < hi {
		if mid := (lo + hi) / 2; r.rest[mid] <= left {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return -1
	}
	return int(r.first[lo-1])
}
