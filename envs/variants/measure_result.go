package variants

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sections: as many as leave each some requests, so that its 95th percentile is one of its own.
const (
	mostSections    = 20
	requestsSection = 40
)

// result works out the requests that have ended.
func (x *Measurer) result(idle float64) Measured {
	slices.SortFunc(x.samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.begun, b.begun), cmp.Compare(a.run, b.run))
	})
	n := len(x.samples)
	m := Measured{Requests: n, Idle: Executions * idle / float64(n)}
	var runs, coldRuns, coldRequests float64
	for i := range x.samples {
		s := &x.samples[i]
		m.Functions += s.usd
		m.Orchestration += s.transfers
		runs += float64(s.runs)
		coldRuns += float64(s.cold)
		if s.cold > 0 {
			coldRequests++
		}
	}
	m.Functions *= Executions / float64(n)
	m.Orchestration *= Executions / float64(n)
	m.ColdRequests, m.ColdRuns = coldRequests/float64(n), coldRuns/math.Max(1, runs)
	m.USD = x.interval(func(s []sample) float64 {
		var sum float64
		for i := range s {
			sum += s[i].usd + s[i].transfers
		}
		return Executions*sum/float64(len(s)) + m.Idle
	})
	m.Mean = x.interval(func(s []sample) float64 {
		var sum float64
		for i := range s {
			sum += s[i].seconds
		}
		return sum / float64(len(s))
	})
	m.P50, m.P95, m.P99 = x.percentile(0.5), x.percentile(0.95), x.percentile(0.99)
	return m
}

func (x *Measurer) percentile(p float64) Interval {
	return x.interval(func(s []sample) float64 {
		x.scratch = x.scratch[:0]
		for i := range s {
			x.scratch = append(x.scratch, s[i].seconds)
		}
		slices.Sort(x.scratch)
		at := float64(p * float64(len(s)-1))
		i := int(at)
		lo, hi := x.scratch[i], x.scratch[min(i+1, len(s)-1)]
		return lo + float64((at-float64(i))*(hi-lo))
	})
}

// interval is a quantity of all requests, with the interval that the sections' values give (Asmussen and Glynn,
// Stochastic Simulation, 2007, III.5a). With too few requests for two sections it has no bounds but itself.
func (x *Measurer) interval(of func([]sample) float64) Interval {
	n := len(x.samples)
	all := of(x.samples)
	sections := min(mostSections, n/requestsSection)
	if sections < 2 {
		return Interval{all, all, all}
	}
	var sq float64
	for i := range sections {
		d := of(x.samples[i*n/sections:(i+1)*n/sections]) - all
		sq += float64(d * d)
	}
	k := float64(sections)
	half := float64(distuv.StudentsT{Sigma: 1, Nu: k - 1}.Quantile(0.975) * math.Sqrt(sq/(k-1)/k))
	return Interval{all, all - half, all + half}
}
