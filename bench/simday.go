package bench

import (
	"fmt"
	"time"

	"github.com/stoker-rl/stoker/envs/sim"
)

// A day of a cloud. Functions are generated like those of the embedded Azure Functions sample: rates over the day,
// bursts, durations and memory. Each scales from zero, with one request at a time per instance, a cold start of dayCold
// and ten minutes of keep-alive: the fixed policy that Shahrad et al. ("Serverless in the Wild", ATC'20) take for the
// state of practice. The trace has no cold start times.
const (
	dayCold  = 1.0 // seconds
	dayAlive = 10 * sim.Minute
)

// Day configures a simulated day. Zero means the default, given behind each field.
type Day struct {
	Functions int     // 50,000, about as many as the whole trace has on a day
	Hours     float64 // 24
	Factor    float64 // times the sample's rates: 1
	Seed      uint64  // 1
	// Revision of the program, for the results.
	Revision string
	// Progress, where set, is called at each simulated minute with the minutes done and their total.
	Progress func(done, all int)
}

// DayResult is the result of a day: one JSON line.
type DayResult struct {
	Bench     string  `json:"bench"`
	Functions int     `json:"functions"`
	Hours     float64 `json:"hours"`
	Factor    float64 `json:"factor"`
	Seed      uint64  `json:"seed"`
	Requests  int64   `json:"requests"`
	// Wall and CPU are seconds for everything: reading the sample, generation, simulation and meters.
	Wall              float64 `json:"wall_seconds"`
	CPU               float64 `json:"cpu_seconds,omitempty"` // absent where the system doesn't report it
	RequestsPerSecond float64 `json:"requests_per_second"`   // of wall time
	Nanoseconds       float64 `json:"ns_per_request"`

	// Instances, Starting and Busy are means over the day.
	Instances float64 `json:"mean_instances"`
	Starting  float64 `json:"mean_starting"`
	Busy      float64 `json:"mean_busy"`
	// Little is Busy as predicted by Little's law: requests a second times mean duration, summed over functions.
	Little float64 `json:"busy_by_little"`
	// Utilisation is the busy fraction of the instances' time.
	Utilisation float64 `json:"utilisation"`
	Cold        float64 `json:"cold_share"` // of the requests
	// ColdQuartiles are the quartiles, over functions with requests, of the fraction of cold starts.
	ColdQuartiles []float64 `json:"cold_share_quartiles"`
	// Silent is the number of functions that were never called.
	Silent int `json:"silent_functions"`
	// Expected is the generator's expected number of requests. SampleRequests is the number in the sample: its 50
	// functions over as many minutes, at factor 1.
	Expected       float64 `json:"expected_requests"`
	SampleRequests int64   `json:"sample_requests"`
	// TopShare is the fraction of requests to the busiest 18.6 % of functions, SampleTopShare that in the sample.
	TopShare       float64 `json:"top_share"`
	SampleTopShare float64 `json:"sample_top_share"`
	// Median and P99 are latencies in seconds, with a relative error of at most 0.8 %.
	Median float64 `json:"latency_p50"`
	P99    float64 `json:"latency_p99"`

	// PeakMemory is that of the process; absent where the system doesn't report it.
	PeakMemory float64 `json:"peak_mb,omitempty"`
	Machine
	Revision string `json:"revision,omitempty"`
}

// Validate returns an error that names the flag of the first wrong option.
func (o Day) Validate() error {
	switch {
	case o.Functions < 0 || o.Functions > 1_000_000:
		return fmt.Errorf("--functions is %d, want 1 to 1,000,000", o.Functions)
	case !(o.Hours >= 0 && o.Hours <= 14*24):
		return fmt.Errorf("--hours is %g, want more than 0, at most 336", o.Hours)
	case !(o.Factor >= 0 && o.Factor <= 100):
		return fmt.Errorf("--factor is %g, want more than 0, at most 100", o.Factor)
	}
	return nil
}

// Run simulates the day.
func (o Day) Run() (*DayResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	startMemory()
	start, cpu := time.Now(), cpuSeconds()
	d, err := newDay(o)
	if err != nil {
		return nil, err
	}
	r, err := d.run(o.Progress)
	if err != nil {
		return nil, err
	}
	r.Wall, r.PeakMemory, r.Machine, r.Revision = time.Since(start).Seconds(), peakMemory(), ThisMachine(), o.Revision
	if now := cpuSeconds(); now > cpu {
		r.CPU = now - cpu
	}
	if r.Requests > 0 {
		r.RequestsPerSecond, r.Nanoseconds = float64(r.Requests)/r.Wall, 1e9*r.Wall/float64(r.Requests)
	}
	return r, nil
}
