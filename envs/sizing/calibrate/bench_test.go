package calibrate

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/rng"
)

// Users returns the load of FaaSConf's static scenarios: n closed-loop users without think time, of whom 10 join
// together every second.
func Users(n int) workload.Config {
	w := workload.Default()
	w.Kind = workload.ClosedLoop
	w.Users = workload.UsersConfig{Count: n, SpawnRate: 10, ThinkLaw: workload.Constant}
	return w
}

// Bench measures configurations, each in one window on a new deployment.
type Bench struct {
	env  *sizing.Env
	obs  *envs.Observation
	act  *envs.Action
	out  *envs.Outcome
	info map[string]int
}

// NewBench returns a bench with the workflow, laws, platform and noise of a configuration.
func NewBench(c sizing.Config, users int) (*Bench, error) {
	c.Windows, c.Warmup, c.Protocol, c.Features, c.Users = 1, 0, sizing.Fresh, sizing.PaperFeatures, nil
	e, err := sizing.New(c, Users(users))
	if err != nil {
		return nil, err
	}
	s := e.Spec()
	b := &Bench{env: e, obs: envs.NewObservation(s), act: envs.NewAction(s), out: envs.NewOutcome(s),
		info: make(map[string]int)}
	for i, q := range s.Info {
		b.info[q.Name] = i
	}
	return b, nil
}

// Measure simulates one window of the action in Action under a seed.
func (b *Bench) Measure(seed uint64) error {
	if err := b.env.Reset(seed, nil, b.obs); err != nil {
		return err
	}
	return b.env.Step(b.act, b.obs, b.out)
}

// Action is the action that the next Measure deploys.
func (b *Bench) Action() []float32 { return b.act.Kinds[0] }

// Configure copies a row's configuration into Action.
func (b *Bench) Configure(row Measured) {
	for f, m := range row.Functions {
		for j, a := range m.Action {
			b.Action()[len(m.Action)*f+j] = float32(a)
		}
	}
}

// Info returns a quantity of the last measurement.
func (b *Bench) Info(name string) float64 { return b.out.Info[b.info[name]] }

// function returns a feature of a function; feature 0 is the first one after the last action.
func (b *Bench) function(f, feature int) float64 {
	k := &b.env.Spec().Kinds[0]
	return float64(b.obs.Kinds[0].Values[f*k.Observation.Width()+k.Action.Width()+feature])
}

// Features after the last action, for function.
const (
	usedCPU = 0
	p75     = 4
	p95     = 5
)

// Levels are FaaSConf's numbers of closed-loop users.
var Levels = []int{10, 15, 20, 25, 30}

// Thresholds returns the QoS of a workflow under a number of users, at the same quantiles of random configurations as
// FaaSConf's QoS for Parallel under 10 users has in the published measurements: its mean latency of 13 s is the upper
// quartile, its 20 successes are one more than the median. Latencies are rounded up to a multiple of 0.5 s, below 5 s
// of 0.1 s. feasible is the fraction of the configurations that meet both thresholds.
func Thresholds(c sizing.Config, users, configurations int) (q sizing.QoS, feasible float64, err error) {
	b, err := NewBench(c, users)
	if err != nil {
		return q, 0, err
	}
	var latency, successes []float64
	s := rng.NewStream(1, "calibrate/thresholds")
	for k := range uint64(configurations) {
		for i := range b.Action() {
			b.Action()[i] = float32(0.2 + 0.8*s.Float64()) // the range of the published actions
		}
		if err := b.Measure(k); err != nil {
			return q, 0, err
		}
		latency = append(latency, b.Info("latency"))
		successes = append(successes, b.Info("successes"))
	}
	unsorted, counts := slices.Clone(latency), slices.Clone(successes)
	q.Latency = QuartilesOf(latency).Upper
	step := 2.0
	if q.Latency < 5 {
		step = 10
	}
	q.Latency = math.Ceil(q.Latency*step) / step
	q.Count = int(QuartilesOf(successes).Median) + 1
	for k, l := range unsorted {
		if l <= q.Latency && counts[k] >= float64(q.Count) {
			feasible += 1 / float64(configurations)
		}
	}
	return q, feasible, nil
}
