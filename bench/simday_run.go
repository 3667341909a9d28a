package bench

import (
	"cmp"
	"math"

	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workload"
)

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
	templates := make([]sim.Function, len(d.trace.Functions))
	for i := range templates {
		templates[i] = functionOf(&d.trace.Functions[i])
	}
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
