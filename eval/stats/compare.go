package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// Comparison is a paired comparison of a with b.
type Comparison struct {
	// Difference is the mean of a − b over shared workloads, the difference of the means, with an interval of Level
	// coverage: the hierarchical bootstrap's, stretched to the width of Student's t over training seeds and workloads.
	// Its bounds are NaN where there is a single pair of scores.
	Difference Interval
	// SimultaneousLow and SimultaneousHigh bound the difference for all comparisons of a family at once (Bonferroni).
	SimultaneousLow, SimultaneousHigh float64
	// P is the two-sided p value of no difference. PHolm is corrected for the family.
	P, PHolm float64
	// Improvement is the probability that a run of a exceeds a run of b under the same workload, ties counted half.
	Improvement Interval
}

// Alpha is the level at which a comparison counts as decided.
const Alpha = 0.05

// Decided reports whether the difference is significant: Holm's p is below Alpha and the simultaneous interval excludes
// zero.
func (c *Comparison) Decided() bool {
	return c.PHolm < Alpha && (c.SimultaneousLow > 0 || c.SimultaneousHigh < 0)
}

// Workloads is the least number of workload seeds with which one comparison in a family of baselines can be decided. With
// fewer, Holm's p is not below Alpha even if all differences have the same sign.
func Workloads(baselines int) int {
	n := 1
	for 2*float64(max(1, baselines)) >= Alpha*float64(uint64(1)<<n) {
		n++
	}
	return n
}

// NotWorse reports whether a is shown to be worse than b by no more than margin: the simultaneous interval of the
// difference ends there. Worse is higher where lower is better.
func (c *Comparison) NotWorse(margin float64, lowerIsBetter bool) bool {
	if lowerIsBetter {
		return c.SimultaneousHigh <= margin
	}
	return c.SimultaneousLow >= -margin
}

// NotBetter reports whether a is shown to be better than b by no more than margin: b, seen from its side, is not worse.
func (c *Comparison) NotBetter(margin float64, lowerIsBetter bool) bool {
	return c.NotWorse(margin, !lowerIsBetter)
}

// Compare compares a with each of baselines under the same workloads by a metric with bounds; the comparisons form one
// family. The scores must have passed Check with the same number of workloads. Where a score is NaN or a mean difference is infinite,
// nothing is decided: P is 1, and what cannot be computed is NaN.
//
// P comes from a sign-flip test over workloads. That test ignores the variance between training seeds: where there are
// several, P is the larger of its p and that of Welch's t test over seeds and workloads.
func Compare(a Scores, baselines []Scores, in envs.Bounds, resamples int, key rng.Key) []Comparison {
	out := make([]Comparison, len(baselines))
	p := make([]float64, len(baselines))
	for k, b := range baselines {
		out[k] = compare(a, b, in, len(baselines), resamples, key.With(uint64(k)))
		p[k] = out[k].P
	}
	for k, q := range Holm(p) {
		out[k].PHolm = q
	}
	return out
}

func compare(a, b Scores, in envs.Bounds, family, resamples int, key rng.Key) Comparison {
	none := Comparison{Difference: unknown(), SimultaneousLow: math.NaN(), SimultaneousHigh: math.NaN(), P: 1,
		Improvement: unknown()}
	if a.missing() || b.missing() {
		return none
	}
	none.Improvement = improvementInterval(a, b, resamples, key.With(2).Stream())
	diff := differences(a, b)
	mean := Mean(diff)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return none
	}
	c := Comparison{P: pValue(a, b, diff, resamples, key), Improvement: none.Improvement}
	c.Difference, c.SimultaneousLow, c.SimultaneousHigh = pairedInterval(a, b, diff, ofDifferences(in), family,
		resamples, key.With(0).Stream())
	return c
}

// differences are a − b, one per workload, of means over training seeds; 0 where these are tied.
func differences(a, b Scores) []float64 {
	diff := make([]float64, len(a[0]))
	for j := range diff {
		if x, y := a.column(j), b.column(j); !tied(x, y) {
			diff[j] = x - y
		}
	}
	return diff
}

// tied reports whether scores differ by no more than rounding: a policy's copy in another form, such as ONNX, acts alike but for
// the last bits of float32, and is neither better nor worse.
func tied(x, y float64) bool {
	d := math.Abs(x - y)
	return d <= 1e-6*max(math.Abs(x), math.Abs(y)) && !math.IsInf(d, 0)
}

