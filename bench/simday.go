package bench

import (
	"fmt"
	"time"

	"github.com/stoker-rl/stoker/envs/sim"
)

// A day of a cloud: functions generated like the embedded Azure Functions sample's (its own rates over the day,
// bursts, durations and memory), each scaled from zero, one request at a time in an instance, a cold start of dayCold
// and ten minutes of keep-alive, the fixed policy that Shahrad et al. ("Serverless in the Wild", ATC'20) take for the
// state of practice. The trace says nothing of cold starts' length.
const (
	dayCold  = 1.0 // seconds
	dayAlive = 10 * sim.Minute
)

// Day chooses a simulated day. Zero means the usual.
type Day struct {
	Functions int     // 50,000, about as many as the whole trace has on a day
	Hours     float64 // 24
	Factor    float64 // times the sample's rates: 1
	Seed      uint64  // 1
	// Revision of the program, for the results.
	Revision string
	// Progress, where set, is called at each simulated minute with the minutes done and all of them.
	Progress func(done, all int)
}

// DayResult is what a day came to: one JSON line.
type DayResult struct {
	Bench     string  `json:"bench"`
	Functions int     `json:"functions"`
	Hours     float64 `json:"hours"`
	Factor    float64 `json:"factor"`
	Seed      uint64  `json:"seed"`
	Requests  int64   `json:"requests"`
	// Wall and CPU are seconds of the whole: reading the sample, generation, simulation and meters.
	Wall              float64 `json:"wall_seconds"`
	CPU               float64 `json:"cpu_seconds,omitempty"` // absent where the system doesn't tell
	RequestsPerSecond float64 `json:"requests_per_second"`   // of wall time
	Nanoseconds       float64 `json:"ns_per_request"`

	// Instances, Starting and Busy are means over the day.
	Instances float64 `json:"mean_instances"`
	Starting  float64 `json:"mean_starting"`
	Busy      float64 `json:"mean_busy"`
	// Little is what Busy should be by Little's law: requests a second times their mean duration, function by function.
	Little float64 `json:"busy_by_little"`
	// Utilisation is the busy share of the instances' time.
	Utilisation float64 `json:"utilisation"`
	Cold        float64 `json:"cold_share"` // of the requests
	// ColdQuartiles are those, over the functions called at all, of the share of their requests that were cold.
	ColdQuartiles []float64 `json:"cold_share_quartiles"`
	// Silent is the number of functions that were never called.
	Silent int `json:"silent_functions"`
	// Expected is the number of requests that the generator's law gives on average; the sample has SampleRequests in
	// as many minutes, with its 50 functions, at factor 1.
	Expected       float64 `json:"expected_requests"`
	SampleRequests int64   `json:"sample_requests"`
	// TopShare is the share of requests that the busiest 18.6 % of functions have, SampleTopShare that in the sample.
	TopShare       float64 `json:"top_share"`
	SampleTopShare float64 `json:"sample_top_share"`
	// Median and P99 are latencies in seconds, to 0.8 %.
	Median float64 `json:"latency_p50"`
	P99    float64 `json:"latency_p99"`

	// PeakMemory of the process; absent where the system doesn't tell.
	PeakMemory float64 `json:"peak_mb,omitempty"`
	Machine
	Revision string `json:"revision,omitempty"`
}

// Validate says which option is wrong, by its flag.
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
