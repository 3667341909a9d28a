package sizing

import (
	"testing"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// shares are means over episodes.
type shares struct{ violated, price, latency, success, load, ret float64 }

// episodes runs an actor on the trace with a load factor.
func episodes(t *testing.T, workflow string, factor float64, windows int, seeds uint64,
	actor func(envs.Env) (rollout.Actor, error)) shares {
	t.Helper()
	c := sizing.Default()
	c.Workflow, c.Windows = workflow, windows
	w := workload.Default()
	w.Factor = workload.Factor(factor)
	e := must.Get(sizing.New(c, w))(t)
	a := must.Get(actor(e))(t)
	run := rollout.NewRunner(e)
	var sum shares
	share := 1 / float64(seeds)
	for seed := range seeds {
		ep := must.Get(run.Episode(a, seed))(t)
		for name, to := range map[string]*float64{
			"violated": &sum.violated, "price": &sum.price, "latency": &sum.latency, "success": &sum.success, "load": &sum.load,
		} {
			i := must.Get(e.Spec().InfoIndex(name))(t)
			*to += ep.Info[i] * share
		}
		sum.ret += ep.Return * share
	}
	return sum
}

// baselines are the baselines by name, with their defaults but for what planners try.
func baselines() map[string]func(envs.Env) (rollout.Actor, error) {
	return map[string]func(envs.Env) (rollout.Actor, error){
		"fixed": func(e envs.Env) (rollout.Actor, error) {
			p, err := NewFixed(DefaultFixed(), e)
			return rollout.Actor{Policy: p}, err
		},
		"autoscaler": func(e envs.Env) (rollout.Actor, error) {
			p, err := NewAutoscaler(DefaultAutoscaler(), e)
			return rollout.Actor{Policy: p}, err
		},
		"random-search": func(e envs.Env) (rollout.Actor, error) {
			p, err := NewRandomSearch(DefaultRandomSearch(), e)
			return rollout.Actor{Tuner: p}, err
		},
		"rambo": func(e envs.Env) (rollout.Actor, error) {
			p, err := NewRAMBO(DefaultRAMBO(), e)
			return rollout.Actor{Tuner: p}, err
		},
		"aquatope": func(e envs.Env) (rollout.Actor, error) {
			p, err := NewAquatope(DefaultAquatope(), e)
			return rollout.Actor{Tuner: p}, err
		},
		"oracle": func(e envs.Env) (rollout.Actor, error) {
			c := DefaultOracle()
			c.Budget = 500
			p, err := NewOracle(c, e)
			return rollout.Actor{Planner: p}, err
		},
		"forecast": func(e envs.Env) (rollout.Actor, error) {
			c := DefaultForecast()
			c.Budget = 200
			p, err := NewForecast(c, e)
			return rollout.Actor{Planner: p}, err
		},
	}
}

// At the default factor the oracle keeps the QoS of Parallel in nearly all windows of the embedded trace, and the
// configuration in the middle of the ranges does not.
func TestFactor(t *testing.T) {
	all := baselines()
	oracle := episodes(t, sizing.Parallel, sizing.DefaultFactor, 12, 1, all["oracle"])
	fixed := episodes(t, sizing.Parallel, sizing.DefaultFactor, 40, 4, all["fixed"])
	t.Logf("oracle %+v, fixed %+v", oracle, fixed)
	if oracle.violated > 0.1 {
		t.Errorf("the oracle misses the QoS in %.2f of the windows, want at most 0.1", oracle.violated)
	}
	if fixed.violated < 0.2 {
		t.Errorf("the fixed configuration misses it in %.2f of the windows, want more than 0.2", fixed.violated)
	}
	if oracle.price > 4.5 || oracle.ret < 0 {
		t.Errorf("the oracle pays %.2f USD/h for a return of %.2f: the reward favours missing the QoS", oracle.price, oracle.ret)
	}
}
