package variants

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/perfmodel/bill"
	"github.com/stoker-rl/stoker/envs/serve"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Measurer measures what a choice gives where the model's means do not hold: requests of a load walk the workflow over
// simulated functions (package serve), with cold starts, and every run is billed as it took. It is for one goroutine.
//
// Delays count for each run of a node and each edge taken, whatever [workflow.Delays] say. Run times are lognormal with
// the option's mean and CV.
type Measurer struct {
	model    *Model
	platform Platform
	source   *workload.Source

	walk     *serve.Walk
	variants []int  // that the walk's cold starts are of
	ends     []bool // per node: an edge leads from it to the end
	choice   []int
	laws     []runLaw // per function
	work, id serve.Namer
	from     sim.Time // requests that begin earlier are not measured

	flights []flight // per request in flight
	samples []sample
	took    bill.Always // of one request; a pointer to it is a distribution without an allocation
	scratch []float64
	meter   sim.Meter
}

// runLaw is the lognormal law of a chosen option's run time.
type runLaw struct{ seconds, mu, sigma float64 }

// flight is a request in flight.
type flight struct {
	usd float64
	// visits of nodes; runs on instances, which are all but those of fixed functions; runs that waited for a cold start.
	visits, runs, cold int
}

// sample is a request that has ended.
type sample struct {
	flight
	begun              sim.Time
	run                int32
	seconds, transfers float64
}

// NewMeasurer returns a measurer for a model on a platform under arrivals.
func NewMeasurer(m *Model, p Platform, source *workload.Source) (*Measurer, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("platform: %w", err)
	}
	if source.Closed() {
		return nil, fmt.Errorf("the load is of closed-loop users, want arrivals")
	}
	x := &Measurer{model: m, platform: p, source: source, variants: make([]int, len(m.Options)),
		laws: make([]runLaw, len(m.Options)), choice: make([]int, len(m.Options))}
	x.ends = make([]bool, m.Flow.NumNodes())
	g := m.Flow.Graph()
	for _, e := range g.Edges {
		if e.To == workflow.End {
			x.ends[slices.IndexFunc(g.Nodes, func(n workflow.Node) bool { return n.Name == e.From })] = true
		}
	}
	return x, nil
}

// prepare takes over a choice. It makes a new walk where the cold starts are others: a simulation's laws are fixed.
func (x *Measurer) prepare(choice []int) error {
	if len(choice) != len(x.choice) {
		return fmt.Errorf("a choice for %d functions, want one for each of %d", len(choice), len(x.choice))
	}
	same := x.walk != nil
	for f, c := range choice {
		if c < 0 || c >= len(x.model.Options[f]) {
			return fmt.Errorf("option %d of function %s, want 0 to %d", c, x.model.Flow.Functions()[f],
				len(x.model.Options[f])-1)
		}
		o := &x.model.Options[f][c]
		same = same && (x.variants[f] == o.Variant || x.platform.Loading == 0)
		x.choice[f], x.variants[f], x.laws[f] = c, o.Variant, runLaw{seconds: o.Seconds}
		if o.CV > 0 {
			v := portable.Log1p(o.CV * o.CV)
			x.laws[f].mu, x.laws[f].sigma = -v/2, math.Sqrt(v)
		}
	}
	if same {
		return nil
	}
	c := serve.Config{
		Flow: x.model.Flow, Platform: x.simulation(), Source: x.source,
		Hop:   sim.Seconds(x.model.Delays.Node + x.model.Delays.Edge),
		Hooks: serve.Hooks{Work: x.task, Began: x.began, Ran: x.ran, Ended: x.ended},
	}
	var err error
	x.walk, err = serve.New(c)
	return err
}

// simulation is the platform with the cold starts of the variants chosen.
func (x *Measurer) simulation() sim.Config {
	p := &x.platform
	c := sim.Config{SketchBits: sim.NoSketch, StartRate: p.StartRate}
	for f, name := range x.model.Flow.Functions() {
		if fixed(&x.model.Options[f][0]) {
			c.Functions = append(c.Functions, sim.Function{
				Name: name, Warm: true, Sizing: sim.Sizing{Concurrency: sim.MaxConcurrency, Speed: 1, Min: 1, Max: 1},
				Queue: sim.NoLimit,
			})
			continue
		}
		_, behind := x.model.VariantOptions(f, x.variants[f])
		c.Functions = append(c.Functions, sim.Function{
			Name: name, ColdStart: p.cold(x.model.Options[f][behind-1].Seconds), BindCold: true, Warm: true,
			Queue: sim.NoLimit, KeepAlive: sim.Seconds(p.KeepAlive),
			Sizing: sim.Sizing{Concurrency: 1, Speed: 1, Min: int32(p.Prewarmed), Max: sim.NoLimit},
		})
	}
	return c
}

