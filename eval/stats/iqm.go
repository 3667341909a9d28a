package stats

import (
	"math"
	"slices"
)

// IQM is the interquartile mean: the mean of what is left when a quarter of the values, rounded down, is cut from
// each end. With fewer than four values it is the plain mean. NaN where there are none, or one of them is: sorted, it
// would be the first to be cut.
func IQM(x []float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	s := sortedOf(x)
	cut := len(s) / 4
	return Mean(s[cut : len(s)-cut])
}

func sortedOf(x []float64) []float64 { return slices.Sorted(slices.Values(x)) }

// Mean is the arithmetic mean, NaN where there are no values.
func Mean(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Quantile returns the q-quantile of sorted values, linear between them (Hyndman and Fan's type 7).
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := min(int(at), len(sorted)-1)
	if i == len(sorted)-1 {
		return sorted[i]
	}
	f := at - float64(i)
	if f == 0 { // 0 times infinity is not 0
		return sorted[i]
	}
	return sorted[i]*(1-f) + sorted[i+1]*f
}

// ProbabilityOfImprovement is P(X > Y) + ½P(X = Y) for independent draws of the two: Mann and Whitney's U over its
// maximum. Where lower is better, swap the arguments.
func ProbabilityOfImprovement(x, y []float64) float64 {
	sum := 0.0
	for _, a := range x {
		for _, b := range y {
			sum += above(a, b)
		}
	}
	return sum / float64(len(x)*len(y))
}

// Profile is the performance profile at the thresholds tau: the share of values above each.
func Profile(x, tau []float64) []float64 {
	out := make([]float64, len(tau))
	for i, t := range tau {
		for _, v := range x {
			if v > t {
				out[i]++
			}
		}
		out[i] /= float64(len(x))
	}
	return out
}
