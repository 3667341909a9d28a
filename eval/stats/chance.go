package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// chance is a squared standard error put together from independent sources, with Satterthwaite's degrees of freedom.
type chance struct{ sum, weight float64 }

// add adds the mean of x as a source: s²/n with n − 1 degrees of freedom. One value alone adds nothing: its variance
// is unknown.
func (c *chance) add(x []float64) { c.addTrimmed(x, len(x)) }

// addTrimmed adds the mean of pseudo-values of a trimmed mean that keeps h of them: Tukey and McLaughlin's standard
// error and its h − 1 degrees of freedom.
func (c *chance) addTrimmed(x []float64, h int) {
	if len(x) < 2 || h < 2 {
		return
	}
	n, left := float64(len(x)), float64(h)
	v := variance(x) * (n - 1) / (n * n) * left / (left - 1)
	c.sum, c.weight = c.sum+v, c.weight+v*v/(left-1)
}

// known reports whether any variance was added.
func (c chance) known() bool { return c.weight > 0 }

func (c chance) freedom() float64 { return c.sum * c.sum / c.weight }

// reach is half the width of the Student's t interval with a probability of tail beyond each end.
func (c chance) reach(tail float64) float64 {
	if !c.known() {
		return 0
	}
	return distuv.StudentsT{Sigma: 1, Nu: c.freedom()}.Quantile(1-tail) * math.Sqrt(c.sum)
}

// p is the two-sided p of a true mean of 0 where the estimate is mean.
func (c chance) p(mean float64) float64 {
	switch {
	case mean == 0:
		return 1
	case !c.known():
		return 0
	}
	nu := c.freedom()
	return mathext.RegIncBeta(nu/2, 0.5, nu/(nu+mean*mean/c.sum))
}

// kept is how many of n values an IQM keeps.
func kept(n int) int { return n - 2*(n/4) }

// pseudo are the pseudo-values of the IQM: scores beyond the quartiles moved to them, over the share that is kept.
// The variance of their means is that of the IQM (Tukey and McLaughlin 1963).
func (s Scores) pseudo(sorted []float64) Scores {
	n := len(sorted)
	lo, hi := sorted[n/4], sorted[n-n/4-1]
	scale := float64(n) / float64(kept(n))
	out := make(Scores, len(s))
	for i, row := range s {
		out[i] = make([]float64, len(row))
		for j, x := range row {
			out[i][j] = min(max(x, lo), hi) * scale
		}
	}
	return out
}

// columns are the means over training seeds, by workload.
func (s Scores) columns() []float64 {
	out := make([]float64, len(s[0]))
	for j := range out {
		out[j] = s.column(j)
	}
	return out
}

// stretched is an interval of a bootstrap's shape and Student's width. Resamples of n values spread by √((n−1)/n) of
// what they should, and know nothing of how few there are; with a few training seeds no resample reaches as far as an
// interval must. So both ends of the bootstrap's interval are moved away from the point by the ratio of t's reach to
// that of a normal with the resamples' deviation, never towards it. sorted are the resamples.
func stretched(point float64, sorted []float64, c chance, tail float64) (low, high float64) {
	low, high = Quantile(sorted, tail), Quantile(sorted, 1-tail)
	if sd := math.Sqrt(variance(sorted)); sd > 0 && finite(sd) {
		by := max(1, c.reach(tail)/(sd*distuv.UnitNormal.Quantile(1-tail)))
		low, high = point-by*(point-low), point+by*(high-point)
	}
	return low, high
}

// expandedTail is the fraction of resamples of n values to cut beyond each end of a percentile interval so that it is
// as wide as Student's t would have it where the values are normal (Hesterberg 2015, "What teachers should know about
// the bootstrap").
func expandedTail(n int) float64 {
	if n < 2 {
		return tail
	}
	k := float64(n)
	return distuv.UnitNormal.CDF(-math.Sqrt(k/(k-1)) * distuv.StudentsT{Sigma: 1, Nu: k - 1}.Quantile(1-tail))
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// MeanInterval is the mean of independent values with Student's interval, NaN bounds where there are fewer than two
// values.
func MeanInterval(x []float64) Interval {
	var c chance
	c.add(x)
	return around(Mean(x), c, len(x))
}

// TrimmedInterval is the IQM of independent values with Tukey and McLaughlin's interval: without resamples, for the
// band of a learning curve over training seeds.
func TrimmedInterval(x []float64) Interval {
	point := IQM(x)
	var c chance
	if finite(point) {
		s := Scores{x}
		c.addTrimmed(s.pseudo(sortedOf(x))[0], kept(len(x)))
	}
	return around(point, c, len(x))
}

func around(point float64, c chance, n int) Interval {
	if n < 2 {
		return Interval{point, math.NaN(), math.NaN()}
	}
	r := c.reach(tail)
	return Interval{point, point - r, point + r}
}
