package stats

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// Level is the coverage that intervals aim at.
const Level = 0.95

// Scores are one policy's values: Scores[i][j] of training seed i under workload seed j. A heuristic has one row.
type Scores [][]float64

// Check reports scores that are empty, ragged or of another number of workloads than want.
func (s Scores) Check(want int) error {
	if len(s) == 0 {
		return fmt.Errorf("stats: no rows of scores")
	}
	for i, row := range s {
		if len(row) != want || want == 0 {
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

// Interval is an estimate and where it may lie.
type Interval struct{ Point, Low, High float64 }

// IQMInterval returns the IQM of all scores with a percentile interval over resamples of training seeds and workloads.
func IQMInterval(s Scores, resamples int, stream *rng.Stream) Interval {
	n := len(s[0])
	values := make([]float64, 0, len(s)*n)
	draws := make([]float64, resamples)
	cols := make([]int, n)
	for b := range draws {
		values = values[:0]
		for j := range cols {
			cols[j] = stream.IntN(n)
		}
		for range s {
			row := s[stream.IntN(len(s))]
			for _, j := range cols {
				values = append(values, row[j])
			}
		}
		slices.Sort(values)
		draws[b] = sortedIQM(values)
	}
	slices.Sort(draws)
	const tail = (1 - Level) / 2
	return Interval{IQM(s.Flat()), Quantile(draws, tail), Quantile(draws, 1-tail)}
}

// pairedDraws resamples the mean difference of a and b over shared workloads.
func pairedDraws(a, b Scores, resamples int, stream *rng.Stream) []float64 {
	n := len(a[0])
	diff := make([]float64, n)
	draws := make([]float64, resamples)
	for r := range draws {
		clear(diff)
		addRows(diff, a, 1, stream)
		addRows(diff, b, -1, stream)
		sum := 0.0
		for range n {
			sum += diff[stream.IntN(n)]
		}
		draws[r] = sum / float64(n)
	}
	slices.Sort(draws)
	return draws
}

// addRows adds the mean of resampled rows, times sign. One row is itself.
func addRows(diff []float64, s Scores, sign float64, stream *rng.Stream) {
	w := sign / float64(len(s))
	for range s {
		row := s[0]
		if len(s) > 1 {
			row = s[stream.IntN(len(s))]
		}
		for j, x := range row {
			diff[j] += w * x
		}
	}
}
