package perfmodel

import (
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Draw returns the law of a function of a generated workflow, by the workflow's seed and the function's number. Each
// number is drawn within the range that FaaSConf's functions have: Work between 0.05 and 2 core-seconds, evenly in its
// logarithm; CV, Parallel, Overhead, Crowding, Spoilt and Payload evenly; one function in seven holds 250 MB a request,
// as resnet does.
func Draw(seed uint64, function int) Law {
	s := rng.New(seed, "perfmodel/draw").With(uint64(function))
	purpose := uint64(0)
	between := func(low, high float64) float64 {
		purpose++
		return low + float64(s.With(purpose).Float64()*(high-low))
	}
	l := Law{
		Work: portable.Exp(between(portable.Log(0.05), portable.Log(2))), CV: between(0.04, 0.3),
		Parallel: between(0.94, 1.72), Overhead: between(0.14, 0.25), Crowding: between(0.08, 0.15),
		Spoilt: between(0.35, 1), Idle: 8, Payload: between(2_000, 160_000), Source: "drawn for a generated workflow",
	}
	if between(0, 7) < 1 {
		l.Memory = 250
	}
	return l
}
