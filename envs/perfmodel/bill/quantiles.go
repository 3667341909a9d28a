package bill

import (
	"fmt"
	"math"
	"slices"
)

// Quantiles are times in seconds at ascending probabilities from 0 to 1: what is left of measurements of which only
// quantiles were published. Between two of them lies a share u of the way at Bend-th power, (u)^Bend: straight lines
// for Bend 1, also for 0.
type Quantiles struct {
	P, Seconds []float64
	Bend       float64
}

// Validate reports the first entry that is not ascending.
func (q Quantiles) Validate() error {
	n := len(q.P)
	if n < 2 || len(q.Seconds) != n || q.P[0] != 0 || q.P[n-1] != 1 {
		return fmt.Errorf("bill: %d probabilities and %d times, want as many of both, from probability 0 to 1", n,
			len(q.Seconds))
	}
	for i := 1; i < n; i++ {
		if !(q.P[i] > q.P[i-1]) || !(q.Seconds[i] >= q.Seconds[i-1]) {
			return fmt.Errorf("bill: quantile %d (probability %g: %g s) is not above the one before (%g: %g s)", i, q.P[i],
				q.Seconds[i], q.P[i-1], q.Seconds[i-1])
		}
	}
	if !(q.Bend >= 0) || math.IsInf(q.Bend, 0) {
		return fmt.Errorf("bill: bend is %g, want a number from 0", q.Bend)
	}
	return nil
}

// WithMean returns the quantiles with the Bend that makes the mean the given one, where that was published too: long
// tails lie far below the straight line from the last quantile but one to the greatest time. It fails where the
// quantiles exclude the mean.
func (q Quantiles) WithMean(mean float64) (Quantiles, error) {
	var low, width float64
	for i := 1; i < len(q.P); i++ {
		low += float64((q.P[i] - q.P[i-1]) * q.Seconds[i-1])
		width += float64((q.P[i] - q.P[i-1]) * (q.Seconds[i] - q.Seconds[i-1]))
	}
	if !(mean > low && mean < low+width) {
		return q, fmt.Errorf("bill: a mean of %g s does not agree with the quantiles, which allow %g to %g s", mean, low, low+width)
	}
	q.Bend = width/(mean-low) - 1
	return q, nil
}

func (q Quantiles) bend() float64 {
	if q.Bend == 0 {
		return 1
	}
	return q.Bend
}

// Mean implements [Distribution].
func (q Quantiles) Mean() float64 {
	var sum float64
	part := 1 / (q.bend() + 1)
	for i := 1; i < len(q.P); i++ {
		sum += float64((q.P[i] - q.P[i-1]) * (q.Seconds[i-1] + float64(part*(q.Seconds[i]-q.Seconds[i-1]))))
	}
	return sum
}

// Above implements [Distribution].
func (q Quantiles) Above(s float64) float64 {
	i, _ := slices.BinarySearch(q.Seconds, s)
	// The last of equal times.
	for i < len(q.Seconds) && q.Seconds[i] == s {
		i++
	}
	switch i {
	case 0:
		return 1
	case len(q.Seconds):
		return 0
	}
	a, b := q.Seconds[i-1], q.Seconds[i]
	part := (s - a) / (b - a)
	if k := q.bend(); k != 1 {
		part = math.Pow(part, 1/k)
	}
	return 1 - (q.P[i-1] + float64((q.P[i]-q.P[i-1])*part))
}

// Quantile implements [Invertible].
func (q Quantiles) Quantile(p float64) float64 {
	i, found := slices.BinarySearch(q.P, p)
	switch {
	case found:
		return q.Seconds[i]
	case i == 0:
		return q.Seconds[0]
	case i == len(q.P):
		return q.Seconds[i-1]
	}
	part := (p - q.P[i-1]) / (q.P[i] - q.P[i-1])
	if k := q.bend(); k != 1 {
		part = math.Pow(part, k)
	}
	return q.Seconds[i-1] + float64(part*(q.Seconds[i]-q.Seconds[i-1]))
}
