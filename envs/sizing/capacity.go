package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/cached"
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
	s.bound = capacityViolated
	defer func() { s.bound = 1 }()
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
			s.bound = score.violated
			t, failed := s.try(k+up, next)
			s.bound = 1
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

// capacityVersion changes when the search or the simulation does, so that cached results of others are not taken.
const capacityVersion = 2

// Serves is the rate of [Config.Capacity], in requests a second. It is computed once for a configuration and kept in
// the user's cache folder.
func (c Config) Serves() (float64, error) { return c.serves(nil) }

// serves is the rate of [Config.Capacity], or with users their number in a closed loop, where more users need more
// successes (see [RisingQoS]); their think times and the way they join are as given.
func (c Config) serves(users *workload.UsersConfig) (float64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	if len(c.Workflows) > 0 {
		return least(c.each(), func(c Config) (float64, error) { return c.serves(users) })
	}
	// What does not change the capacity must not part caches.
	k := c
	k.Windows, k.Warmup, k.Start, k.Users, k.Reward, k.Price, k.Features, k.LoadKnown, k.LoadNext, k.Initial = 0, 0, 0, nil,
		Reward{}, Price{}, "", false, false, nil
	key := fmt.Sprintf("%d %s", capacityVersion, state.Settings(k, Default()))
	if users != nil {
		u := *users
		u.Count = 0
		key += fmt.Sprintf(" %+v", u)
	}
	return cached.Number("sizing-capacity", key, func() (float64, error) {
		s, err := newSearch(c, users)
		if err != nil {
			return 0, err
		}
		found, err := s.capacity()
		return found.Rate, err
	})
}

// Serves implements [envs.Loaded]. In a closed loop it is a number of users; it is not known, 0, where the successes
// asked for do not follow from that number.
func (e *Env) Serves() (float64, error) {
	if !e.Closed() {
		return e.cfg.Serves()
	}
	if e.cfg.QoS.Table != RisingQoS || e.cfg.QoS.Count > 0 {
		return 0, nil
	}
	u := e.source.Config().Users
	return e.cfg.serves(&u)
}

// Unmet implements [envs.Demanding]. It searches under the lightest load, or in a closed loop under the configured
// numbers of users.
func (e *Env) Unmet() (string, error) {
	if !e.Closed() {
		s, err := newSearch(e.cfg, nil)
		if err != nil {
			return "", err
		}
		return s.unmet(0, fmt.Sprintf("even at %g requests/s", s.level(0)))
	}
	numbers := e.cfg.Users
	if len(numbers) == 0 {
		numbers = []int{e.walk.Users().Count()}
	}
	for _, n := range numbers {
		u := e.source.Config().Users
		s, err := newSearch(e.cfg, &u)
		if err != nil {
			return "", err
		}
		if n > s.most(n) {
			q := e.cfg.thresholds(e.app, n)
			return fmt.Sprintf("nothing within the action ranges keeps the QoS with %d users: at env.qos.latency of %g s they send "+
				"at least %.3g requests/s, but all CPU at work does at most %.3g", n, q.Latency,
				float64(n)/(q.Latency+u.Think), s.cores()/s.total), nil
		}
		if text, err := s.unmet(n, fmt.Sprintf("with %d users", n)); text != "" || err != nil {
			return text, err
		}
	}
	return "", nil
}

// unmet says which thresholds nothing that a search finds keeps at the k-th level; empty where something does.
func (s *search) unmet(k int, load string) (string, error) {
	_, t, err := s.reach(k)
	if err != nil || t.kept() {
		return "", err
	}
	q := s.env.qos
	var asked, have []string
	add := func(key, unit string, want, got float64, what string) {
		asked = append(asked, fmt.Sprintf("env.qos.%s is %g%s", key, want, unit))
		have = append(have, fmt.Sprintf("%.3g%s", got, what))
	}
	if t.latency > q.Latency {
		add("latency", " s", q.Latency, t.latency, " s")
	}
	if s.closed && t.successes < float64(q.Count) {
		add("count", "", float64(q.Count), t.successes, " successes in a window")
	}
	if t.success < q.Success {
		add("success", "", q.Success, 100*t.success, " % successes")
	}
	text := fmt.Sprintf("nothing within the action ranges keeps the QoS %s: ", load)
	if len(asked) == 0 {
		return text + fmt.Sprintf("env.qos.latency is %g s, and the nearest configuration found misses it in %.0f %% of the windows",
			q.Latency, 100*t.violated), nil
	}
	return text + fmt.Sprintf("%s, but the nearest configuration found has %s", strings.Join(asked, ", "),
		strings.Join(have, ", ")), nil
}

// Workload implements [envs.Loaded]: requests a second by minute, or closed-loop users.
func (e *Env) Workload() envs.Load {
	if e.Closed() {
		l := envs.NewLoad("users", "episode", []float64{float64(e.walk.Users().Count())}, "workload.users.count",
			float64(e.walk.Users().Count()))
		l.Rates = nil
		if n := e.cfg.Users; len(n) > 0 {
			var sum, least, most float64 = 0, math.Inf(1), 0
			for _, u := range n {
				sum, least, most = sum+float64(u), min(least, float64(u)), max(most, float64(u))
			}
			l.Mean, l.Least, l.Most, l.Key = sum/float64(len(n)), least, most, "env.users"
			l.Value = l.Mean
		}
		return l
	}
	w := e.source.Config()
	key, value := "workload.factor", float64(w.Factor)
	loads := e.source.Loads()
	switch { // several loads have several factors that follow
	case len(loads) > 1 && w.Factor == workload.Auto:
		key, value = "workload.target_utilisation", w.TargetUtilisation
	case len(loads) > 1 && w.Mean > 0:
		key, value = "workload.mean", w.Mean
	}
	l := envs.NewLoad("requests/s", "minute", e.source.Rates(), key, value)
	l.Missing = e.source.Missing()
	if !w.Draw.On() {
		return l
	}
	l.Least, l.Most = e.source.Means()
	for i := range loads {
		l.Drawn = append(l.Drawn, envs.DrawnLoad{Name: loads[i].Label(), Factor: float64(loads[i].Factor)})
	}
	return l
}
