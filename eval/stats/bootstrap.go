package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// Level is the nominal coverage of intervals.
const Level = 0.95

// Scores are one policy's values: Scores[i][j] of training seed i under workload seed j. A heuristic has one row.
type Scores [][]float64

// Check returns an error where scores are empty, or a row has another number of workloads than want.
func (s Scores) Check(want int) error {
	if len(s) == 0 || want == 0 {
		return fmt.Errorf("stats: %d rows of scores under %d workloads, want at least one of each", len(s), want)
	}
	for i, row := range s {
		if len(row) != want {
			return fmt.Errorf("stats: row %d has %d scores, want %d", i, len(row), want)
		}
	}
	return nil
}

// Flat returns all values, row by row.
func (s Scores) Flat() []float64 { return slices.Concat(s...) }

// column returns the mean over training seeds under workload j.
func (s Scores) column(j int) float64 {
	sum := 0.0
	for _, row := range s {
		sum += row[j]
	}
	return sum / float64(len(s))
}

// missing reports whether a score is NaN. Such scores cannot be ordered, so every statistic of them is NaN.
func (s Scores) missing() bool {
	return slices.ContainsFunc(s, func(row []float64) bool { return slices.ContainsFunc(row, math.IsNaN) })
}

// Interval is a point estimate and the bounds of its interval.
type Interval struct{ Point, Low, High float64 }

func unknown() Interval { return Interval{math.NaN(), math.NaN(), math.NaN()} }

// tail is the fraction of resamples beyond each end of an interval.
const tail = (1 - Level) / 2

// percentiles is the percentile interval of resampled values around point. It sorts them.
func percentiles(point float64, draws []float64) Interval {
	slices.Sort(draws)
	return Interval{point, Quantile(draws, tail), Quantile(draws, 1-tail)}
}

// draw fills count with how often each of its entries comes up in len(count) draws with replacement.
func draw(count []int, stream *rng.Stream) {
	if len(count) == 1 {
		count[0] = 1
		return
	}
	clear(count)
	for range count {
		count[stream.IntN(len(count))]++
	}
}

// IQMInterval returns the IQM of all scores with an interval over resamples of training seeds and workloads. With one
// training seed it is the expanded percentile interval, which stays within the scores; with several it is the bootstrap
// interval stretched to the width of Student's t within the metric's bounds. docs/statistics.md measures the coverage of
// both, and of the plain percentile interval. Everything is NaN where a score is NaN; the bounds are NaN where there is a
// single score.
func IQMInterval(s Scores, b envs.Bounds, resamples int, stream *rng.Stream) Interval {
	if s.missing() {
		return unknown()
	}
	if len(s)*len(s[0]) == 1 {
		return Interval{s[0][0], math.NaN(), math.NaN()}
	}
	return iqmInterval(s, b, iqmDraws(s, resamples, stream))
}

// iqmInterval is the interval from draws, the IQMs of resamples of s in ascending order.
func iqmInterval(s Scores, b envs.Bounds, draws []float64) Interval {
	point := IQM(s.Flat())
	if len(s) == 1 {
		a := expandedTail(len(s[0]))
		return Interval{point, Quantile(draws, a), Quantile(draws, 1-a)}
	}
	low, high := stretched(point, draws, s.iqmErrorVariance(), tail, b)
	return Interval{point, low, high}
}

// PercentileInterval is the plain percentile interval that rliable reports, over the same resamples, for comparison
// with published tables. It is too narrow where scores are few.
func PercentileInterval(s Scores, resamples int, stream *rng.Stream) Interval {
	if s.missing() {
		return unknown()
	}
	return percentiles(IQM(s.Flat()), iqmDraws(s, resamples, stream))
}

// iqmDraws are the IQMs of resamples in ascending order.
func iqmDraws(s Scores, resamples int, stream *rng.Stream) []float64 {
	b := newResampled(s)
	draws := make([]float64, resamples)
	for r := range draws {
		draw(b.rows, stream)
		draw(b.cols, stream)
		draws[r] = b.iqm()
	}
	slices.Sort(draws)
	return draws
}

// iqmErrorVariance is that of the IQM over training seeds and workloads. The interaction of the two is counted twice,
// which errs on the safe side.
func (s Scores) iqmErrorVariance() errorVariance {
	var c errorVariance
	sorted := sortedOf(s.Flat())
	if lo, hi := sorted[len(sorted)/4], sorted[len(sorted)-len(sorted)/4-1]; finite(lo) && finite(hi) {
		p := s.pseudo(sorted)
		c.addTrimmed(p.rowMeans(), kept(len(s)))
		c.addTrimmed(p.columns(), kept(len(s[0])))
	}
	return c
}

// resampled holds scores in ascending order. Each counts as often as its row was drawn times its column, so that a
// resample needs no sorting.
type resampled struct {
	sorted     []ranked
	rows, cols []int // how often each was drawn
}

type ranked struct {
	value    float64
	row, col int32
}

func newResampled(s Scores) *resampled {
	b := &resampled{rows: make([]int, len(s)), cols: make([]int, len(s[0]))}
	for i, row := range s {
		for j, x := range row {
			b.sorted = append(b.sorted, ranked{x, int32(i), int32(j)})
		}
	}
	slices.SortStableFunc(b.sorted, func(a, b ranked) int { return cmp.Compare(a.value, b.value) })
	return b
}

