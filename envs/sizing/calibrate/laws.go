package calibrate

import (
	"errors"
	"slices"

	"github.com/stoker-rl/stoker/envs/perfmodel"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// knob is a number of a law that FitLaws turns, within bounds.
type knob struct {
	of        func(*perfmodel.Law) *float64
	low, high float64
}

var knobs = []knob{
	{func(l *perfmodel.Law) *float64 { return &l.Work }, 0.05, 20},
	{func(l *perfmodel.Law) *float64 { return &l.Overhead }, 0.02, 1},
	{func(l *perfmodel.Law) *float64 { return &l.Parallel }, 0.5, 4},
	{func(l *perfmodel.Law) *float64 { return &l.Crowding }, 0.01, 0.5},
}

// FitLaws searches the laws under which the simulation is nearest to the rows, from those that there are: for each function the work, overhead,
// parallelism and crowding with the least loss ([Comparison.Loss]). A function's latency hardly depends on the others' laws, so all
// functions take their trial steps in the same run, and each keeps its step where its own loss falls. The number of rounds
// says how often every number is tried larger and smaller by each of the factors. Progress is told line by line.
func FitLaws(c sizing.Config, rows []perfmodel.Measured, rounds int, factors []float64, tell func(round int, loss []float64)) ([]sizing.FunctionLaw, error) {
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
	loss := func(laws []sizing.FunctionLaw) ([]float64, error) {
		c.Laws = laws
		r, err := Compare(c, rows)
		if err != nil {
			return nil, err
		}
		return r.Loss, nil
	}
	for round := range rounds {
		for _, factor := range factors {
			for _, k := range knobs {
				best, err := loss(laws)
				if err != nil {
					return nil, err
				}
				next := slices.Clone(laws)
				for _, by := range []float64{factor, 1 / factor} {
					trial := slices.Clone(laws)
					for f := range trial {
						x := k.of(&trial[f].Law)
						*x = min(max(*x*by, k.low), k.high)
					}
					got, err := loss(trial)
					if err != nil {
						return nil, err
					}
					for f := range trial {
						if got[f] < best[f] {
							best[f], next[f] = got[f], trial[f]
						}
					}
				}
				laws = next
			}
		}
		final, err := loss(laws)
		if err != nil {
			return nil, err
		}
		tell(round, final)
	}
	return laws, nil
}
