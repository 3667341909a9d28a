package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workload"
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

// day is a workload and what simulates it.
type day struct {
	functions int
	minutes   int
	factor    float64
	seed      uint64
	trace     *workload.Trace
	source    *workload.Source
	config    sim.Config
}

func newDay(o Day) (*day, error) {
	d := &day{
		functions: cmp.Or(o.Functions, 50_000), minutes: max(1, int(math.Round(60*cmp.Or(o.Hours, 24)))),
		factor: cmp.Or(o.Factor, 1), seed: cmp.Or(o.Seed, 1),
	}
	c := workload.Default()
	c.Kind, c.Streams, c.Factor, c.Length = workload.Calibrated, workload.StreamsFunction, d.factor, d.minutes
	s, err := workload.Open(c)
	if err != nil {
		return nil, err
	}
	d.trace = s.Trace()
	if d.source, err = s.Copies(d.functions); err != nil {
		return nil, err
	}
	d.config.SketchBits = sim.NoSketch // one sketch for all functions takes their place
	templates := make([]sim.Function, len(d.trace.Functions))
	for i := range templates {
		templates[i] = functionOf(&d.trace.Functions[i])
	}
	for i := range d.functions {
		d.config.Functions = append(d.config.Functions, templates[i%len(templates)])
	}
	return d, nil
}

// functionOf is a function of the trace, with every meter on.
func functionOf(f *workload.Function) sim.Function {
	memory := int32(max(128, math.Ceil(f.Memory.P100)))
	return sim.Function{
		Name: f.Name, Demand: durations(&f.Duration), ColdStart: sim.Law{Kind: sim.Deterministic, Mean: dayCold},
		BindCold: true, KeepAlive: dayAlive, Queue: sim.NoLimit, SLO: sim.Second,
		RequestCPU: 1000, IdleMemory: int32(math.Round(f.Memory.P1)), RequestMemory: memory - int32(math.Round(f.Memory.P1)),
		Sizing: sim.Sizing{CPU: 1000, Memory: memory, Concurrency: 1, Speed: 1,
			Contention: sim.Contention{Cores: 1, Alpha: 0.1}, Max: sim.NoLimit},
	}
}

// durations is the law whose quantile function joins the trace's percentiles by straight lines: they all lie on a
// hundred steps.
func durations(d *workload.Duration) sim.Law {
	p, q := [...]int{0, 1, 25, 50, 75, 99, 100}, [...]float64{d.P0, d.P1, d.P25, d.P50, d.P75, d.P99, d.P100}
	table := make([]float64, 101)
	for i := 1; i < len(p); i++ {
		for k := p[i-1]; k <= p[i]; k++ {
			x := float64(k-p[i-1]) / float64(p[i]-p[i-1])
			table[k] = (q[i-1] + float64(x*(q[i]-q[i-1]))) / 1000
		}
	}
	return sim.Law{Kind: sim.Empirical, Table: table}
}

// observer notes latencies.
type observer struct{ latency *sim.Sketch }

func (o observer) Finished(_ *sim.Sim, r sim.Response) { o.latency.Add(r.Latency()) }
func (o observer) Fired(*sim.Sim, sim.Timer)           {}

func (d *day) run(progress func(done, all int)) (*DayResult, error) {
	latency, err := sim.NewSketch(6)
	if err != nil {
		return nil, err
	}
	s, err := sim.New(d.config, d.seed)
	if err != nil {
		return nil, err
	}
	arrivals, err := d.source.Arrivals(d.seed)
	if err != nil {
		return nil, err
	}
	h := observer{latency}
	minute := 0
	for a, ok := arrivals.Next(); ok; a, ok = arrivals.Next() {
		if m := int(a.Time / workload.Minute); m > minute {
			minute = m
			if progress != nil {
				progress(m, d.minutes)
			}
		}
		// No timer brings the next request: the simulation runs up to it.
		at := sim.Time(a.Time)
		if at > s.Now() {
			s.Run(h, at)
		}
		if err := s.Submit(sim.Request{Function: a.Stream, ID: a.ID(), At: at}); err != nil {
			return nil, err
		}
	}
	s.Run(h, sim.Time(d.minutes)*sim.Minute)
	if progress != nil {
		progress(d.minutes, d.minutes)
	}
	return d.result(s, latency), nil
}

// busiest is the share of functions whose applications make nearly all requests in the whole trace (Shahrad et al.,
// figure 5).
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

// topShare is the busiest functions' share of all requests.
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

// mean of the law whose quantiles are joined by straight lines.
func mean(table []float64) float64 {
	var sum float64
	for i := 1; i < len(table); i++ {
		sum += (table[i-1] + table[i]) / 2
	}
	return sum / float64(len(table)-1)
}

// cpuSeconds is the time that this process has computed; 0 where the system doesn't tell.
func cpuSeconds() float64 {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// The name in brackets may hold anything; after it come the state and, 11 fields on, user and system time in ticks
	// of 10 ms.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, err := strconv.ParseFloat(string(f[11]), 64)
	if err != nil {
		return 0
	}
	system, err := strconv.ParseFloat(string(f[12]), 64)
	if err != nil {
		return 0
	}
	return (user + system) / 100
}
