package sizing

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/cached"
)

// capacityVersion changes when the search or the simulation does, so that cached results of others are not taken.
const capacityVersion = 2

// Serves is the rate of [Config.Capacity], in requests a second. It is computed once for a configuration and kept in
// the user's cache folder.
func (c Config) Serves() (float64, error) { return c.serves(nil) }

// serves is [Config.Capacity], or, with users, [Config.CapacityUsers].
func (c Config) serves(users *workload.UsersConfig) (float64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	if len(c.Workflows) > 0 {
		return least(c.each(), func(c Config) (float64, error) { return c.serves(users) })
	}
	// What does not change the capacity must not part caches.
	k := c
	k.Windows, k.Warmup, k.Start, k.Users, k.Reward, k.Price, k.Features, k.LoadKnown, k.Initial = 0, 0, 0, nil, Reward{},
		Price{}, "", false, nil
	key := fmt.Sprintf("%d %s", capacityVersion, k.text())
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
