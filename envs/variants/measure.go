package variants

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

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

// quantity is what a problem's percentile is of what was measured.
func (m *Measured) quantity(percentile float64) (*Interval, error) {
	switch percentile {
	case 0:
		return &m.Mean, nil
	case 50:
		return &m.P50, nil
	case 95:
		return &m.P95, nil
	case 99:
		return &m.P99, nil
	}
	return nil, fmt.Errorf("the percentile is %g, want 50, 95 or 99, or 0 for the mean", percentile)
}

// Solve searches for the cheapest plan whose response time, as measured, is within a problem's latency: the optimum of
// the mean model with the margin that fits. It goes along the model's exact trade-offs between mean time and cost
// ([Model.Front]) and takes the slowest plan that keeps the bound, found by bisection and then among the slower ones
// next to it, since what is measured does not rise with the mean everywhere. The plan kept the bound in this period;
// on other draws it may miss it by about its interval. A plan off the front could be cheaper: means know nothing of
// cold starts.
//
// The objective is [Cost]; a budget is not read. Where not even the fastest plan keeps the bound the error says what it
// has.
func (x *Measurer) Solve(ctx context.Context, p Problem, d Period) (Plan, Measured, error) {
	if p.Objective != Cost || !(p.Latency > 0) {
		return Plan{}, Measured{}, fmt.Errorf("the objective is %s with a latency of %g s, want %s with a latency",
			p.Objective, p.Latency, Cost)
	}
	if err := p.Validate(); err != nil {
		return Plan{}, Measured{}, err
	}
	front, err := x.model.Front(ctx, p.Accuracy)
	if err != nil {
		return Plan{}, Measured{}, err
	}
	if len(front) == 0 {
		_, err := x.model.Solve(ctx, p)
		return Plan{}, Measured{}, err
	}
	var best Measured
	found := -1
	try := func(i int) bool {
		if err != nil || ctx.Err() != nil {
			return false
		}
		var m Measured
		if m, err = x.Measure(front[i].Choice, d); err != nil {
			return false
		}
		var q *Interval
		if q, err = m.quantity(p.Percentile); err != nil || q.Value > p.Latency {
			return false
		}
		if i > found {
			best, found = m, i
		}
		return true
	}
	slow := sort.Search(len(front), func(i int) bool { return !try(i) })
	for i := slow + 1; i < min(slow+neighbours, len(front)); i++ {
		try(i)
	}
	switch {
	case ctx.Err() != nil:
		return Plan{}, Measured{}, ctx.Err()
	case err != nil:
		return Plan{}, Measured{}, err
	case found < 0:
		m, err := x.Measure(front[0].Choice, d)
		if err != nil {
			return Plan{}, Measured{}, err
		}
		q, err := m.quantity(p.Percentile)
		if err != nil {
			return Plan{}, Measured{}, err
		}
		return Plan{}, Measured{}, fmt.Errorf("nothing on the model's front keeps %g s here: the fastest plan takes %.4g s, "+
			"with a cold start in %.3g %% of the requests", p.Latency, q.Value, 100*m.ColdRequests)
	}
	return front[found], best, nil
}

// neighbours is how many slower plans are tried beside the one that bisection finds.
const neighbours = 8
