package workload

import (
	"fmt"
	"math"
	"slices"
)

// Stats describes a series of counts per minute.
type Stats struct {
	Minutes int     `json:"minutes"`
	Total   uint64  `json:"total"`
	Mean    float64 `json:"mean"`
	Peak    uint64  `json:"peak"`
	// Idle is the share of minutes without invocations.
	Idle float64 `json:"idle"`
	// CV is the coefficient of variation: standard deviation divided by mean.
	CV float64 `json:"cv"`
	// Dispersion is the index of dispersion of counts, variance divided by mean, in windows of 1, 10 and 60 minutes. It is
	// 1 for a Poisson process at every width; if bursts last for several minutes it grows with the width.
	Dispersion   float64 `json:"dispersion"`
	Dispersion10 float64 `json:"dispersion_10"`
	Dispersion60 float64 `json:"dispersion_60"`
	// Lag1 is the correlation of each minute with the next one.
	Lag1 float64 `json:"lag1"`
}

// Stats describes the function's invocations.
func (f *Function) Stats() Stats {
	counts := make([]uint64, len(f.Counts))
	for m, c := range f.Counts {
		counts[m] = uint64(c)
	}
	return Describe(counts)
}

// Stats describes the invocations of all functions together.
func (t *Trace) Stats() Stats { return Describe(t.PerMinute(nil)) }

// Describe returns the statistics of counts per minute. A statistic is 0 if the series is too short or has too few
// invocations for it.
func Describe(counts []uint64) Stats {
	s := Stats{Minutes: len(counts)}
	if s.Minutes == 0 {
		return s
	}
	idle := 0
	for _, c := range counts {
		s.Total += c
		s.Peak = max(s.Peak, c)
		if c == 0 {
			idle++
		}
	}
	n := float64(s.Minutes)
	s.Mean, s.Idle = float64(s.Total)/n, float64(idle)/n
	variance, next := 0.0, 0.0
	for m, c := range counts {
		d := float64(c) - s.Mean
		variance += float64(d * d)
		if m > 0 {
			next += float64(d * (float64(counts[m-1]) - s.Mean))
		}
	}
	if variance > 0 {
		s.Lag1 = next / variance
		s.CV = math.Sqrt(variance/n) / s.Mean
	}
	s.Dispersion = Dispersion(counts, 1)
	s.Dispersion10 = Dispersion(counts, 10)
	s.Dispersion60 = Dispersion(counts, 60)
	return s
}

// Dispersion returns the variance of the counts in whole windows of some minutes, divided by their mean.
func Dispersion(counts []uint64, width int) float64 {
	n := len(counts) / width
	var mean, m2 float64 // Welford's recurrence
	for i := range n {
		var x float64
		for _, c := range counts[i*width:][:width] {
			x += float64(c)
		}
		d := x - mean
		mean += d / float64(i+1)
		m2 += float64(d * (x - mean))
	}
	if mean == 0 {
		return 0
	}
	return m2 / float64(n) / mean
}

// String returns the statistics in one line.
func (s Stats) String() string {
	return fmt.Sprintf("%d in %d minutes: mean %.2f, peak %d, idle %.0f %%, CV %.2f, dispersion %.1f (1 min) "+
		"%.1f (10) %.1f (60), lag-1 %.2f",
		s.Total, s.Minutes, s.Mean, s.Peak, 100*s.Idle, s.CV, s.Dispersion, s.Dispersion10, s.Dispersion60, s.Lag1)
}

// KS returns the two-sample Kolmogorov-Smirnov distance: the largest difference between the two empirical distribution
// functions. It sorts both samples. If one sample is empty it is 1, if both are it is 0.
func KS(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		if len(a) == len(b) {
			return 0
		}
		return 1
	}
	slices.Sort(a)
	slices.Sort(b)
	var i, j int
	var d float64
	for i < len(a) && j < len(b) {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return d
}