// iqm is the IQM of the current resample.
func (b *resampled) iqm() float64 {
	cut := len(b.sorted) / 4
	end := len(b.sorted) - cut
	sum, passed := 0.0, 0
	for _, x := range b.sorted {
		n := b.rows[x.row] * b.cols[x.col]
		if inside := min(passed+n, end) - max(passed, cut); inside > 0 {
			sum += float64(inside) * x.value
		}
		if passed += n; passed >= end {
			break
		}
	}
	return sum / float64(end-cut)
}

// ProfileInterval is the performance profile of s at the thresholds tau, the fraction of scores above each, with
// pointwise intervals over resamples of training seeds and workloads.
func ProfileInterval(s Scores, tau []float64, resamples int, stream *rng.Stream) []Interval {
	out := make([]Interval, len(tau))
	if s.missing() {
		for k := range out {
			out[k] = unknown()
		}
		return out
	}
	b := newResampled(s)
	draws := make([][]float64, len(tau))
	for k := range draws {
		draws[k] = make([]float64, resamples)
	}
	order := make([]int, len(tau))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(tau[i], tau[j]) })
	all := float64(len(b.sorted))
	for r := range resamples {
		draw(b.rows, stream)
		draw(b.cols, stream)
		at, passed := 0, 0
		for _, k := range order {
			for ; at < len(b.sorted) && b.sorted[at].value <= tau[k]; at++ {
				passed += b.rows[b.sorted[at].row] * b.cols[b.sorted[at].col]
			}
			draws[k][r] = 1 - float64(passed)/all
		}
	}
	for k, point := range Profile(s.Flat(), tau) {
		out[k] = percentiles(point, draws[k])
	}
	return out
}

// pairedDraws resamples the mean difference of a and b over shared workloads, and returns them in ascending order.
func pairedDraws(a, b Scores, resamples int, stream *rng.Stream) []float64 {
	n := len(a[0])
	diff, cols := make([]float64, n), make([]int, n)
	rowsA, rowsB := make([]int, len(a)), make([]int, len(b))
	draws := make([]float64, resamples)
	for r := range draws {
		clear(diff)
		draw(rowsA, stream)
		draw(rowsB, stream)
		addRows(diff, a, rowsA, 1)
		addRows(diff, b, rowsB, -1)
		draw(cols, stream)
		sum := 0.0
		for j, d := range diff {
			if cols[j] > 0 { // 0 times an infinite difference would be NaN
				sum += float64(cols[j]) * d
			}
		}
		draws[r] = sum / float64(n)
	}
	slices.Sort(draws)
	return draws
}

// addRows adds the mean of the drawn rows, times sign, to diff.
func addRows(diff []float64, s Scores, count []int, sign float64) {
	for i, row := range s {
		if count[i] == 0 {
			continue
		}
		w := sign * float64(count[i]) / float64(len(s))
		for j, x := range row {
			diff[j] += w * x
		}
	}
}

// improvementInterval is the probability that a exceeds b under one workload, ties counted half, with its interval:
// the percentile bootstrap's, and never narrower than Wilson's for as many workloads.
func improvementInterval(a, b Scores, resamples int, stream *rng.Stream) Interval {
	return widened(percentiles(pairedImprovement(a, b), improvementDraws(a, b, resamples, stream)), len(a[0]))
}

// widened extends iv to Wilson's interval of a proportion of n where that is wider.
func widened(iv Interval, n int) Interval {
	low, high := wilson(iv.Point, n)
	return Interval{iv.Point, min(iv.Low, low), max(iv.High, high)}
}

// improvementDraws resamples the probability of improvement.
func improvementDraws(a, b Scores, resamples int, stream *rng.Stream) []float64 {
	n := len(a[0])
	rowsA, rowsB, cols := make([]int, len(a)), make([]int, len(b)), make([]int, n)
	draws := make([]float64, resamples)
	for r := range draws {
		draw(rowsA, stream)
		draw(rowsB, stream)
		draw(cols, stream)
		sum := 0.0
		for i, x := range a {
			for k, y := range b {
				w := rowsA[i] * rowsB[k]
				if w == 0 {
					continue
				}
				for j, c := range cols {
					if c > 0 {
						sum += float64(w*c) * above(x[j], y[j])
					}
				}
			}
		}
		draws[r] = sum / float64(len(a)*len(b)*n)
	}
	return draws
}

// wilson is Wilson's score interval of a proportion p of n. Where all workloads agree, all resamples are equal and a
// bootstrap interval has width zero; Wilson's doesn't.
func wilson(p float64, n int) (low, high float64) {
	z := distuv.UnitNormal.Quantile(1 - tail)
	k := z * z / float64(n)
	mid, half := (p+k/2)/(1+k), z/(1+k)*math.Sqrt(p*(1-p)/float64(n)+k/(4*float64(n)))
	return max(0, mid-half), min(1, mid+half)
}

// above is 1 where x exceeds y, ½ where they are equal or tied.
func above(x, y float64) float64 {
	switch {
	case x == y || tied(x, y):
		return 0.5
	case x > y:
		return 1
	}
	return 0
}
