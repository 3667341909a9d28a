package calibrate

import (
	"errors"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng"
)

// Split divides rows into those for the fit and those held out, in alternating blocks of 40. Neighbouring rows of the
// published file are steps of one search and similar: alternating single rows would not be independent.
func Split(rows []Measured) (fitted, held []Measured) {
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

// parameter is a number of a law that FitLaws fits, with its bounds.
type parameter struct {
	of        func(*perfmodel.Law) *float64
	low, high float64
}

var parameters = []parameter{
	{func(l *perfmodel.Law) *float64 { return &l.Work }, 0.05, 20},
	{func(l *perfmodel.Law) *float64 { return &l.Overhead }, 0.01, 1},
	{func(l *perfmodel.Law) *float64 { return &l.Parallel }, 0.5, 4},
	{func(l *perfmodel.Law) *float64 { return &l.Crowding }, 0.005, 1},
	{func(l *perfmodel.Law) *float64 { return &l.CV }, 0.02, 0.5},
}

// repeats is the number of times that FitLaws simulates each row.
const repeats = 3

// losses returns the loss of each function: the mean over rows, and over all pairs of different repetitions of a row,
// of the product of their two differences ln(simulated/measured), for p75 plus the same for p95.
//
// The square of one difference would be biased: its expectation contains the variance of the simulation, which is as
// large as the error to be minimised. The search would then prefer laws whose latencies vary little, which depend too
// little on how many requests share an instance, and so on the replicas. Two repetitions have independent noise. Hence
// the expectation of their product is the squared error of the simulation plus the variance of the measurement, which
// does not depend on the law.
func losses(c sizing.Config, rows []Measured) ([]float64, error) {
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
					d := min(max(math.Log(ratio), -1.5), 1.5) // limits the influence of a single window
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

// FitLaws searches for the laws that minimise [losses] on the rows. For each function it fits Work, Overhead, Parallel,
// Crowding and CV, starting from the present laws. It is a (1+1) evolution strategy: every trial multiplies some of the
// parameters by lognormal factors, which grow after a success and shrink after a failure. A function's latency hardly
// depends on the laws of the others, so all functions share the simulations of a trial, and each keeps its new
// parameters if they lower its own loss. Every 50 trials FitLaws computes the losses again and passes them to progress.
func FitLaws(c sizing.Config, rows []Measured, trials int,
	progress func(trial int, loss []float64)) ([]sizing.FunctionLaw, error) {
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
			for _, k := range parameters {
				mutate, z := s.Float64() < 0.6, s.Norm()
				if x := k.of(&next[f].Law); mutate {
					*x = min(max(*x*math.Exp(step[f]*z), k.low), k.high)
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
			// best came from trials with other laws of the other functions: compute it again under the present laws.
			c.Laws = laws
			if best, err = losses(c, rows); err != nil {
				return nil, err
			}
			progress(trial+1, best)
		}
	}
	return laws, nil
}
