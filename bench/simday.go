package bench

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workload"
)

// A day of a cloud: functions generated like the embedded Azure Functions sample's (its own rates over the day, bursts, durations
// and memory), each scaled from zero, one request at a time in an instance, a cold start of dayCold and ten minutes of keep-alive,
// the fixed policy that Shahrad et al. ("Serverless in the Wild", ATC'20) take for the state of practice. The trace says nothing of
// cold starts' length.
const (
	dayCold  = 1.0 // seconds
	dayAlive = 10 * sim.Minute
)

// SimFigures are what a simulation came to, beside its speed.
type SimFigures struct {
	Functions int     `json:"functions,omitempty"`
	Hours     float64 `json:"hours,omitempty"`
	Factor    float64 `json:"factor,omitempty"` // of the sample's rates
	Requests  int64   `json:"requests,omitempty"`
	// Wall and CPU are seconds of the whole day: generation, simulation and meters.
	Wall float64 `json:"wall_seconds,omitempty"`
	CPU  float64 `json:"cpu_seconds,omitempty"` // absent where the system doesn't tell

	Instances float64 `json:"mean_instances,omitempty"`
	Busy      float64 `json:"mean_busy,omitempty"`
	// Utilisation is the busy share of the instances' time.
	Utilisation float64 `json:"utilisation,omitempty"`
	Cold        float64 `json:"cold_share,omitempty"` // of the requests
	// ColdQuartiles are those, over the functions called at all, of the share of their requests that were cold.
	ColdQuartiles []float64 `json:"cold_share_quartiles,omitempty"`
	// TopShare is the share of requests that the busiest 18.6 % of functions have.
	TopShare float64 `json:"top_share,omitempty"`
	// CV is the coefficient of variation of all requests by the minute.
	CV float64 `json:"minute_cv,omitempty"`
	// Median and P99 are latencies in seconds.
	Median float64 `json:"latency_p50,omitempty"`
	P99    float64 `json:"latency_p99,omitempty"`
	// OfferedBusy is what Little's law gives for Busy: the trace's requests times their mean durations.
	OfferedBusy float64 `json:"offered_busy,omitempty"`
	// TraceRequests are the sample's requests in the same hours times functions over its 50 times factor.
	TraceRequests float64 `json:"trace_requests,omitempty"`
}

// runDay simulates hours of many functions.
func runDay(o Options, emit func(Result)) error {
	d, err := newDay(o)
	if err != nil {
		return err
	}
	startMemory()
	start, cpu := time.Now(), cpuSeconds()
	f, err := d.run(o.Status)
	if err != nil {
		return err
	}
	wall := time.Since(start)
	f.Wall = wall.Seconds()
	if now := cpuSeconds(); now > cpu {
		f.CPU = now - cpu
	}
	s := sample{Operations: f.Requests, Nanoseconds: float64(wall) / float64(max(f.Requests, 1))}
	emit(o.fill(Result{Bench: "sim", What: "a day of " + fmt.Sprint(d.functions) + " functions", RequestsPerSecond: s.perSecond(), SimFigures: f}, s))
	return nil
}

// day is a workload and what simulates it.
type day struct {
	functions int
	minutes   int
	factor    float64
	trace     *workload.Trace
	source    *workload.Source
	config    sim.Config
}

func newDay(o Options) (*day, error) {
	d := &day{functions: o.Functions, minutes: 1440, factor: 1}
	if o.Hours > 0 {
		d.minutes = max(1, int(math.Round(60*o.Hours)))
	}
	if o.Factor > 0 {
		d.factor = o.Factor
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
	d.config.SketchBits = sim.NoSketch // one for all functions is kept instead
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
		Sizing: sim.Sizing{CPU: 1000, Memory: memory, Concurrency: 1, Speed: 1, Contention: sim.Contention{Cores: 1, Alpha: 0.1}, Max: sim.NoLimit},
	}
}

// durations is the law whose quantile function joins the trace's percentiles by straight lines: they all lie on a hundred steps.
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

func (d *day) run(status Status) (*SimFigures, error) {
	latency, err := sim.NewSketch(6)
	if err != nil {
		return nil, err
	}
	s, err := sim.New(d.config, 1)
	if err != nil {
		return nil, err
	}
	arrivals, err := d.source.Arrivals(1)
	if err != nil {
		return nil, err
	}
	h := observer{latency}
	perMinute := make([]float64, d.minutes)
	minute := 0
	bar := status.start(d.minutes, "minutes simulated")
	defer bar.finish()
	for {
		a, ok := arrivals.Next()
		if !ok {
			break
		}
		if m := int(a.Time / workload.Minute); m > minute {
			bar.at(m)
			minute = m
		}
		perMinute[minute]++
		at := sim.Time(a.Time)
		if at > s.Now() {
			s.Run(h, at)
		}
		if err := s.Submit(sim.Request{Function: a.Stream, ID: a.ID(), At: at}); err != nil {
			return nil, err
		}
	}
	s.Run(h, sim.Time(d.minutes)*sim.Minute)
	return d.figures(s, latency, perMinute), nil
}

func (d *day) figures(s *sim.Sim, latency *sim.Sketch, perMinute []float64) *SimFigures {
	var m sim.Meter
	var cold, counts []float64
	for i := range d.functions {
		s.Meter(i, &m)
		counts = append(counts, float64(m.Arrived))
		if m.Arrived > 0 {
			cold = append(cold, float64(m.Cold)/float64(m.Arrived))
		}
	}
	s.Total(&m)
	slices.Sort(cold)
	slices.Sort(counts)
	f := &SimFigures{
		Functions: d.functions, Hours: float64(d.minutes) / 60, Factor: d.factor, Requests: m.Arrived,
		Instances: m.Instances(), Busy: m.BusyInstances(), Cold: float64(m.Cold) / float64(max(m.Started, 1)),
		Median: latency.Quantile(0.5).Seconds(), P99: latency.Quantile(0.99).Seconds(), CV: variation(perMinute),
	}
	if f.Instances > 0 {
		f.Utilisation = f.Busy / f.Instances
	}
	if len(cold) > 0 {
		f.ColdQuartiles = []float64{quantile(cold, 0.25), quantile(cold, 0.5), quantile(cold, 0.75)}
	}
	var top float64
	for _, x := range counts[len(counts)-int(math.Ceil(0.186*float64(len(counts)))):] {
		top += x
	}
	f.TopShare = top / float64(max(m.Arrived, 1))
	for i := range d.functions {
		fn := &d.trace.Functions[i%len(d.trace.Functions)]
		for t := range d.minutes {
			n := float64(fn.Counts[t%len(fn.Counts)]) * d.factor
			f.TraceRequests += n
			f.OfferedBusy += n * mean(d.config.Functions[i].Demand.Table) / (60 * float64(d.minutes))
		}
	}
	return f
}

// mean of the law whose quantiles are joined by straight lines.
func mean(table []float64) float64 {
	var sum float64
	for i := 1; i < len(table); i++ {
		sum += (table[i-1] + table[i]) / 2
	}
	return sum / float64(len(table)-1)
}

func variation(x []float64) float64 {
	var sum, square float64
	for _, v := range x {
		sum += v
	}
	m := sum / float64(len(x))
	for _, v := range x {
		square += (v - m) * (v - m)
	}
	return math.Sqrt(square/float64(len(x))) / m
}
