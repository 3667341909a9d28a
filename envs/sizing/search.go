package sizing

import (
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
)

// search tries configurations under levels of load: the k-th rate of Poisson arrivals, or k users.
type search struct {
	config Config
	app    *app
	closed bool
	users  workload.UsersConfig // in a closed loop
	demand []float64            // core-seconds of each function in a request
	total  float64              // their sum
	seed   uint64
	bound  float64 // share of violated windows above which a trial is given up: it cannot win any more
	trials int
	// env is the environment of the last trial, at its level and number of windows.
	env         *Env
	at, windows int
	obs         *envs.Observation
	act         *envs.Action
	out         *envs.Outcome
}

// newSearch prepares a search; in a closed loop users says how they think and join, else it is nil.
func newSearch(c Config, users *workload.UsersConfig) (*search, error) {
	c.Users, c.Start, c.Warmup, c.Windows, c.Features = nil, 0, 2, capacityWindows, PaperFeatures
	c.Reward = Default().Reward // it does not matter here, and only some features show a dial
	a, err := newApp(&c)
	if err != nil {
		return nil, err
	}
	s := &search{config: c, app: a, seed: 1, bound: 1}
	if users != nil {
		s.closed, s.users = true, *users
	}
	for f, n := range a.flow.FunctionExecutions() {
		s.demand = append(s.demand, n*a.laws[f].Work)
		s.total += float64(n * a.laws[f].Work)
	}
	return s, nil
}

const (
	// capacityViolated is the largest share of windows that may miss the QoS.
	capacityViolated = 0.1
	// capacityWindows are simulated in a trial, capacityProof windows under other seeds for the result.
	capacityWindows, capacityProof = 20, 100
	// capacityTrials bounds the search with up to six functions; with more it is shorter, so that it takes seconds.
	capacityTrials = 200
	// capacityChanged is the number of functions that are changed, those with the most work for their CPU.
	capacityChanged = 24
	// Rates that are tried are capacityLow·capacityStep^k.
	capacityLow, capacityStep = 0.01, 1.02
)

// wide reports whether there are so many functions that a search must try less to end within a minute or so.
func (s *search) wide() bool { return len(s.demand) > capacityChanged }

// budget is the number of trials after which the search ends.
func (s *search) budget() int { return capacityTrials * 6 / max(6, len(s.demand)) }

// level is the k-th load: requests a second, or users.
func (s *search) level(k int) float64 {
	if s.closed {
		return float64(k)
	}
	return capacityLow * math.Pow(capacityStep, float64(k))
}

// up is the number of levels by which a search raises the load at a time: 4 %, or a user.
func (s *search) up() int {
	if s.closed {
		return 1
	}
	return 2
}

