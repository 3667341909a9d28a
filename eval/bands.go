package eval

import (
	"cmp"
	"math"
	"path/filepath"
	"slices"
	"sort"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/stats"
)

// band is a group's curve: an average over its runs, and how far they spread.
type band struct {
	group          string
	runs           int
	x, mid, lo, hi []float64
}

// What a band shows beside the average of several runs.
const (
	// BandInterval is the 95 % interval of the average over training seeds, and their range where they are fewer than
	// stats.FewSeeds.
	BandInterval = "interval"
	// BandRange reaches from the lowest run to the highest.
	BandRange = "range"
	BandNone  = "none"
)

// Averages over runs.
const (
	AverageIQM  = "iqm"
	AverageMean = "mean"
)

// bandOptions say how curves are joined; zero is the IQM over steps, not smoothed.
type bandOptions struct {
	Average, Band string
	Smooth        float64
	Time          bool
	// Bounds are the bounds of the metric that is drawn: no interval leaves them.
	Bounds envs.Bounds
}

// bands joins curves by group. Where the runs of a group have no stretch in common, each is a band of its own.
func bands(curves []Curve, o bandOptions) []band {
	var groups []string
	for _, c := range curves {
		if !slices.Contains(groups, c.Group) {
			groups = append(groups, c.Group)
		}
	}
	var out []band
	for _, g := range groups {
		of := slices.DeleteFunc(slices.Clone(curves), func(c Curve) bool { return c.Group != g })
		if b := join(g, of, o); len(b.x) > 0 {
			out = append(out, b)
			continue
		}
		for _, c := range of {
			out = append(out, join(filepath.Base(filepath.Clean(c.Run)), []Curve{c}, o))
		}
	}
	return out
}

// bandPoints is the most points of which a band is made: more than a figure has pixels across would only slow it down.
const bandPoints = 500

// join averages curves at every place where one of them has a value and all of them have begun and not ended,
// linearly between their own values.
func join(group string, curves []Curve, o bandOptions) band {
	b := band{group: group, runs: len(curves)}
	lo, hi := math.Inf(-1), math.Inf(1)
	var grid []float64
	xs, ys := make([][]float64, len(curves)), make([][]float64, len(curves))
	for k, c := range curves {
		xs[k], ys[k] = c.points(o.Time)
		ys[k] = smoothed(ys[k], o.Smooth)
		if len(xs[k]) == 0 {
			return b
		}
		lo, hi = max(lo, xs[k][0]), min(hi, xs[k][len(xs[k])-1])
		grid = append(grid, xs[k]...)
	}
	slices.Sort(grid)
	grid = slices.DeleteFunc(slices.Compact(grid), func(x float64) bool { return x < lo || x > hi })
	v := make([]float64, len(curves))
	for i, x := range grid {
		if every := 1 + len(grid)/bandPoints; i%every != 0 && i != len(grid)-1 {
			continue
		}
		for k := range curves {
			v[k] = interpolate(xs[k], ys[k], x)
		}
		at := o.average(v)
		b.x, b.mid = append(b.x, x), append(b.mid, at.Point)
		b.lo, b.hi = append(b.lo, at.Low), append(b.hi, at.High)
	}
	return b
}

// average is that of the values of several runs at one place, with its band.
func (o bandOptions) average(v []float64) stats.Interval {
	var at stats.Interval
	if o.Average == AverageMean {
		at = stats.MeanInterval(v)
	} else {
		at = stats.TrimmedInterval(v)
	}
	at.Low, at.High = stats.Around(at.Point, at.Point-at.Low, o.Bounds)
	switch {
	case len(v) == 1 || o.Band == BandNone:
		at.Low, at.High = at.Point, at.Point
	case o.Band == BandRange || len(v) < stats.FewSeeds:
		at.Low, at.High = slices.Min(v), slices.Max(v)
	}
	return at
}

// points are a curve's values in ascending order of steps or seconds; values that are NaN are left out.
func (c Curve) points(time bool) (x, y []float64) {
	at := make([]float64, len(c.Steps))
	for i, s := range c.Steps {
		if at[i] = float64(s); time {
			at[i] = c.Seconds[i]
		}
	}
	order := make([]int, len(at))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(at[i], at[j]) })
	for _, i := range order {
		if !math.IsNaN(c.Values[i]) {
			x, y = append(x, at[i]), append(y, c.Values[i])
		}
	}
	return x, y
}

// smoothed is an exponential moving average that forgets its beginning as TensorBoard's does: the weight of a value
// falls by the factor for every later one, and the weights of those there are sum to 1. A factor of 0 leaves values
// as they are.
func smoothed(y []float64, factor float64) []float64 {
	if factor <= 0 {
		return y
	}
	out := make([]float64, len(y))
	sum, weight := 0.0, 0.0
	for i, v := range y {
		sum, weight = factor*sum+v, factor*weight+1
		out[i] = sum / weight
	}
	return out
}

// interpolate returns y at x, linearly between ascending xs and constant beyond their ends.
func interpolate(xs, ys []float64, x float64) float64 {
	i := sort.SearchFloat64s(xs, x)
	switch {
	case i == len(xs):
		return ys[i-1]
	case i == 0 || xs[i] == x:
		return ys[i]
	}
	f := (x - xs[i-1]) / (xs[i] - xs[i-1])
	return ys[i-1] + f*(ys[i]-ys[i-1])
}
