package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// errorVariance is a squared standard error summed over independent sources, with Satterthwaite's degrees of freedom:
// sum is Σ v and weight is Σ v²/(degrees of freedom of v), over the sources' variances v.
type errorVariance struct{ sum, weight float64 }

// add adds the mean of x as a source: s²/n with n − 1 degrees of freedom. A single value adds nothing: its variance is
// unknown.
func (c *errorVariance) add(x []float64) { c.addTrimmed(x, len(x)) }

// addTrimmed adds the mean of the pseudo-values x of a trimmed mean that keeps h values: Tukey and McLaughlin's
// standard error with h − 1 degrees of freedom.
func (c *errorVariance) addTrimmed(x []float64, h int) {
	if len(x) < 2 || h < 2 {
		return
	}
	n, left := float64(len(x)), float64(h)
	v := variance(x) * (n - 1) / (n * n) * left / (left - 1)
	c.sum, c.weight = c.sum+v, c.weight+v*v/(left-1)
}

// known reports whether any variance was added.
func (c errorVariance) known() bool { return c.weight > 0 }

func (c errorVariance) degrees() float64 { return c.sum * c.sum / c.weight }

// halfWidth is half the width of Student's t interval with probability tail beyond each end.
func (c errorVariance) halfWidth(tail float64) float64 {
	if !c.known() {
		return 0
	}
	return distuv.StudentsT{Sigma: 1, Nu: c.degrees()}.Quantile(1-tail) * math.Sqrt(c.sum)
}

// p is the two-sided p value of the hypothesis that the true mean is 0, given the estimate mean.
func (c errorVariance) p(mean float64) float64 {
	switch {
	case mean == 0:
		return 1
	case !c.known():
		return 0
	}
	nu := c.degrees()
	return mathext.RegIncBeta(nu/2, 0.5, nu/(nu+mean*mean/c.sum))
}

// kept is how many of n values an IQM keeps.
func kept(n int) int { return n - 2*(n/4) }

// pseudo are the pseudo-values of the IQM: scores clipped to the quartiles, divided by the fraction of values that the
// IQM keeps. The variance of their mean is that of the IQM (Tukey and McLaughlin 1963).
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

// columns are the means over training seeds, one per workload.
func (s Scores) columns() []float64 {
	out := make([]float64, len(s[0]))
	for j := range out {
		out[j] = s.column(j)
	}
	return out
}

// expandedTail is the fraction of resamples of n values to cut at each end of a percentile interval, so that for normal
// values it is as wide as Student's t interval (Hesterberg 2015, "What teachers should know about the bootstrap").
func expandedTail(n int) float64 {
	if n < 2 {
		return tail
	}
	k := float64(n)
	return distuv.UnitNormal.CDF(-math.Sqrt(k/(k-1)) * distuv.StudentsT{Sigma: 1, Nu: k - 1}.Quantile(1-tail))
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// MeanInterval is the mean of independent values with Student's t interval. Its bounds are NaN with fewer than two
// values.
func MeanInterval(x []float64) Interval {
	var c errorVariance
	c.add(x)
	return around(Mean(x), c, len(x))
}

// TrimmedInterval is the IQM of independent values with Tukey and McLaughlin's interval. It needs no resamples:
// learning curves use it for their band over training seeds.
func TrimmedInterval(x []float64) Interval {
	point := IQM(x)
	var c errorVariance
	if finite(point) {
		s := Scores{x}
		c.addTrimmed(s.pseudo(sortedOf(x))[0], kept(len(x)))
	}
	return around(point, c, len(x))
}

func around(point float64, c errorVariance, n int) Interval {
	if n < 2 {
		return Interval{point, math.NaN(), math.NaN()}
	}
	r := c.halfWidth(tail)
	return Interval{point, point - r, point + r}
}
