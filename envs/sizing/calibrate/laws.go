package calibrate

import (
	"errors"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng"
)

// Split divides rows into those that laws are fitted to and those held out, by turns in blocks of 40: neighbours in the
// published file are steps of one search and resemble each other, so that single rows by turns would hold out little.
func Split(rows []perfmodel.Measured) (fitted, held []perfmodel.Measured) {
	const block = 40
	for i, r := range rows {
		if i/block%2 == 0 {
			fitted = append(fitted, r)
		} else {
			held = append(held, r)
		}
	}
	return fitted, held
}

// knob is a number of a law that FitLaws turns, within bounds.
type knob struct {
	of        func(*perfmodel.Law) *float64
	low, high float64
}

var knobs = []knob{
	{func(l *perfmodel.Law) *float64 { return &l.Work }, 0.05, 20},
	{func(l *perfmodel.Law) *float64 { return &l.Overhead }, 0.01, 1},
	{func(l *perfmodel.Law) *float64 { return &l.Parallel }, 0.5, 4},
	{func(l *perfmodel.Law) *float64 { return &l.Crowding }, 0.005, 1},
	{func(l *perfmodel.Law) *float64 { return &l.CV }, 0.02, 0.5},
}

// repeats is how many times FitLaws measures each row in the simulation.
const repeats = 3

// losses returns, for each function, how far the simulation is from the rows: the mean over rows of the product of two
// differences ln(simulated/measured), of p75 and again of p95, over all pairs of different repetitions of the row in
// the simulation.
//
// The square of one difference would not do. It has the variance of the simulation in it, which is as large as the
// error sought, and a search that lowers it finds laws whose latencies scatter little: such as feel little of how many
// requests share an instance, hence little of replicas. Two repetitions have independent noise, so that the expectation
// of their product has the simulation's error squared and the variance of the measurement, which no law changes.
func losses(c sizing.Config, rows []perfmodel.Measured) ([]float64, error) {
	b, err := NewBench(c, rows[0].Users)
	if err != nil {
		return nil, err
	}
	n := len(rows[0].Functions)
	loss := make([]float64, n)
	sums := make([][2][2]float64, n) // per function and percentile: sum and sum of squares over the repetitions
	for k, row := range rows {
		clear(sums)
		for i := range repeats {
			b.Configure(row)
			if err := b.Measure(seed(k, i)); err != nil {
				return nil, err
			}
			for f, m := range row.Functions {
				for j, ratio := range [2]float64{b.function(f, p75) / m.P75, b.function(f, p95) / m.P95} {
					d := min(max(math.Log(ratio), -1.5), 1.5) // no single window decides
					sums[f][j][0] += d
					sums[f][j][1] += d * d
				}
			}
		}
		for f := range n {
			for _, s := range sums[f] {
				loss[f] += (s[0]*s[0] - s[1]) / (repeats * (repeats - 1) * float64(len(rows)))
			}
		}
	}
	return loss, nil
}

// FitLaws searches the laws under which the simulation is nearest to the rows ([losses]), from those that there are:
// for each function the work, overhead, parallelism, crowding and variation of its requests. It is a (1+1) evolution
// strategy: every trial multiplies some of them by lognormal factors, by larger ones after a success and smaller ones
// after a failure. A function's latency hardly depends on the others' laws, so all functions make their trials in the
// same run, and each keeps what lowers its own loss. Progress is told every 50 trials, of losses measured afresh.
func FitLaws(c sizing.Config, rows []perfmodel.Measured, trials int,
	tell func(trial int, loss []float64)) ([]sizing.FunctionLaw, error) {
	if len(rows) == 0 {
		return nil, errors.New("calibrate: there are no rows to fit to")
	}
	var laws []sizing.FunctionLaw
	for _, m := range rows[0].Functions {
		l, err := perfmodel.FaaSConf(m.Name)
		if err != nil {
			return nil, err
		}
		laws = append(laws, sizing.FunctionLaw{Function: m.Name, Law: l})
	}
	c.Laws = laws
	best, err := losses(c, rows)
	if err != nil {
		return nil, err
	}
	step := slices.Repeat([]float64{0.25}, len(laws))
	s := rng.NewStream(1, "calibrate/laws")
	for trial := range trials {
		next := slices.Clone(laws)
		for f := range next {
			for _, k := range knobs {
				turn, by := s.Float64() < 0.6, s.Norm()
				if x := k.of(&next[f].Law); turn {
					*x = min(max(*x*math.Exp(step[f]*by), k.low), k.high)
				}
			}
		}
		c.Laws = next
		got, err := losses(c, rows)
		if err != nil {
			return nil, err
		}
		for f := range next {
			if got[f] < best[f] {
				best[f], laws[f] = got[f], next[f]
				step[f] = min(step[f]*1.5, 0.5)
			} else {
				step[f] = max(step[f]*0.9, 0.02)
			}
		}
		if trial%50 == 49 {
			// With the others' present laws: a trial's were with the others' trials.
			c.Laws = laws
			if best, err = losses(c, rows); err != nil {
				return nil, err
			}
			tell(trial+1, best)
		}
	}
	return laws, nil
}
