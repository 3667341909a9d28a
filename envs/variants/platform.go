package variants

import (
	"errors"
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs/sim"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
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

// Load is a load on an application, the platform that serves it, and what part of it is measured.
type Load struct {
	// Workload says when requests begin: a trace or a process, not closed-loop users.
	Workload workload.Config `yaml:"workload" json:"workload"`
	// Platform is what starts cold, is kept, and is billed.
	Platform Platform `yaml:"platform" json:"platform"`
	// Start is the minute of the workload at which the warm-up begins; requests that begin in the warm-up are served and
	// not measured. Warmup is its length in minutes.
	Start  float64 `yaml:"start" json:"start" range:"[0,1e9]"`
	Warmup float64 `yaml:"warmup" json:"warmup" range:"[0,1e6]"`
	// Minutes is the length of the period that is measured; 0 is all that the workload has.
	Minutes float64 `yaml:"minutes" json:"minutes" range:"[0,1e9]"`
	// Seed names the draws.
	Seed uint64 `yaml:"seed" json:"seed"`
}

// DefaultLoad returns the embedded trace on the default platform, after a warm-up of twice its keep-alive.
func DefaultLoad() Load {
	return Load{Workload: workload.Default(), Platform: DefaultPlatform(), Warmup: 20}
}

// poissonRequests is about how many requests [PoissonLoad] measures.
const poissonRequests = 10_000

// PoissonLoad returns Poisson arrivals at a rate in requests a second on the default platform: about 10,000 requests,
// and an hour of them at least.
func PoissonLoad(rate float64) (Load, error) {
	l := DefaultLoad()
	if !(rate >= 1e-5 && rate <= 1e4) {
		return l, bounds.Errorf("rate", "is %g requests a second, want 1e-5 to 1e4", rate)
	}
	l.Workload.Kind, l.Workload.Rate = workload.Poisson, rate
	l.Workload.Length = int(l.Warmup) + int(math.Ceil(max(60, poissonRequests/(60*rate))))
	return l, nil
}

// Validate reports the first wrong field by its key, that of the workload aside.
func (l *Load) Validate() error {
	if err := bounds.Check(l); err != nil {
		return err
	}
	if l.Workload.Kind == workload.ClosedLoop {
		return bounds.Errorf("workload.kind", "is %s, want arrivals: a trace, or a process such as poisson", l.Workload.Kind)
	}
	err := l.Platform.Validate()
	var w *bounds.Error
	if errors.As(err, &w) {
		return &bounds.Error{Key: "platform." + w.Key, Text: w.Text}
	}
	return err
}

// Measurer returns a measurer for a model under the load, and the period to measure.
func (l Load) Measurer(m *Model) (*Measurer, Period, error) {
	if err := l.Validate(); err != nil {
		return nil, Period{}, err
	}
	source, err := workload.Open(l.Workload)
	if err != nil {
		return nil, Period{}, err
	}
	p := Period{Seed: l.Seed, Start: l.Start, Warmup: l.Warmup, Minutes: l.Minutes}
	if p.Minutes == 0 {
		p.Minutes = float64(source.Minutes()) - l.Start - l.Warmup
		if !(p.Minutes > 0) {
			return nil, p, bounds.Errorf("warmup", "is %g minutes from minute %g on, and the workload has %d: nothing is left "+
				"to measure", l.Warmup, l.Start, source.Minutes())
		}
	}
	if err := p.validate(source.Minutes()); err != nil {
		return nil, p, err
	}
	x, err := NewMeasurer(m, l.Platform, source)
	return x, p, err
}

// Worlds of an environment, as [EnvConfig.World] names them.
const (
	// ByMeans judges plans by the model: mean times and expected prices.
	ByMeans = "means"
	// Served judges plans by what is measured when requests are served: their 95th percentile, with cold starts.
	Served = "served"
)

// Percentile that binds where plans are served.
const percentile = 95

// margins are the parts of the allowed 95th percentile that the mean time can be planned with.
var margins = []float64{0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.85, 1}

// service is the platform and the load that an application is served on.
type service struct {
	*Measurer
	platform Platform
	kind     string
	rate     float64 // requests a second
	period   Period
	// known is the 95th percentile of the quickest plan, by combination of variants; 0 before it was measured.
	known []float64
	// number and requests are what the platform and the load were drawn from.
	number   uint64
	requests int
	load     string
}

// quickest is the key of the 95th percentile of the quickest plan with a combination of variants.
type quickest struct {
	model       *Model
	number      uint64
	requests    int
	load        string
	combination int
}

// serviceOf draws the service of application number n: how long cold starts take, how long idle instances are kept, how
// often requests arrive and how unevenly. load is as [EnvConfig.Load].
func serviceOf(m *Model, n uint64, requests int, load string) (*service, error) {
	key := rng.New(n, "variants/service")
	between := func(i uint64, low, high float64) float64 {
		return low * math.Pow(high/low, key.With(i).Float64())
	}
	s := &service{platform: Platform{ColdStart: between(0, 0.3, 5), ColdCV: 0.3, KeepAlive: between(1, 60, 900)}, number: n,
		requests: requests, load: load}
	s.rate = between(2, 0.1, 20) / s.platform.KeepAlive
	warmup := math.Ceil(s.platform.KeepAlive / 60)
	var source *workload.Source
	var err error
	if load == AzureLoad {
		s.kind = load
		source, s.period, err = ofAzure(key, s.rate, requests, warmup)
	} else {
		s.kind = []string{workload.Poisson, workload.Bursty}[key.With(3).IntN(2)]
		c := workload.Default()
		c.Kind, c.Rate = s.kind, s.rate
		// Bursts and what is between them last as long as instances are kept, so that they matter.
		c.Burst = workload.Burst{Factor: 6, On: max(1, s.platform.KeepAlive/4), Off: max(1, s.platform.KeepAlive)}
		s.period = Period{Warmup: warmup, Minutes: math.Ceil(float64(requests) / s.rate / 60)}
		c.Length = int(s.period.Warmup+s.period.Minutes) + 1
		source, err = workload.Open(c)
	}
	if err != nil {
		return nil, fmt.Errorf("its load: %w", err)
	}
	s.Measurer, err = NewMeasurer(m, s.platform, source)
	return s, err
}

// serve measures a plan of options under the draws of a seed.
func (s *service) serve(choice []int, seed uint64) (Measured, error) {
	p := s.period
	p.Seed = seed
	return s.Measure(choice, p)
}

// cold is the probability that a run of function f finds no instance, were its runs spread like a Poisson process.
func (s *service) cold(f int) float64 {
	return math.Exp(-float64(s.rate * s.model.Runs[f] * s.platform.KeepAlive))
}

// bound draws the 95th percentile that is allowed: above what the quickest plan with the accuracy has, by a part of what
// the cheapest one takes longer.
func (s *service) bound(t *task, n *menu, accuracy float64, part float64) (float64, error) {
	cheap, quick, at := t.extremes(n, accuracy)
	if s.known[at] == 0 {
		p95, err := bestP95.Get(quickest{s.model, s.number, s.requests, s.load, at}, func(quickest) (float64, error) {
			t.fill(t.plan, t.none, n.combinations[at], fastest)
			t.evaluate(t.plan)
			m, err := s.serve(t.choice, rng.New(0, "variants/bound").Uint64())
			return m.P95.Value, err
		})
		if err != nil {
			return 0, err
		}
		s.known[at] = p95
	}
	return float64(1.05*s.known[at]) + float64(2*part*(cheap.Seconds-quick.Seconds)), nil
}

// What cost is worth in reward, and by how much more a percentile counts that is missed by far: a number or, where the
// penalty is drawn, a part of the penalty, so that the penalty is the one price of a miss.
const (
	priced     = 5
	missedBy   = 5
	missedPart = 0.5
)

// measured reports what a plan gave when it was served, and returns its reward: −5 times its cost above that of the
// model's plan without a margin, as a share of it; less, where the percentile is missed, the penalty and far times the
// share by which it is missed, at most 1.
func measured(p *Problem, m *Measured, first Outcome, penalty, far float64, info []float64) float64 {
	out := Outcome{Seconds: m.Mean.Value, USD: m.USD.Value, Accuracy: m.Accuracy}
	keeps := within(m.P95.Value, p.Latency)
	report(p, out, first, keeps, info)
	info[inP95], info[inCold] = m.P95.Value, m.ColdRequests
	reward := -float64(priced * (out.USD/first.USD - 1))
	if !keeps {
		reward -= penalty + float64(far*min(m.P95.Value/p.Latency-1, 1))
	}
	return reward
}

// AzureLoad is the [EnvConfig.Load] of functions of the embedded Azure sample.
const AzureLoad = workload.Azure2019

// fewest is how many invocations a day a function of the sample has at least, to be a load.
const fewest = 200

// ofAzure is the load of a function of the sample, of those with as many invocations a day as the rate or more, thinned to
// the rate: a larger factor than 1 would make bursts that no function had. The day repeats. The period begins at a minute
// of the day, after the warm-up, and ends with the minute that has brought so many requests: few minutes have the most.
func ofAzure(key rng.Key, rate float64, requests int, warmup float64) (*workload.Source, Period, error) {
	t, err := workload.Embedded()
	if err != nil {
		return nil, Period{}, err
	}
	c := workload.Default()
	c.Mean = rate
	daily := rate * 60 * float64(t.Minutes)
	var names []string
	for i := range t.Functions {
		if f := &t.Functions[i]; float64(f.Total()) >= max(fewest, daily) {
			names = append(names, f.Name)
		}
	}
	c.Functions.Names = []string{names[key.With(4).IntN(len(names))]}
	p := Period{Start: float64(key.With(5).IntN(t.Minutes)), Warmup: warmup}
	from := int(p.Start + p.Warmup)
	source, err := workload.Open(c)
	if err == nil { // a day more than the period can last
		source, err = source.Repeat(from + t.Minutes*(2+int(math.Ceil(float64(requests)/daily))))
	}
	if err != nil {
		return nil, p, err
	}
	for n := 0.0; n < float64(requests); p.Minutes++ {
		n += source.Expected(0, from+int(p.Minutes))
	}
	return source, p, nil
}
