package sizing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/cached"
)

// capacityVersion changes when the search or the simulation does, so that cached results of others are not taken.
const capacityVersion = 1

// Serves is the rate of [Config.Capacity], in requests a second. It is computed once for a configuration and kept in
// the user's cache folder.
func (c Config) Serves() (float64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	if len(c.Workflows) > 0 {
		return least(c.each(), Config.Serves)
	}
	// What does not change the capacity must not part caches.
	k := c
	k.Windows, k.Warmup, k.Start, k.Users, k.Reward, k.Price, k.Features, k.LoadKnown, k.Initial = 0, 0, 0, nil, Reward{},
		Price{}, "", false, nil
	return cached.Number("sizing-capacity", fmt.Sprintf("%d %s %+v", capacityVersion, ID, k), func() (float64, error) {
		found, err := c.Capacity()
		return found.Rate, err
	})
}

// Serves implements [envs.Loaded]. With closed-loop users it is not known.
func (e *Env) Serves() (float64, error) {
	if e.Closed() {
		return 0, nil
	}
	return e.cfg.Serves()
}

// Workload implements [envs.Loaded]: requests a second by minute, or closed-loop users.
func (e *Env) Workload() envs.Load {
	if e.Closed() {
		l := envs.NewLoad("users", "episode", []float64{float64(e.users.Count())}, "workload.users.count",
			float64(e.users.Count()))
		l.Rates = nil
		if n := e.cfg.Users; len(n) > 0 {
			var sum, least, most float64 = 0, math.Inf(1), 0
			for _, u := range n {
				sum, least, most = sum+float64(u), min(least, float64(u)), max(most, float64(u))
			}
			l.Mean, l.Least, l.Most, l.Key = sum/float64(len(n)), least, most, "env.users"
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
