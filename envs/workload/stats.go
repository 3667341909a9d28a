package workload

import (
	"cmp"
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

// Stretch is a part of a trace with a calm, a swinging and a bursting third.
type Stretch struct {
	// From is its first minute, Minutes its length.
	From    int `json:"from"`
	Minutes int `json:"minutes"`
	// Ends are the minutes at which the calm and the swinging third end; the bursting one goes on to the end.
	Ends [2]int `json:"ends"`
	// Variation is the coefficient of variation of each third's counts, Peak its largest count over its median.
	Variation [3]float64 `json:"variation"`
	Peak      [3]float64 `json:"peak"`
	// Low, Middle and High are the minutes with the fewest, the median and the most invocations; of several the first.
	Low    int `json:"low"`
	Middle int `json:"middle"`
	High   int `json:"high"`
}

// burstPeak is the largest count over the median from which on a third has a burst.
const burstPeak = 2

// FindStretch finds the stretch of so many minutes whose thirds are most clearly calm, swinging and bursting, in this order,
// as in Fig. 7 of FaaSConf: the last third alone has a minute with at least twice its median, and the smaller of the two
// ratios of variation, swinging over calm and bursting over swinging, is the largest there is. It fails where no stretch is
// of the kind.
func FindStretch(counts []uint64, minutes int) (Stretch, error) {
	if minutes < 9 || minutes > len(counts) {
		return Stretch{}, fmt.Errorf("a stretch of %d minutes, want 9 to the %d there are", minutes, len(counts))
	}
	best, score := Stretch{}, 1.0
	for from := range len(counts) - minutes + 1 {
		s := describeStretch(counts, from, minutes)
		bursts := s.Peak[0] < burstPeak && s.Peak[1] < burstPeak && s.Peak[2] >= burstPeak
		if x := min(s.Variation[1]/s.Variation[0], s.Variation[2]/s.Variation[1]); bursts && x > score {
			best, score = s, x
		}
	}
	if best.Minutes == 0 {
		return best, fmt.Errorf("no %d of the %d minutes have a calm, a swinging and a bursting third", minutes, len(counts))
	}
	return best, nil
}

func describeStretch(counts []uint64, from, minutes int) Stretch {
	third := minutes / 3
	s := Stretch{From: from, Minutes: minutes, Ends: [2]int{from + third, from + 2*third}}
	bounds := [...]int{from, s.Ends[0], s.Ends[1], from + minutes}
	for i := range 3 {
		s.Variation[i], s.Peak[i] = variation(counts[bounds[i]:bounds[i+1]])
	}
	order := make([]int, minutes)
	for i := range order {
		order[i] = from + i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[a], counts[b]) })
	first := func(m int) int { return from + slices.Index(counts[from:from+minutes], counts[m]) }
	s.Low, s.Middle, s.High = first(order[0]), first(order[(minutes-1)/2]), first(order[minutes-1])
	return s
}

// variation is the standard deviation of counts over their mean, and the largest over the median; infinite where the
// median or the mean is 0.
func variation(counts []uint64) (cv, peak float64) {
	sorted := slices.Sorted(slices.Values(counts))
	var sum, square float64
	for _, c := range counts {
		sum += float64(c)
	}
	mean := sum / float64(len(counts))
	for _, c := range counts {
		d := float64(c) - mean
		square += float64(d * d)
	}
	return math.Sqrt(square/float64(len(counts))) / mean, float64(sorted[len(sorted)-1]) / float64(sorted[(len(sorted)-1)/2])
}