func pValue(a, b Scores, diff []float64, resamples int, key rng.Key) float64 {
	return max(signFlip(diff, resamples, key.With(1).Stream()), welch(a, b, diff))
}

// pairedInterval is the mean difference with its interval, and with simultaneous bounds for a family of comparisons; in
// are the bounds of differences.
func pairedInterval(
	a, b Scores, diff []float64, in envs.Bounds, family, resamples int, stream *rng.Stream,
) (iv Interval, low, high float64) {
	iv = Interval{Mean(diff), math.NaN(), math.NaN()}
	if len(diff) == 1 && len(a) == 1 && len(b) == 1 {
		return iv, iv.Low, iv.High
	}
	draws, by := pairedDraws(a, b, resamples, stream), errorVarianceOf(a, b, diff)
	iv.Low, iv.High = stretched(iv.Point, draws, by, tail, in)
	low, high = stretched(iv.Point, draws, by, tail/float64(family), in)
	return iv, low, high
}

// errorVarianceOf is that of the mean difference of a and b: s_a²/n_a + s_b²/n_b + s_d²/n, where s_a² and s_b² are the
// variances of the training seeds' means and s_d² is that of the differences over workloads.
func errorVarianceOf(a, b Scores, diff []float64) errorVariance {
	var c errorVariance
	c.add(a.rowMeans())
	c.add(b.rowMeans())
	c.add(diff)
	return c
}

// signFlip is the two-sided sign-flip test of a zero mean: exact where 2ⁿ is at most resamples, else by random flips.
func signFlip(diff []float64, resamples int, stream *rng.Stream) float64 {
	n := len(diff)
	observed := math.Abs(Mean(diff)) * float64(n)
	// Sums of the same numbers in another order differ by rounding: the margin makes ties count as ties.
	scale := 0.0
	for _, d := range diff {
		scale += math.Abs(d)
	}
	observed -= 1e-12 * scale
	exact := n < 31 && 1<<n <= resamples
	total := resamples
	if exact {
		total = 1 << n
	}
	hits := 0
	for r := range total {
		sum, bits := 0.0, uint64(r)
		for j, d := range diff {
			if !exact && j%64 == 0 {
				bits = stream.Uint64()
			}
			if bits>>(j%64)&1 == 1 {
				d = -d
			}
			sum += d
		}
		if math.Abs(sum) >= observed {
			hits++
		}
	}
	if exact {
		return float64(hits) / float64(total)
	}
	return float64(hits+1) / float64(total+1)
}

// welch is the two-sided p of a zero mean difference where training seeds and workloads are both drawn at random: t is
// the mean of diff divided by the root of errorVarianceOf; degrees of freedom are Welch's and Satterthwaite's. The
// interaction of seeds and workloads is counted twice, which errs on the safe side. It is 0 where both have a single
// training seed.
func welch(a, b Scores, diff []float64) float64 {
	if len(a) == 1 && len(b) == 1 {
		return 0
	}
	return errorVarianceOf(a, b, diff).p(Mean(diff))
}

func (s Scores) rowMeans() []float64 {
	out := make([]float64, len(s))
	for i, row := range s {
		out[i] = Mean(row)
	}
	return out
}

// variance is the unbiased sample variance.
func variance(x []float64) float64 {
	m, sum := Mean(x), 0.0
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return sum / float64(len(x)-1)
}

// pairedImprovement is the probability of improvement, averaged over workloads.
func pairedImprovement(a, b Scores) float64 {
	sum, n := 0.0, len(a[0])
	x, y := make([]float64, len(a)), make([]float64, len(b))
	for j := range n {
		for i := range a {
			x[i] = a[i][j]
		}
		for i := range b {
			y[i] = b[i][j]
		}
		sum += ProbabilityOfImprovement(x, y)
	}
	return sum / float64(n)
}

// Holm returns the p values corrected for multiple comparisons by Holm's step-down method.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	out := make([]float64, len(p))
	worst := 0.0
	for rank, i := range order {
		worst = max(worst, min(1, p[i]*float64(len(p)-rank)))
		out[i] = worst
	}
	return out
}
