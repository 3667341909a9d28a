package variants

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

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
}

// quickest is the key of the 95th percentile of the quickest plan with a combination of variants.
type quickest struct {
	model       *Model
	number      uint64
	requests    int
	combination int
}

// serviceOf draws the service of application number n: how long cold starts take, how long idle instances are kept, how
// often requests arrive and how unevenly.
func serviceOf(m *Model, n uint64, requests int) (*service, error) {
	key := rng.New(n, "variants/service")
	between := func(i uint64, low, high float64) float64 {
		return low * math.Pow(high/low, key.With(i).Float64())
	}
	s := &service{platform: Platform{ColdStart: between(0, 0.3, 5), ColdCV: 0.3, KeepAlive: between(1, 60, 900)}, number: n,
		requests: requests}
	s.rate = between(2, 0.1, 20) / s.platform.KeepAlive
	s.kind = []string{workload.Poisson, workload.Bursty}[key.With(3).IntN(2)]
	c := workload.Default()
	c.Kind, c.Rate = s.kind, s.rate
	// Bursts and what is between them last as long as instances are kept, so that they matter.
	c.Burst = workload.Burst{Factor: 6, On: max(1, s.platform.KeepAlive/4), Off: max(1, s.platform.KeepAlive)}
	s.period = Period{Warmup: math.Ceil(s.platform.KeepAlive / 60), Minutes: math.Ceil(float64(requests) / s.rate / 60)}
	c.Length = int(s.period.Warmup+s.period.Minutes) + 1
	source, err := workload.Open(c)
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
		p95, err := shared(quickest{s.model, s.number, s.requests, at}, func() (float64, error) {
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

// What cost is worth in reward, and by how much more a percentile counts that is missed by far.
const (
	priced   = 5
	missedBy = 5
)

// measured reports what a plan gave when it was served, and returns its reward: −5 times its cost above that of the
// model's plan without a margin, as a share of it; less the penalty and 5 times the share by which the percentile is
// missed, at most 1, where it is.
func measured(p *Problem, m *Measured, first Outcome, penalty float64, info []float64) float32 {
	out := Outcome{Seconds: m.Mean.Value, USD: m.USD.Value, Accuracy: m.Accuracy}
	keeps := within(m.P95.Value, p.Latency)
	report(p, out, first, keeps, info)
	info[inP95], info[inCold] = m.P95.Value, m.ColdRequests
	reward := -float64(priced * (out.USD/first.USD - 1))
	if !keeps {
		reward -= penalty + float64(missedBy*min(m.P95.Value/p.Latency-1, 1))
	}
	return float32(reward)
}