// trial is how a configuration did at a level.
type trial struct {
	violated float64 // share of windows
	miss     float64 // by how much they miss the QoS, in the mean
	// latency is the mean of all successes, successes their number in a window, success their share.
	latency, successes, success float64
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
var worst = trial{violated: 1, miss: math.Inf(1)}

// open makes the environment of the k-th level.
func (s *search) open(k int) error {
	if s.env != nil && s.at == k && s.windows == s.config.Windows {
		return nil
	}
	w := workload.Default()
	if s.closed {
		w.Kind, w.Users = workload.ClosedLoop, s.users
		w.Users.Count = k
	} else {
		w.Kind, w.Rate, w.Length = workload.Poisson, s.level(k), (s.config.Windows+s.config.Warmup)/2+1
	}
	e, err := New(s.config, w)
	if err != nil {
		return err
	}
	s.env, s.at, s.windows = e, k, s.config.Windows
	s.obs, s.act, s.out = envs.NewObservation(e.spec), envs.NewAction(e.spec), envs.NewOutcome(e.spec)
	return nil
}

// try simulates a configuration at the k-th level.
func (s *search) try(k int, rs []Resources) (trial, error) {
	if err := s.open(k); err != nil {
		return worst, err
	}
	e := s.env
	if e.refused(rs) {
		return worst, nil
	}
	s.trials++
	n := e.app.rng.Components()
	for f, r := range rs {
		e.app.rng.Encode(r, s.act.Kinds[0][f*n:(f+1)*n])
	}
	if err := e.Reset(s.seed, nil, s.obs); err != nil {
		return worst, err
	}
	var t trial
	early := s.config.Windows / 10 // these take the place of a warm-up under the configuration itself
	counted := float64(s.config.Windows - early)
	ended := 0.0
	for i := range s.config.Windows {
		if err := e.Step(s.act, s.obs, s.out); err != nil {
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
		if s.closed {
			t.miss += max(0, 1-float64(r.successes)/float64(max(1, e.qos.Count)))
		}
		t.latency += float64(float64(r.successes) * r.latency)
		t.successes += float64(r.successes)
		ended += float64(r.successes + r.failed)
		if t.violated/counted > s.bound {
			return worst, nil
		}
	}
	t.latency, t.success = t.latency/max(1, t.successes), t.successes/max(1, ended)
	t.violated, t.miss, t.successes = t.violated/counted, t.miss/counted, t.successes/counted
	return t, nil
}

// cores is the CPU that a configuration can have.
func (s *search) cores() float64 {
	p, r := &s.config.Platform, &s.app.rng
	most := float64(len(s.demand)*r.High.CPU*r.High.Replicas) / 1000
	return min(most, float64(s.app.machines(p)*p.CPU)/1000)
}

// share gives every function cores in proportion to its work, in replicas of a CPU limit.
func (s *search) share(cores float64, cpu, concurrency int) []Resources {
	rng, p := &s.app.rng, &s.config.Platform
	out := make([]Resources, len(s.demand))
	replicas := 0
	for f, d := range s.demand {
		n := int(cores * d / s.total * 1000 / float64(cpu))
		n = min(max(n, rng.Low.Replicas), rng.High.Replicas)
		out[f] = Resources{CPU: cpu, Replicas: n, Concurrency: concurrency}
		replicas += n
	}
	memory := min(rng.High.Memory, max(rng.Low.Memory, s.app.machines(p)*p.Memory/replicas))
	for f := range out {
		out[f].Memory = memory
	}
	return out
}

// family are the configurations that give every function CPU in proportion to its work, the richest first.
func (s *search) family() [][]Resources {
	rng := &s.app.rng
	limits := []int{rng.Low.Concurrency}
	if rng.Concurrency {
		limits = []int{rng.High.Concurrency, (rng.Low.Concurrency + rng.High.Concurrency) / 2}
	}
	parts, cpus := []float64{1, 0.9, 0.75}, []float64{1, 0.75, 0.5}
	if s.wide() {
		parts, cpus, limits = parts[:2], cpus[:1], limits[:1]
	}
	var out [][]Resources
	for _, part := range parts {
		for _, cpu := range cpus {
			for _, limit := range limits {
				out = append(out, s.share(part*s.cores(), int(cpu*float64(rng.High.CPU)), limit))
			}
		}
	}
	return out
}

// firstKept returns a configuration of the family that keeps the QoS at the k-th level, nil where there is none.
func (s *search) firstKept(k int) ([]Resources, error) {
	for _, rs := range s.family() {
		if t, err := s.try(k, rs); err != nil || t.kept() {
			return rs, err
		}
	}
	return nil, nil
}

// reach searches for a configuration that keeps the QoS at the k-th level: it takes the nearest of the family and changes
// it one function at a time. It returns the nearest configuration where none keeps it.
func (s *search) reach(k int) ([]Resources, trial, error) {
	var best []Resources
	score := worst
	defer func() { s.bound = 1 }()
	for _, rs := range s.family() {
		s.bound = score.violated
		t, err := s.try(k, rs)
		if err != nil {
			return nil, worst, err
		}
		if best == nil || t.less(score) {
			best, score = rs, t
		}
		if t.kept() {
			return best, score, nil
		}
	}
	for improved := true; improved; {
		improved = false
		for _, next := range s.changes(best) {
			if s.trials >= s.budget() {
				return best, score, nil
			}
			s.bound = score.violated
			t, err := s.try(k, next)
			if err != nil {
				return nil, worst, err
			}
			if t.kept() {
				return next, t, nil
			}
			if t.less(score) {
				best, score, improved = next, t, true
				break
			}
		}
	}
	return best, score, nil
}

// clip brings a configuration into the action ranges.
func (r *Range) clip(rs []Resources) {
	for f := range rs {
		x := &rs[f]
		x.CPU = min(max(x.CPU, r.Low.CPU), r.High.CPU)
		x.Memory = min(max(x.Memory, r.Low.Memory), r.High.Memory)
		x.Replicas = min(max(x.Replicas, r.Low.Replicas), r.High.Replicas)
		if !r.Concurrency {
			x.Concurrency = r.Low.Concurrency
			continue
		}
		x.Concurrency = min(max(x.Concurrency, r.Low.Concurrency), r.High.Concurrency)
	}
}

// with returns a changed copy of a configuration, within the ranges; nil where nothing changes.
func (r *Range) with(from []Resources, change func(rs []Resources)) []Resources {
	rs := slices.Clone(from)
	change(rs)
	if r.clip(rs); slices.Equal(rs, from) {
		return nil
	}
	return rs
}
