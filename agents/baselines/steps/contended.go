package steps

import (
	"math"

	"github.com/stoker-rl/stoker/envs/steps"
)

// What a planner knows of the steps that share a cluster's cores.
const (
	// NoCap plans as if every step ran alone.
	NoCap = "none"
	// Siblings leaves a step the options that fit into its share of the cores.
	Siblings = "siblings"
	// Scheduled predicts by a schedule of all steps when instances find room ([steps.Schedule]), and looks for the plan of
	// the rest that is best by it ([steps.SharedPlanner]).
	Scheduled = "schedule"
)

// share is how many of a cluster's cores a step may take that is decided now: the steps that are ready share those that
// nobody holds or waits for, and no step gets less than an even part for all that run side by side.
func share(m *steps.Model, at *steps.Moment, step int) int {
	if !m.SharesCluster() {
		return math.MaxInt
	}
	all, beside := m.Platform.AllCores(), 0
	free := all
	for i := range at.Runs {
		r := &at.Runs[i]
		free -= (r.Started + r.Queued) * r.Cores
	}
	for s, state := range at.State {
		if s != step && (state == steps.Running || state == steps.Ready && at.Choice[s] < 0) {
			beside++
		}
	}
	return max(free/max(len(at.Ready), 1), all/(beside+1), 1)
}

// fitting returns the place of an option of at most so many cores: i where it is one, else the first that is slower, else
// that of the fewest cores.
func (l menu) fitting(p *steps.Platform, i, cores int) int {
	least, fewest := i, math.MaxInt
	for ; i < len(l); i++ {
		n := l[i].option.Instances * p.CoresOf(l[i].option.MB)
		if n <= cores {
			return i
		}
		if n < fewest {
			least, fewest = i, n
		}
	}
	return least
}

// inLimit is the aim of keeping the limit at so many deviations above the mean, by as little as may be missing, and then of
// the least price; after the limit it is the price alone.
func inLimit(z float64) steps.Aim {
	return func(at *steps.Moment, c *steps.Course) float64 {
		if over := c.At(z) - at.SLO; over > 0 && at.Now < at.SLO {
			return overLimit * (1 + over)
		}
		return c.USD
	}
}

// overLimit is dearer than any request.
const overLimit = 1e12

// expected is the aim of the least price, where an end after the limit costs a multiple of the request's price of a miss.
func expected(miss float64) steps.Aim {
	return func(at *steps.Moment, c *steps.Course) float64 { return c.USD + float64(at.Miss*miss*c.Late(at.SLO)) }
}
