package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// FewSeeds is the number of training seeds from which an estimate over them has an interval. Fewer have points and a
// range: two or three values say too little of how much training seeds differ.
const FewSeeds = 4

// scale maps the values between bounds to the whole line and back: the log-odds of a share, the logarithm of what is
// never negative, and the value itself where there are no bounds. An interval that is made on the line ends within the
// bounds.
type scale struct{ low, high float64 }

// scaleOf is the scale of an estimate. One that lies outside the bounds shows that they do not hold: it has none.
func scaleOf(b envs.Bounds, point float64) scale {
	if !b.Contain(point) {
		b = envs.Bounds{}
	}
	low, high := b.Limits()
	return scale{low, high}
}

func (s scale) line(x float64) float64 {
	x = min(max(x, s.low), s.high) // a mean of equal numbers may be rounded beyond them
	switch below, above := !math.IsInf(s.low, 0), !math.IsInf(s.high, 0); {
	case below && above:
		return math.Log(x-s.low) - math.Log(s.high-x)
	case below:
		return math.Log(x - s.low)
	case above:
		return -math.Log(s.high - x)
	}
	return x
}

func (s scale) back(y float64) float64 {
	switch below, above := !math.IsInf(s.low, 0), !math.IsInf(s.high, 0); {
	case below && above:
		return s.low + (s.high-s.low)/(1+math.Exp(-y))
	case below:
		return s.low + math.Exp(y)
	case above:
		return s.high - math.Exp(-y)
	}
	return y
}

// slope is the derivative of line.
func (s scale) slope(x float64) float64 {
	switch below, above := !math.IsInf(s.low, 0), !math.IsInf(s.high, 0); {
	case below && above:
		return (s.high - s.low) / ((x - s.low) * (s.high - x))
	case below:
		return 1 / (x - s.low)
	case above:
		return 1 / (s.high - x)
	}
	return 1
}

// Around is the interval of an estimate within bounds, where half is half the width of the interval without them: both
// ends are as far away on the line to which the bounds are mapped, by the delta method.
func Around(point, half float64, b envs.Bounds) (low, high float64) {
	on := scaleOf(b, point)
	at := on.line(point)
	if !finite(at) || half == 0 { // the point is a bound
		return point, point
	}
	half *= on.slope(point)
	return on.back(at - half), on.back(at + half)
}

// moved moves the bounds of an interval away from point by a factor, on the line. Where the point itself is one of the
// bounds, the line has no place for it: the far end is moved as the value is, up to the other bound.
func (s scale) moved(point, low, high, by float64) (newLow, newHigh float64) {
	at := s.line(point)
	if !finite(at) {
		return max(s.low, point-by*(point-low)), min(s.high, point+by*(high-point))
	}
	return s.back(at - by*(at-s.line(low))), s.back(at + by*(s.line(high)-at))
}

// stretched is an interval with the bootstrap's shape and the width of Student's t. Resamples of n values are too
// narrow by the factor √((n−1)/n) and ignore how small n is; with a few training seeds no resample is as far out as the
// interval's end must be. So both ends of the bootstrap interval are moved away from the point by the ratio of t's half
// width to that of a normal with the resamples' deviation, on the line to which the bounds are mapped. They are never
// moved towards it. sorted are the resamples.
func stretched(point float64, sorted []float64, c errorVariance, tail float64, b envs.Bounds) (low, high float64) {
	low, high = Quantile(sorted, tail), Quantile(sorted, 1-tail)
	if sd := math.Sqrt(variance(sorted)); sd > 0 && finite(sd) && finite(point) {
		by := max(1, c.halfWidth(tail)/(sd*distuv.UnitNormal.Quantile(1-tail)))
		low, high = scaleOf(b, point).moved(point, low, high, by)
	}
	return low, high
}

// MeanOf is the mean of all scores with an interval within the metric's bounds: the percentiles of resamples of training
// seeds and workloads, neither end nearer than that of Student's t on the line to which the bounds are mapped, by the
// delta method. Everything is NaN where a score is NaN; the interval's bounds are NaN where there is a single score.
func MeanOf(s Scores, b envs.Bounds, resamples int, stream *rng.Stream) Interval {
	if s.missing() {
		return unknown()
	}
	iv := Interval{Mean(s.Flat()), math.NaN(), math.NaN()}
	if len(s)*len(s[0]) == 1 {
		return iv
	}
	return meanInterval(s, b, meanDraws(s, resamples, stream))
}

// meanInterval is the interval from draws, the means of resamples of s in ascending order.
func meanInterval(s Scores, b envs.Bounds, draws []float64) Interval {
	none := Scores{make([]float64, len(s[0]))}
	iv := Interval{Mean(s.Flat()), Quantile(draws, tail), Quantile(draws, 1-tail)}
	low, high := Around(iv.Point, errorVarianceOf(s, none, s.columns()).halfWidth(tail), b)
	iv.Low, iv.High = min(iv.Low, low), max(iv.High, high)
	return iv
}

// meanDraws are the means of resamples in ascending order: differences from a policy whose scores are 0.
func meanDraws(s Scores, resamples int, stream *rng.Stream) []float64 {
	return pairedDraws(s, Scores{make([]float64, len(s[0]))}, resamples, stream)
}

// SeedRange is the lowest and the highest mean of a training seed, which is shown in place of an interval where there
// are fewer than FewSeeds.
func SeedRange(s Scores) (low, high float64) {
	means := s.rowMeans()
	return slices.Min(means), slices.Max(means)
}

// DifferenceRange is the lowest and the highest mean difference of a training seed of a from one of b.
func DifferenceRange(a, b Scores) (low, high float64) {
	lowA, highA := SeedRange(a)
	lowB, highB := SeedRange(b)
	return lowA - highB, highA - lowB
}

// ImprovementRange is the lowest and the highest probability that a training seed of a exceeds one of b.
func ImprovementRange(a, b Scores) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, x := range a {
		for _, y := range b {
			p := pairedImprovement(Scores{x}, Scores{y})
			low, high = min(low, p), max(high, p)
		}
	}
	return low, high
}

// OverSeeds puts the range of the training seeds' performance profiles in place of a profile's intervals.
func OverSeeds(s Scores, tau []float64, profile []Interval) {
	for i, row := range s {
		for k, x := range Profile(row, tau) {
			if i == 0 {
				profile[k].Low, profile[k].High = x, x
			}
			profile[k].Low, profile[k].High = min(profile[k].Low, x), max(profile[k].High, x)
		}
	}
}

// ofDifferences are the bounds of a difference of two values within bounds: none unless both are there.
func ofDifferences(b envs.Bounds) envs.Bounds {
	low, high := b.Limits()
	if width := high - low; finite(width) {
		return envs.Bounds{Low: -width, High: width}
	}
	return envs.Bounds{}
}
