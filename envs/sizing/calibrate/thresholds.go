package calibrate

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/rng"
)

// Levels are FaaSConf's numbers of closed-loop users.
var Levels = []int{10, 15, 20, 25, 30}

// Thresholds returns the QoS of a workflow under a number of users, at the same quantiles of random configurations as
// FaaSConf's QoS for Parallel under 10 users has in the published measurements: its mean latency of 13 s is the upper
// quartile, its 20 successes are one more than the median. Latencies are rounded up to a multiple of 0.5 s, below 5 s
// of 0.1 s. feasible is the fraction of the configurations that meet both thresholds.
func Thresholds(c sizing.Config, users, configurations int) (q sizing.QoS, feasible float64, err error) {
	b, err := NewBench(c, users)
	if err != nil {
		return q, 0, err
	}
	var latency, successes []float64
	s := rng.NewStream(1, "calibrate/thresholds")
	for k := range uint64(configurations) {
		for i := range b.Action() {
			b.Action()[i] = float32(0.2 + 0.8*s.Float64()) // the range of the published actions
		}
		if err := b.Measure(k); err != nil {
			return q, 0, err
		}
		latency = append(latency, b.Info("latency"))
		successes = append(successes, b.Info("successes"))
	}
	unsorted, counts := slices.Clone(latency), slices.Clone(successes)
	q.Latency = QuartilesOf(latency).Upper
	step := 2.0
	if q.Latency < 5 {
		step = 10
	}
	q.Latency = math.Ceil(q.Latency*step) / step
	q.Count = int(QuartilesOf(successes).Median) + 1
	for k, l := range unsorted {
		if l <= q.Latency && counts[k] >= float64(q.Count) {
			feasible += 1 / float64(configurations)
		}
	}
	return q, feasible, nil
}
