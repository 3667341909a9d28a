package traces

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/workload"
)

// Report is what a trace holds.
type Report struct {
	// Trace says where it comes from; Files are those read, Missing those that are lacking, empty or without requests.
	Trace   string   `json:"trace"`
	Files   []string `json:"files"`
	Missing []string `json:"missing"`
	// Functions is their number, Active that of those with at least one request.
	Functions int    `json:"functions"`
	Active    int    `json:"active"`
	Minutes   int    `json:"minutes"`
	Requests  uint64 `json:"requests"`
	// Rate is the mean in requests a second, Rates is what describes its course.
	Rate  float64 `json:"rate"`
	Rates Rates   `json:"rates"`
	// Busiest is the minute with the most requests.
	Busiest Minute `json:"busiest"`
	// Bursts are measures of how unevenly requests come.
	Bursts []Measure `json:"burstiness"`
	// Top says which share of the requests the busiest functions have.
	Top []Share `json:"top"`
	// Scale is what a factor does in an environment, where one was named.
	Scale *Scale `json:"scale,omitempty"`
	// Stretch is a part of it with a calm, a swinging and a bursting third, where one was asked for.
	Stretch *Stretch `json:"stretch,omitempty"`
	// Figures are the files drawn.
	Figures []string `json:"figures,omitempty"`

	perMinute []uint64
	functions []workload.FunctionTotal // by their requests, the most first
}

// Rates are percentiles of the minutes' rates in requests a second.
type Rates struct {
	P5  float64 `json:"p5"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Minute is a minute of the trace, counted from 0.
type Minute struct {
	Minute   int     `json:"minute"`
	At       string  `json:"at"` // its day and time, where the trace begins at midnight
	Requests uint64  `json:"requests"`
	Rate     float64 `json:"rate"` // requests a second
}

// Measure is a number and what it means.
type Measure struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Meaning string  `json:"meaning"`
}

// Share is the share of requests of the busiest functions.
type Share struct {
	Functions int     `json:"functions"`
	Share     float64 `json:"share"`
}

// Describe reports on the contents of a trace. One without any request is an error.
func Describe(c *workload.Contents) (*Report, error) {
	s := workload.Describe(c.PerMinute)
	if s.Total == 0 {
		return nil, fmt.Errorf("%s: %d functions in %d minutes have no request at all, want some", c.Name, len(c.Functions),
			len(c.PerMinute))
	}
	r := &Report{Trace: c.Name, Files: c.Report.Files, Missing: c.Report.Missing, Functions: len(c.Functions),
		Minutes: s.Minutes, Requests: s.Total, Rate: s.Mean / 60, perMinute: c.PerMinute}
	if r.Missing == nil {
		r.Missing = []string{}
	}
	sorted := slices.Sorted(slices.Values(c.PerMinute))
	at := func(p float64) float64 { return float64(sorted[int(math.Round(p*float64(len(sorted)-1)))]) / 60 }
	r.Rates = Rates{at(0.05), at(0.5), at(0.95), at(0.99)}
	most := slices.Index(c.PerMinute, s.Peak)
	r.Busiest = Minute{most, clock(most), s.Peak, float64(s.Peak) / 60}
	r.Bursts = bursts(s)
	r.functions = slices.Clone(c.Functions)
	slices.SortStableFunc(r.functions, func(a, b workload.FunctionTotal) int { return cmp.Compare(b.Total, a.Total) })
	var sum uint64
	for i, f := range r.functions {
		if f.Total > 0 {
			r.Active++
		}
		sum += f.Total
		if n := i + 1; n == 1 || n < len(r.functions) && slices.Contains(tops, n) {
			r.Top = append(r.Top, Share{n, float64(sum) / float64(s.Total)})
		}
	}
	return r, nil
}

// tops are the numbers of functions whose share is told.
var tops = []int{1, 5, 10, 50, 100, 1000}

// clock is a minute's day and time.
func clock(minute int) string {
	return fmt.Sprintf("day %d %02d:%02d", minute/1440+1, minute%1440/60, minute%60)
}

// bursts are the usual measures of how unevenly counts per minute come.
func bursts(s workload.Stats) []Measure {
	const poisson = "; 1 for a Poisson process"
	return []Measure{
		{"dispersion, 1 min", s.Dispersion, "index of dispersion: variance of the counts per minute over their mean" + poisson},
		{"dispersion, 10 min", s.Dispersion10, "the same of counts per 10 minutes; larger where bursts last for minutes" + poisson},
		{"dispersion, 60 min", s.Dispersion60, "the same of counts per hour" + poisson},
		{"peak to mean", float64(s.Peak) / s.Mean, "requests of the busiest minute over the mean minute's"},
		{"coefficient of variation", s.CV, "standard deviation of the counts per minute over their mean"},
		{"lag-1 correlation", s.Lag1, "correlation of a minute's count with the next one's; 0 where minutes are independent"},
		{"idle minutes", s.Idle, "share of the minutes without a request"},
	}
}
