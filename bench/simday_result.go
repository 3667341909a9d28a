package bench

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/sim"
)

// busiest is the fraction of functions whose applications receive nearly all requests of the whole trace (Shahrad et
// al., figure 5).
const busiest = 0.186

func (d *day) result(s *sim.Sim, latency *sim.Sketch) *DayResult {
	r := &DayResult{
		Bench: "sim-day", Functions: d.functions, Hours: float64(d.minutes) / 60, Factor: d.factor, Seed: d.seed,
		Median: latency.Quantile(0.5).Seconds(), P99: latency.Quantile(0.99).Seconds(),
	}
	var m sim.Meter
	var cold []float64
	counts := make([]float64, d.functions)
	seconds := 60 * float64(d.minutes)
	for i := range d.functions {
		s.Meter(i, &m)
		counts[i] = float64(m.Arrived)
		r.Little += float64(counts[i] / seconds * mean(d.config.Functions[i].Demand.Table))
		if m.Arrived > 0 {
			cold = append(cold, float64(m.Cold)/float64(m.Arrived))
		}
	}
	s.Total(&m)
	r.Requests, r.Instances, r.Starting, r.Busy = m.Arrived, m.Instances(), m.StartingInstances(), m.BusyInstances()
	r.Cold, r.Silent = float64(m.Cold)/float64(max(m.Started, 1)), d.functions-len(cold)
	if r.Instances > 0 {
		r.Utilisation = r.Busy / r.Instances
	}
	if slices.Sort(cold); len(cold) > 0 {
		r.ColdQuartiles = []float64{quantile(cold, 0.25), quantile(cold, 0.5), quantile(cold, 0.75)}
	}
	r.TopShare = topShare(counts)
	own := make([]float64, len(d.trace.Functions))
	for i := range own {
		var expected float64
		for t := range d.minutes {
			expected += d.source.Expected(min(i, d.functions-1), t)
			own[i] += float64(d.trace.Functions[i].Counts[t%d.trace.Minutes])
		}
		r.SampleRequests += int64(own[i])
		copies := d.functions / len(own)
		if i < d.functions%len(own) {
			copies++
		}
		r.Expected += float64(copies) * expected
	}
	r.SampleTopShare = topShare(own)
	return r
}

// topShare is the fraction of all requests that go to the busiest functions.
func topShare(counts []float64) float64 {
	slices.Sort(counts)
	var top, all float64
	for i, x := range counts {
		all += x
		if i >= len(counts)-int(math.Ceil(busiest*float64(len(counts)))) {
			top += x
		}
	}
	return top / max(all, 1)
}

// mean is that of the distribution whose quantile function interpolates the table linearly.
func mean(table []float64) float64 {
	var sum float64
	for i := 1; i < len(table); i++ {
		sum += (table[i-1] + table[i]) / 2
	}
	return sum / float64(len(table)-1)
}
