package sizing

import (
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/state"
)

// trials is what every search has: a budget of windows, and the best configuration of those it tried. Rows that it is
// told before its first proposal are a library's: they take nothing of the budget and are never held.
type trials struct {
	world
	env                    *sizing.Env
	windows                int
	at                     places
	begun                  bool // has proposed
	tried                  int
	feasible               bool
	bestPrice, bestSuccess float64
	best                   []float32
}

// places are those of quantities in an outcome's info.
type places struct{ price, violated, latency, success, successes, load int }

func newTrials(name string, windows int, env envs.Env) (trials, error) {
	p := trials{windows: windows}
	var err error
	if p.env, p.world, err = newWorld(name, env); err != nil {
		return p, err
	}
	for _, x := range []struct {
		name string
		at   *int
	}{
		{"price", &p.at.price}, {"violated", &p.at.violated}, {"latency", &p.at.latency}, {"success", &p.at.success},
		{"successes", &p.at.successes}, {"load", &p.at.load},
	} {
		if *x.at, err = p.spec.InfoIndex(x.name); err != nil {
			return p, err
		}
	}
	p.best = make([]float32, p.n*p.rng.Components())
	p.reset()
	return p, nil
}

func (p *trials) reset() {
	p.begun, p.tried, p.feasible, p.bestPrice, p.bestSuccess = false, 0, false, math.Inf(1), -1
}

// holds writes the best configuration where the budget is spent, and reports whether it did.
func (p *trials) holds(act *envs.Action) bool {
	p.begun = true
	if p.tried < p.windows {
		return false
	}
	copy(act.Kinds[0], p.best)
	return true
}

// count notes what a trial gave: the cheapest that kept the QoS is held, and where none did the one with the largest
// share of successes, the cheapest of several, because the search must run something.
func (p *trials) count(act *envs.Action, out *envs.Outcome) {
	if !p.begun || p.tried >= p.windows {
		return
	}
	p.tried++
	price, success, feasible := out.Info[p.at.price], out.Info[p.at.success], out.Info[p.at.violated] == 0
	better := feasible && !p.feasible || feasible == p.feasible && price < p.bestPrice &&
		(feasible || success >= p.bestSuccess) ||
		!feasible && !p.feasible && success > p.bestSuccess
	if better {
		p.feasible, p.bestPrice, p.bestSuccess = feasible, price, success
		copy(p.best, act.Kinds[0])
	}
}

// State implements [state.Stater].
func (p *trials) State(c *state.Codec) {
	state.Value(c, &p.begun)
	state.Value(c, &p.tried)
	state.Value(c, &p.feasible)
	state.Value(c, &p.bestPrice)
	state.Value(c, &p.bestSuccess)
	state.Fixed(c, p.best)
	c.Check(p.tried >= 0 && p.tried <= p.windows, "%d configurations tried, want 0 to %d", p.tried, p.windows)
	for i, x := range p.best {
		c.Check(x >= 0 && x <= 1, "number %d of the best configuration is %g, want 0 to 1", i, x)
	}
}
