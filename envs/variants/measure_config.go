package variants

import (
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/sim"
)

// Platform is what serverless platforms do that a model of mean times does not see: instances that start cold, are kept
// for a while and then end. An instance runs one task at a time; a task that finds none idle starts one and waits.
type Platform struct {
	// ColdStart is the mean time in seconds from the start of an instance to its first task, whatever it runs.
	ColdStart float64 `yaml:"cold_start" json:"cold_start" range:"[0,3600]"`
	// Loading is what a variant adds to it: so many times its mean run at its largest memory size. Large models load
	// longer.
	Loading float64 `yaml:"loading" json:"loading" range:"[0,1000]"`
	// ColdCV is the coefficient of variation of cold starts, which are lognormal; 0 for starts that do not vary.
	ColdCV float64 `yaml:"cold_cv" json:"cold_cv" range:"[0,100]"`
	// KeepAlive is the time in seconds for which an idle instance is kept.
	KeepAlive float64 `yaml:"keep_alive" json:"keep_alive" range:"(0,86400]"`
	// Prewarmed is the number of instances of each function that are always kept, ready from the beginning.
	Prewarmed int `yaml:"prewarmed" json:"prewarmed" range:"[0,1000]"`
	// StartRate bounds the instance starts of all functions together, per second; 0 is no bound.
	StartRate float64 `yaml:"start_rate" json:"start_rate" range:"[0,1e6]"`
	// BillCold bills a cold start with the run that waited for it, as AWS Lambda does since August 2025.
	BillCold bool `yaml:"bill_cold" json:"bill_cold"`
	// IdleGBSecond is the price in USD of a GB (1024 MB) of any instance that starts or is idle, for a second. AWS Lambda
	// charges nothing for instances that it keeps by itself.
	IdleGBSecond float64 `yaml:"idle_gb_second" json:"idle_gb_second" range:"[0,1]"`
}

// DefaultPlatform returns cold starts of half a second plus a variant's fastest mean run, varying by 0.3, and instances
// that are kept for ten minutes. The numbers are this project's.
func DefaultPlatform() Platform {
	return Platform{ColdStart: 0.5, Loading: 1, ColdCV: 0.3, KeepAlive: 600}
}

// Validate reports the first wrong field by its key.
func (p *Platform) Validate() error {
	if err := bounds.Check(p); err != nil {
		return err
	}
	if p.StartRate != 0 && p.StartRate < 1e-3 {
		return bounds.Errorf("start_rate", "is %g, want starts a second from 0.001, or 0 for no bound", p.StartRate)
	}
	if p.BillCold && p.StartRate > 0 {
		return bounds.Errorf("bill_cold", "is true beside a start_rate, want one of them: what waits in the line of starts "+
			"would be billed")
	}
	return nil
}

// cold is the law of a variant's cold starts. fastest is its mean run at its largest size.
func (p *Platform) cold(fastest float64) sim.Law {
	l := sim.Law{Mean: min(p.ColdStart+float64(p.Loading*fastest), sim.MaxSpan.Seconds())}
	if p.ColdCV > 0 && l.Mean > 0 {
		l.Kind, l.CV = sim.Lognormal, p.ColdCV
	}
	return l
}

// Period is what is measured: some minutes of a workload.
type Period struct {
	// Seed names the draws: arrivals, branches, run times, cold starts. Two choices under one seed face the same.
	Seed uint64
	// Start is the minute of the workload at which the warm-up begins.
	Start float64
	// Warmup and Minutes are the lengths in minutes. Requests that begin in the warm-up are served and not measured.
	Warmup, Minutes float64
}

// validate reports what is wrong with a period of a workload.
func (p *Period) validate(minutes int) error {
	end := p.Start + p.Warmup + p.Minutes
	switch {
	case !(p.Start >= 0 && p.Warmup >= 0):
		return bounds.Errorf("start", "is minute %g with a warmup of %g minutes, want 0 or more", p.Start, p.Warmup)
	case !(p.Minutes > 0):
		return bounds.Errorf("minutes", "are %g, want more than 0", p.Minutes)
	case end > float64(minutes):
		return bounds.Errorf("minutes", "end at minute %g, want at most %d, the workload's length", end, minutes)
	}
	return nil
}

// Interval is a measured quantity with its 95 % confidence interval, by sectioning: the requests are cut into sections
// one after another, whose values vary as much as independent measurements do.
type Interval struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// Measured is what a choice gives on a platform under a load.
type Measured struct {
	// Requests is the number that began in the period.
	Requests int `json:"requests"`
	// Mean, P50, P95 and P99 are of their response time, in seconds.
	Mean Interval `json:"mean"`
	P50  Interval `json:"p50"`
	P95  Interval `json:"p95"`
	P99  Interval `json:"p99"`
	// USD is the cost of a million executions, as billed; the next three are its parts.
	USD           Interval `json:"usd"`
	Functions     float64  `json:"functions"`
	Orchestration float64  `json:"orchestration"`
	Idle          float64  `json:"idle"`
	// ColdRuns is the share of runs that waited for a cold start, ColdRequests that of requests with such a run.
	ColdRuns     float64 `json:"cold_runs"`
	ColdRequests float64 `json:"cold_requests"`
	// Instances is the mean number of instances of all functions, those that start or are idle included.
	Instances float64 `json:"instances"`
	// Accuracy is the application's accuracy score.
	Accuracy float64 `json:"accuracy"`
}