// task is the time of a run.
func (x *Measurer) task(v *serve.Visit) (seconds float64, id uint64) {
	l := &x.laws[v.Function]
	seconds = l.seconds
	if l.sigma > 0 {
		seconds *= portable.Exp(l.mu + float64(l.sigma*x.work.Key(v).Norm()))
	}
	return seconds, x.id.Key(v).Uint64()
}

func (x *Measurer) began(q serve.Request) {
	for int(q.Run) >= len(x.flights) {
		x.flights = append(x.flights, flight{})
	}
	x.flights[q.Run] = flight{}
}

// ran bills a run.
func (x *Measurer) ran(r *serve.Run) {
	q := &x.flights[r.Request]
	q.visits++
	if fixed(x.option(int(r.Function))) {
		return
	}
	billed := r.Ended - r.Started
	if r.Cold && x.platform.BillCold {
		billed = r.Ended - r.Arrived
	}
	q.usd += x.model.Tariff.Run(x.option(int(r.Function)).MB, billed.Seconds())
	q.runs++
	if r.Cold {
		q.cold++
	}
}

// fixed reports whether an option is that of a fixed function: it takes its time without an instance and costs nothing.
func fixed(o *Option) bool { return o.MB == 0 }

func (x *Measurer) option(f int) *Option { return &x.model.Options[f][x.choice[f]] }

// ended notes a request.
func (x *Measurer) ended(q serve.Request) {
	if q.Begun < x.from {
		return
	}
	seconds := (x.walk.Sim().Now() - q.Begun).Seconds()
	// The walk counts an edge into every node; none leads into the first, and one may lead from the last to the end.
	if !x.ends[q.Last] {
		seconds -= x.model.Delays.Edge
	}
	g := x.flights[q.Run]
	x.took = bill.Always(seconds)
	x.samples = append(x.samples, sample{flight: g, begun: q.Begun, run: q.Run, seconds: seconds,
		transfers: x.model.Orchestration.Request(float64(g.visits), 0, &x.took)})
}

// minutes is a length of minutes, which may be longer than sim.MaxSpan.
func minutes(n float64) sim.Time { return sim.Time(math.Round(n * float64(sim.Minute))) }

// drain bounds the time after a period within which its requests must end.
const drain = 7 * 24 * sim.Hour

// Measure serves a period of the load with a choice of options. It allocates where the choice has other variants than
// the last one, or more requests than ever before.
func (x *Measurer) Measure(choice []int, p Period) (Measured, error) {
	if err := p.validate(x.source.Minutes()); err != nil {
		return Measured{}, err
	}
	if err := x.prepare(choice); err != nil {
		return Measured{}, err
	}
	if err := x.walk.Reset(p.Seed); err != nil {
		return Measured{}, err
	}
	x.work.Set(rng.New(p.Seed, "variants/work"))
	x.id.Set(rng.New(p.Seed, "variants/run"))
	x.samples = x.samples[:0]
	x.from = minutes(p.Warmup)
	until := x.from + minutes(p.Minutes)
	at := int64(p.Start * float64(workload.Minute))
	x.walk.Load(0, at)
	x.walk.Begin(at)
	if x.from > 0 {
		x.walk.Open(x.from)
		if err := x.walk.Run(x.from); err != nil {
			return Measured{}, err
		}
	}
	x.walk.Sim().ResetMeters()
	x.walk.Open(until)
	if err := x.walk.Run(until); err != nil {
		return Measured{}, err
	}
	idle, instances := x.idle()
	x.walk.Close()
	for now := until; x.walk.Live() > 0; {
		if now += sim.Minute; now > until+drain {
			return Measured{}, fmt.Errorf("%d requests have not ended a week after the period", x.walk.Live())
		}
		if err := x.walk.Run(now); err != nil {
			return Measured{}, err
		}
	}
	if len(x.samples) == 0 {
		return Measured{}, fmt.Errorf("no request began in %g minutes from minute %g on", p.Minutes, p.Start+p.Warmup)
	}
	m := x.result(idle)
	m.Instances = instances
	m.Accuracy = x.model.Accuracy(x.variants)
	return m, nil
}

// idle is what instances cost that start or are idle, in the meters' window, and the mean number of all.
func (x *Measurer) idle() (usd, instances float64) {
	for f := range x.model.Options {
		if fixed(x.option(f)) {
			continue
		}
		x.walk.Sim().Meter(f, &x.meter)
		n := x.meter.Instances()
		instances += n
		usd += float64((n - x.meter.BusyInstances()) * x.meter.Seconds() * x.option(f).MB / 1024 * x.platform.IdleGBSecond)
	}
	return usd, instances
}
