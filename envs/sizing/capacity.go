package sizing

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs/workload"
)

// Capacity is the largest steady load that a configuration within the action ranges serves, as a search finds it.
type Capacity struct {
	// Rate is in requests a second: under Poisson arrivals at this rate at most capacityViolated of the windows miss the
	// QoS. In a closed loop it is a number of users. It is 0 where the search finds none that is kept at any rate.
	Rate float64 `json:"rate"`
	// Resources is the configuration, one entry per function.
	Resources []Resources `json:"resources"`
	// Trials is the number of configurations simulated.
	Trials int `json:"trials"`
}

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
	s, err := newSearch(c, nil)
	if err != nil {
		return Capacity{}, err
	}
	return s.capacity()
}

// CapacityUsers is Capacity in a closed loop, where more users need more successes (see [RisingQoS]). Load is a number
// of users; their think times and the way they join are as given.
func (c Config) CapacityUsers(users workload.UsersConfig) (Capacity, error) {
	s, err := newSearch(c, &users)
	if err != nil {
		return Capacity{}, err
	}
	return s.capacity()
}

func (s *search) capacity() (Capacity, error) {
	best, k, err := s.spread()
	if err != nil || best == nil {
		return Capacity{Trials: s.trials}, err
	}
	if best, k, err = s.climb(best, k); err != nil {
		return Capacity{}, err
	}
	s.config.Windows, s.seed = capacityProof, 2
	if s.wide() {
		s.config.Windows = 2 * capacityWindows
	}
	for ; k > 0; k-- {
		t, err := s.try(k, best)
		if err != nil {
			return Capacity{}, err
		}
		if t.kept() {
			break
		}
	}
	return Capacity{Rate: s.level(k), Resources: best, Trials: s.trials}, nil
}

// spread finds the best of the configurations that give every function CPU in proportion to its work, and the highest
// level that it keeps; nil where none keeps any.
func (s *search) spread() ([]Resources, int, error) {
	s.hasty = true
	defer func() { s.hasty = false }()
	var best []Resources
	low, high := 0, s.most(0)+1 // the best keeps low, nothing keeps high
	near := 1
	if s.wide() && !s.closed {
		near = 5 // levels, 10 %
	}
	for low < high-near {
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

// most is a level above which nothing is served: all CPU is at work. In a closed loop the throughput is at least the
// number of users over the time from one request of theirs to the next (Little's law); near is about their number, for
// the latency.
func (s *search) most(near int) int {
	rate := s.cores() / s.total
	if s.closed {
		return int(min(1<<16, rate*(s.config.thresholds(s.app, max(1, near)).Latency+s.users.Think)))
	}
	return int(math.Log(rate/capacityLow) / math.Log(capacityStep))
}

// climb changes a configuration that keeps the k-th level so that it keeps higher ones.
func (s *search) climb(best []Resources, k int) ([]Resources, int, error) {
	up := s.up()
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
func (s *search) changes(from []Resources) [][]Resources {
	rng := &s.app.rng
	var out [][]Resources
	add := func(change func(rs []Resources)) {
		if rs := rng.with(from, change); rs != nil {
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
	order = order[:min(len(order), capacityChanged)]
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
