package sizing

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// Capacity is the largest steady load that a configuration within the action ranges serves, as a search finds it.
type Capacity struct {
	// Rate is in requests a second: under Poisson arrivals at this rate at most capacityViolated of the windows miss the
	// QoS. It is 0 where the search finds none that is kept at any rate.
	Rate float64 `json:"rate"`
	// Resources is the configuration, one entry per function.
	Resources []Resources `json:"resources"`
	// Trials is the number of configurations simulated.
	Trials int `json:"trials"`
}

const (
	// capacityViolated is the largest share of windows that may miss the QoS.
	capacityViolated = 0.1
	// capacityWindows are simulated in a trial, capacityProof windows under other seeds for the result.
	capacityWindows, capacityProof = 20, 100
	// capacityTrials bounds the search with up to six functions; with more it is shorter, so that it takes seconds.
	capacityTrials = 200
	// Rates that are tried are capacityLow·capacityStep^k.
	capacityLow, capacityStep = 0.01, 1.02
)

// Capacity searches for the largest steady load. It simulates this environment under Poisson arrivals:
//
//  1. Configurations that spread all CPU over the functions in proportion to the work of a request, with several limits
//     of CPU and concurrency, give a first rate by bisection.
//  2. The best of them is changed one function at a time, or CPU is moved from one function to another, as long as that
//     lets it serve a rate 4 % higher.
//  3. Windows under other seeds check the result: the search picks the luckiest of many configurations, so the rate
//     falls in steps of 2 % until these windows keep the QoS too.
//
// The result is a lower bound: another configuration may serve more. docs/traces.md says by how much.
func (c Config) Capacity() (Capacity, error) {
	c.Users, c.Start, c.Warmup, c.Windows, c.Features = nil, 0, 2, capacityWindows, PaperFeatures
	c.Reward = Default().Reward // it does not matter here, and only some features show a dial
	a, err := newApp(&c)
	if err != nil {
		return Capacity{}, err
	}
	s := &capacitySearch{config: c, app: a, seed: 1}
	for f, n := range a.flow.FunctionExecutions() {
		s.demand = append(s.demand, n*a.laws[f].Work)
		s.total += float64(n * a.laws[f].Work)
	}
	best, k, err := s.spread()
	if err != nil || best == nil {
		return Capacity{Trials: s.trials}, err
	}
	if best, k, err = s.climb(best, k); err != nil {
		return Capacity{}, err
	}
	s.config.Windows, s.seed = capacityProof, 2
	for ; k > 0; k-- {
		t, err := s.try(k, best)
		if err != nil {
			return Capacity{}, err
		}
		if t.kept() {
			break
		}
	}
	return Capacity{Rate: rate(k), Resources: best, Trials: s.trials}, nil
}

// capacitySearch is the state of a search.
type capacitySearch struct {
	config Config
	app    *app
	demand []float64 // core-seconds of each function in a request
	total  float64   // their sum
	seed   uint64
	hasty  bool // give up a trial as soon as it misses too often, instead of measuring by how much
	trials int
}

// budget is the number of trials after which the search ends.
func (s *capacitySearch) budget() int { return capacityTrials * 6 / max(6, len(s.demand)) }

// rate is the k-th rate, in requests a second.
func rate(k int) float64 { return capacityLow * math.Pow(capacityStep, float64(k)) }

// trial is how a configuration did at a rate.
type trial struct {
	violated float64 // share of windows
	miss     float64 // by how much they miss the QoS, in the mean
}

func (t trial) kept() bool { return t.violated <= capacityViolated }

// less reports whether t is nearer to keeping the QoS than o.
func (t trial) less(o trial) bool {
	if t.violated == o.violated {
		return t.miss < o.miss
	}
	return t.violated < o.violated
}

// worst is that of a configuration that cannot be deployed.
var worst = trial{1, math.Inf(1)}

// try simulates a configuration at the k-th rate.
func (s *capacitySearch) try(k int, rs []Resources) (trial, error) {
	w := workload.Default()
	w.Kind, w.Rate, w.Length = workload.Poisson, rate(k), (s.config.Windows+s.config.Warmup)/2+1
	e, err := New(s.config, w)
	if err != nil {
		return worst, err
	}
	if e.refused(rs) {
		return worst, nil
	}
	s.trials++
	obs, act, out := envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	n := e.app.rng.Components()
	for f, r := range rs {
		e.app.rng.Encode(r, act.Kinds[0][f*n:(f+1)*n])
	}
	if err := e.Reset(s.seed, nil, obs); err != nil {
		return worst, err
	}
	var t trial
	early := s.config.Windows / 10 // these take the place of a warm-up under the configuration itself
	counted := float64(s.config.Windows - early)
	for i := range s.config.Windows {
		if err := e.Step(act, obs, out); err != nil {
			return worst, err
		}
		if i < early {
			continue
		}
		r := &e.result
		if r.violated {
			t.violated++
		}
		t.miss += max(0, r.latency/e.qos.Latency-1) + max(0, e.qos.Success-r.success)
		if s.hasty && t.violated > capacityViolated*counted {
			return worst, nil
		}
	}
	return trial{t.violated / counted, t.miss / counted}, nil
}

