package stats

import (
	"math"
	"slices"
)

// IQM is the interquartile mean: a quarter of the values, rounded down, is cut from each end, and the rest is averaged.
// With fewer than four values it is the plain mean. It is NaN without values or if any value is NaN: sorted, a NaN
// would be cut first and stay unnoticed.
func IQM(x []float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	s := sortedOf(x)
	cut := len(s) / 4
	return Mean(s[cut : len(s)-cut])
}

func sortedOf(x []float64) []float64 { return slices.Sorted(slices.Values(x)) }

// Mean is the arithmetic mean, NaN without values.
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

// Quantile returns the q-quantile of sorted values, interpolated linearly (Hyndman and Fan's type 7).
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

// ProbabilityOfImprovement is P(X > Y) + ½P(X = Y) for independent draws of x and y: Mann and Whitney's U divided by
// its maximum. Where lower is better, swap the arguments.
func ProbabilityOfImprovement(x, y []float64) float64 {
	sum := 0.0
	for _, a := range x {
		for _, b := range y {
			sum += above(a, b)
		}
	}
	return sum / float64(len(x)*len(y))
}

// Profile is the performance profile at the thresholds tau: the fraction of values above each.
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
