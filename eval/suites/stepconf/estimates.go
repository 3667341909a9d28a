package stepconf

import (
	"slices"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/suite"
	"github.com/stoker-rl/stoker/eval/table"
)

// estimate is the interquartile mean of one value for each seed, with its interval: the value itself where all are equal.
func estimate(r *suite.Report, bySeed []float64) table.Estimate {
	if x := bySeed[0]; slices.Min(bySeed) == slices.Max(bySeed) {
		return table.Estimate{At: x, Low: x, High: x}
	}
	return r.Estimate([][]float64{bySeed})
}

// measured adds a row with the estimate of one value for each seed.
func measured(r *suite.Report, row suite.Row, bySeed []float64) {
	e := estimate(r, bySeed)
	row.Ours, row.Lo, row.Hi = eval.Number(e.At), eval.Number(e.Low), eval.Number(e.High)
	r.Row(row)
}