// spread finds the best of the configurations that give every function CPU in proportion to its work, and the highest
// rate that it keeps; nil where none keeps any.
func (s *capacitySearch) spread() ([]Resources, int, error) {
	s.hasty = true
	defer func() { s.hasty = false }()
	most := int(math.Log(s.cores()/s.total/capacityLow) / math.Log(capacityStep)) // a bound: all CPU at work
	var best []Resources
	low, high := 0, most+1 // the best keeps low, nothing keeps high
	for low < high-1 {
		k := (low + high) / 2
		found, err := s.firstKept(k)
		switch {
		case err != nil:
			return nil, 0, err
		case found != nil:
			best, low = found, k
		default:
			high = k
		}
	}
	return best, low, nil
}

// cores is the CPU that a configuration can have.
func (s *capacitySearch) cores() float64 {
	p, r := &s.config.Platform, &s.app.rng
	most := float64(len(s.demand)*r.High.CPU*r.High.Replicas) / 1000
	return min(most, float64(p.Nodes*p.CPU)/1000)
}

// firstKept returns a configuration of the family that keeps the QoS at the k-th rate, nil where there is none.
func (s *capacitySearch) firstKept(k int) ([]Resources, error) {
	rng := &s.app.rng
	limits := []int{rng.Low.Concurrency}
	if rng.Concurrency {
		limits = []int{rng.High.Concurrency, (rng.Low.Concurrency + rng.High.Concurrency) / 2}
	}
	for _, part := range [...]float64{1, 0.9, 0.75} {
		for _, cpu := range [...]float64{1, 0.75, 0.5} {
			for _, limit := range limits {
				rs := s.share(part*s.cores(), int(cpu*float64(rng.High.CPU)), limit)
				if t, err := s.try(k, rs); err != nil || t.kept() {
					return rs, err
				}
			}
		}
	}
	return nil, nil
}

// share gives every function cores in proportion to its work, in replicas of a CPU limit.
func (s *capacitySearch) share(cores float64, cpu, concurrency int) []Resources {
	rng, p := &s.app.rng, &s.config.Platform
	out := make([]Resources, len(s.demand))
	replicas := 0
	for f, d := range s.demand {
		n := int(cores * d / s.total * 1000 / float64(cpu))
		n = min(max(n, rng.Low.Replicas), rng.High.Replicas)
		out[f] = Resources{CPU: cpu, Replicas: n, Concurrency: concurrency}
		replicas += n
	}
	memory := min(rng.High.Memory, max(rng.Low.Memory, p.Nodes*p.Memory/replicas))
	for f := range out {
		out[f].Memory = memory
	}
	return out
}

// climb changes a configuration that keeps the k-th rate so that it keeps higher ones.
func (s *capacitySearch) climb(best []Resources, k int) ([]Resources, int, error) {
	const up = 2 // steps: 4 %
	now := slices.Clone(best)
	score, err := s.try(k+up, now)
	for ; err == nil && score.kept(); score, err = s.try(k+up, now) {
		k, best = k+up, slices.Clone(now)
	}
	for improved := true; err == nil && improved && s.trials < s.budget(); {
		improved = false
		for _, next := range s.changes(now) {
			if s.trials >= s.budget() {
				return best, k, nil
			}
			t, failed := s.try(k+up, next)
			if failed != nil {
				return nil, 0, failed
			}
			if !t.less(score) {
				continue
			}
			now, score, improved = next, t, true
			for ; err == nil && score.kept(); score, err = s.try(k+up, now) {
				k, best = k+up, slices.Clone(now)
			}
		}
	}
	return best, k, err
}

// changes are the configurations next to one: a function with more or less of something, or a replica of one function
// instead of one of another.
func (s *capacitySearch) changes(from []Resources) [][]Resources {
	rng := &s.app.rng
	var out [][]Resources
	add := func(change func(rs []Resources)) {
		rs := slices.Clone(from)
		change(rs)
		for f := range rs {
			r := &rs[f]
			r.CPU = min(max(r.CPU, rng.Low.CPU), rng.High.CPU)
			r.Replicas = min(max(r.Replicas, rng.Low.Replicas), rng.High.Replicas)
			if rng.Concurrency {
				r.Concurrency = min(max(r.Concurrency, rng.Low.Concurrency), rng.High.Concurrency)
			}
		}
		if !slices.Equal(rs, from) {
			out = append(out, rs)
		}
	}
	order := make([]int, len(from)) // functions with the most work for their CPU first
	for f := range order {
		order[f] = f
	}
	slices.SortFunc(order, func(f, g int) int {
		return cmp.Compare(s.demand[g]/float64(from[g].CPU*from[g].Replicas), s.demand[f]/float64(from[f].CPU*from[f].Replicas))
	})
	for i, f := range order {
		add(func(rs []Resources) { rs[f].Replicas++ })
		for _, g := range slices.Backward(order[i+1:]) {
			add(func(rs []Resources) { rs[f].Replicas++; rs[g].Replicas-- })
		}
		if rng.Concurrency {
			add(func(rs []Resources) { rs[f].Concurrency -= 2 })
			add(func(rs []Resources) { rs[f].Concurrency += 2 })
		}
	}
	for _, f := range order {
		add(func(rs []Resources) { rs[f].CPU = rs[f].CPU * 5 / 4 })
		add(func(rs []Resources) { rs[f].CPU, rs[f].Replicas = rs[f].CPU*3/4, rs[f].Replicas*4/3 })
	}
	return out
}
