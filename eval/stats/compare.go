package stats

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// Comparison is a paired comparison of a with b.
type Comparison struct {
	// Difference is the mean of a − b over shared workloads, with an interval of Level coverage.
	Difference Interval
	// SimultaneousLow and SimultaneousHigh bound it for all comparisons of a family at once (Bonferroni).
	SimultaneousLow, SimultaneousHigh float64
	// P is two-sided: that so large a mean difference arises where signs are a coin's. PHolm is corrected for the family.
	P, PHolm float64
	// Improvement is the probability that a run of a exceeds a run of b under the same workload, ties counted half.
	Improvement float64
}

// Alpha is the level at which a comparison counts as decided.
const Alpha = 0.05

// Decided reports whether the difference is beyond chance: Holm's p under Alpha and a simultaneous interval without zero.
func (c *Comparison) Decided() bool {
	return c.PHolm < Alpha && (c.SimultaneousLow > 0 || c.SimultaneousHigh < 0)
}

// Compare compares a with each of rivals under the same workloads; the comparisons form one family. The scores must have passed
// Check with the same number of workloads.
func Compare(a Scores, rivals []Scores, resamples int, key rng.Key) []Comparison {
	out := make([]Comparison, len(rivals))
	p := make([]float64, len(rivals))
	const tail = (1 - Level) / 2
	for k, b := range rivals {
		n := len(a[0])
		diff := make([]float64, n)
		for j := range diff {
			diff[j] = a.column(j) - b.column(j)
		}
		draws := pairedDraws(a, b, resamples, key.With(uint64(k)).With(0).Stream())
		wide := tail / float64(len(rivals))
		out[k] = Comparison{
			Difference:      Interval{Mean(diff), Quantile(draws, tail), Quantile(draws, 1-tail)},
			SimultaneousLow: Quantile(draws, wide), SimultaneousHigh: Quantile(draws, 1-wide),
			P:           signFlip(diff, resamples, key.With(uint64(k)).With(1).Stream()),
			Improvement: pairedImprovement(a, b),
		}
		p[k] = out[k].P
	}
	for k, q := range Holm(p) {
		out[k].PHolm = q
	}
	return out
}

// signFlip is the two-sided sign-flip test of a zero mean: exact where 2ⁿ is at most resamples, else by random flips.
func signFlip(diff []float64, resamples int, stream *rng.Stream) float64 {
	n := len(diff)
	observed := math.Abs(Mean(diff)) * float64(n)
	// Sums of the same numbers in another order differ by rounding; a tie must count as one.
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

// pairedImprovement averages the probability of improvement over workloads.
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

// Holm returns p values corrected for their number by Holm's step-down method.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(p))
	worst := 0.0
	for rank, i := range order {
		worst = max(worst, min(1, p[i]*float64(len(p)-rank)))
		out[i] = worst
	}
	return out
}
