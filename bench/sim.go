package bench

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/rng"
)

// The published example of SimFaaS (Mahmoudi and Khazaei, 2021), which its peer script runs too: exponential warm
// service of 1.991 s on average, 600 s of keep-alive, one request at a time per instance, instances started on demand.
const (
	warmService = 1.991
	coldStart   = 2.244 - warmService
	keepAlive   = 600 * sim.Second
)

// arrivals submits Poisson arrivals one at a time.
type arrivals struct {
	key  rng.Key
	rate float64
	n    uint64
	at   float64 // seconds
}

func (a *arrivals) next(s *sim.Sim) error {
	a.at += a.key.With(a.n).Exp() / a.rate
	a.n++
	return s.Submit(sim.Request{ID: a.n, At: sim.Time(a.at * float64(sim.Second))})
}

// feeder submits the next request when one arrives, through a timer, so that the event calendar stays small.
type feeder struct {
	arrivals
	until uint64 // pause after so many arrivals; 0: never
	err   error
}

func (f *feeder) Finished(*sim.Sim, sim.Response) {}

func (f *feeder) Fired(s *sim.Sim, _ sim.Timer) {
	if f.err = f.next(s); f.err == nil {
		_, f.err = s.At(sim.Timer{At: sim.Time(f.at * float64(sim.Second))})
	}
	if f.err != nil || f.n == f.until {
		s.Pause()
	}
}

// simConfig turns on what the sizing environment uses (contention, a timeout, every meter) and quantiles, an SLO and
// prices. With one request per instance none of it changes when requests end.
func simConfig() sim.Config {
	return sim.Config{
		Functions: []sim.Function{{
			Name: "f", Demand: sim.Law{Kind: sim.Exponential, Mean: warmService},
			ColdStart: sim.Law{Kind: sim.Exponential, Mean: coldStart},
			KeepAlive: keepAlive, Queue: sim.NoLimit, BindCold: true, Timeout: 300 * sim.Second, SLO: 4 * sim.Second,
			RequestCPU: 400, IdleMemory: 60, RequestMemory: 20,
			Sizing: sim.Sizing{
				CPU: 1000, Memory: 512, GPU: 1, Concurrency: 1, Speed: 1, Contention: sim.Contention{Cores: 2, Alpha: 0.1},
				Max: sim.NoLimit,
			},
		}},
		Prices: sim.Prices{VCPUHour: 0.173, GBHour: 0.012, GPUSliceHour: 0.1},
	}
}

// loadFor is the offered load, in busy instances, at which about n instances are alive. n is taken as the peak of busy
// instances over one keep-alive time, load + 3√load, and solved for load.
func loadFor(n int) float64 {
	root := (math.Sqrt(9+4*float64(n)) - 3) / 2
	return root * root
}

// peerRates are the requests a second, by number of instances, that the peer's script uses, so that both do the same
// work.
var peerRates = map[int]float64{8: 0.9, 35: 9, 230: 90, 940: 450}

// runSim measures simulated requests a second at loads that keep about the requested numbers of instances alive.
func runSim(o Options, emit func(Result)) error {
	for _, n := range orDefault(o.Instances, 8, 35, 230, 940, 10_000) {
		rate, ok := peerRates[n]
		if !ok {
			rate = loadFor(n) / warmService
		}
		startMemory()
		s, err := sim.New(simConfig(), 1)
		if err != nil {
			return err
		}
		f := &feeder{arrivals: arrivals{key: rng.New(1, "bench arrivals"), rate: rate}}
		f.Fired(s, sim.Timer{})
		s.Run(f, 2*keepAlive)
		f.until = f.n
		const chunk = 1000 // requests between two readings of the clock
		got, err := o.measure(func() error {
			f.until += chunk
			s.Run(f, sim.Forever)
			return f.err
		})
		if err != nil {
			return err
		}
		got = got.scaled(chunk)
		emit(o.fill(Result{Bench: "sim", Size: n, RequestsPerSecond: got.perSecond()}, got))
	}
	return nil
}

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

// day is a workload and the configuration of its simulation.
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
	c.Kind, c.Streams, c.Factor, c.Length = workload.Calibrated, workload.StreamsFunction, workload.Factor(d.factor), d.minutes
	s, err := workload.Open(c)
	if err != nil {
		return nil, err
	}
	d.trace = s.Trace()
	if d.source, err = s.Copies(d.functions); err != nil {
		return nil, err
	}
	d.config.SketchBits = sim.NoSketch // one sketch for all functions replaces those of each
	templates := lists.Make(len(d.trace.Functions), func(i int) sim.Function { return functionOf(&d.trace.Functions[i]) })
	for i := range d.functions {
		d.config.Functions = append(d.config.Functions, templates[i%len(templates)])
	}
	return d, nil
}

// functionOf converts a function of the trace, with every meter on.
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

// durations is the distribution whose quantile function interpolates the trace's percentiles linearly, as a table with
// an entry for each percent.
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

// observer collects latencies.
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
		// No timer announces the next request: the simulation runs up to its arrival.
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
