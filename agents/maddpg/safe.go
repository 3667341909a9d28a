package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/safe"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// Safe configures FaaSConf's safe exploration strategy (SES, §4.3): an action whose price is outside the range of past
// good actions is replaced by a good one with noise. It is meant for learning on a live system. In a simulator it
// narrows what can be learned, so it is off by default.
type Safe struct {
	// On turns the strategy on.
	On bool `yaml:"on" json:"on"`
	// Price and Violated name two quantities that the environment reports: a step's price, and a number that is 0 where
	// the step met its objectives.
	Price    string `yaml:"price" json:"price"`
	Violated string `yaml:"violated" json:"violated"`
	// Cheapest is the size of τ, the cheapest steps of the feasible history that define the range, as a share of the
	// history.
	Cheapest float64 `yaml:"cheapest" json:"cheapest" range:"(0,1]"`
	// Deviations is N in the range mean ± N standard deviations of the prices in τ.
	Deviations float64 `yaml:"deviations" json:"deviations" range:"(0,]"`
	// Noise is the standard deviation of the noise added to a safe action. Low and High bound the result.
	Noise float64 `yaml:"noise" json:"noise" range:"[0,]"`
	Low   float64 `yaml:"low" json:"low" range:"[0,1)"`
	High  float64 `yaml:"high" json:"high" range:"(0,1]"`
	// History is the number of feasible steps remembered, MinHistory the number needed before the first range.
	History    int `yaml:"history" json:"history" range:"[1,]"`
	MinHistory int `yaml:"min_history" json:"min_history" range:"[1,]"`
	// Violations is the number of steps that miss their objectives before the range is computed again.
	Violations int `yaml:"violations" json:"violations" range:"[1,]"`
	// LoadStep is the width of a class of loads with a range of its own, in the unit of the quantity load: 5 gives users
	// a range for each 5. A class without enough history has the range of the nearest. 0 is one range for all loads.
	LoadStep float64 `yaml:"load_step" json:"load_step" range:"[0,1e9]"`
}

func defaultSafe() Safe {
	r := safe.Default()
	return Safe{
		Price: "price", Violated: "violated", Cheapest: r.Cheapest, Deviations: r.Deviations, Noise: r.Noise, Low: r.Low,
		High: r.High, History: r.History, MinHistory: r.MinHistory, Violations: r.Violations,
	}
}

func (s *Safe) rule() safe.Rule {
	return safe.Rule{Cheapest: s.Cheapest, Deviations: s.Deviations, Noise: s.Noise, Low: s.Low, High: s.High,
		History: s.History, MinHistory: s.MinHistory, Violations: s.Violations, LoadStep: s.LoadStep}
}

func (s Safe) validate() error {
	switch {
	case !s.On:
		return nil
	case s.Price == "" || s.Violated == "":
		return bounds.Errorf("safe.price", "is %q and safe.violated %q, want names of the environment's quantities", s.Price,
			s.Violated)
	case s.Low >= s.High:
		return bounds.Errorf("safe.low", "is %g, want less than safe.high, %g", s.Low, s.High)
	case s.History < s.MinHistory:
		return bounds.Errorf("safe.min_history", "is %d, want at most safe.history, %d", s.MinHistory, s.History)
	}
	return nil
}

// Pricer is implemented (see envs.As) by environments that know the price of an action before it is used (eq. 2), in
// the unit of the quantity that safe.price names.
type Pricer = safe.Pricer

// guard applies the strategy to what the learner does.
type guard struct {
	*safe.Guard
	c                     *Safe
	p                     *problem
	price, violated, load int // places of the quantities in the environment's info; load is −1 with one range for all

	seen, replaced int64 // actions since the last metrics
}

func newGuard(c *Config, p *problem, s *envs.Spec, seed uint64) (*guard, error) {
	if p.discrete() {
		return nil, fmt.Errorf("maddpg: safe exploration adds noise to actions, but those of %s are choices", s.ID)
	}
	g := &guard{
		Guard: safe.New(c.Safe.rule(), p.agents*p.act, rng.NewStream(seed, "maddpg: safe exploration")),
		c:     &c.Safe, p: p, load: -1,
	}
	var err error
	if g.price, err = s.InfoIndex(c.Safe.Price); err == nil {
		g.violated, err = s.InfoIndex(c.Safe.Violated)
	}
	if err == nil && c.Safe.LoadStep > 0 {
		g.load, err = s.InfoIndex("load")
	}
	if err != nil {
		return nil, fmt.Errorf("maddpg: safe exploration: %w", err)
	}
	return g, nil
}

// filter is eq. 10: it replaces an action whose price is outside the range by a safe one with noise. u is the same
// action as critics see it.
func (g *guard) filter(e envs.Env, a *envs.Action, u []float32) error {
	g.seen++
	load, err := g.loadNow(e)
	if err != nil {
		return err
	}
	if _, _, ok := g.Range(load); !ok {
		return nil
	}
	pricer, ok := envs.As[Pricer](e)
	if !ok {
		return fmt.Errorf("maddpg: safe exploration needs an environment that prices an action before it is used, and "+
			"%s doesn't", e.Spec().ID)
	}
	y, err := pricer.PriceOf(a)
	if err != nil {
		return fmt.Errorf("maddpg: safe exploration: %w", err)
	}
	if !g.Filter(load, y, u) {
		return nil
	}
	g.replaced++
	w, k := g.p.actionCodec.width(), g.p.actionCodec.components()
	for j := range g.p.kind.Agents {
		g.p.Unit(u[j*w:(j+1)*w], a.Kinds[0][j*k:(j+1)*k])
	}
	return nil
}

// loadNow is the load that the agents see, 0 where there is one range for all loads.
func (g *guard) loadNow(e envs.Env) (float64, error) {
	if g.load < 0 {
		return 0, nil
	}
	l, ok := envs.As[safe.Loader](e)
	if !ok {
		return 0, fmt.Errorf("maddpg: safe.load_step needs an environment that knows its load, and %s doesn't", e.Spec().ID)
	}
	return l.LoadNow(), nil
}

// observe adds a step's outcome to the history or, where it missed its objectives, counts it.
func (g *guard) observe(info []float64, u []float32) {
	load := 0.0
	if g.load >= 0 {
		load = info[g.load]
	}
	g.Observe(load, info[g.price], info[g.violated] != 0, u)
}

// replacedShare is the share of actions replaced since the last call.
func (g *guard) replacedShare() float64 {
	share := 0.0
	if g.seen > 0 {
		share = float64(g.replaced) / float64(g.seen)
	}
	g.seen, g.replaced = 0, 0
	return share
}

// State implements [state.Stater].
func (g *guard) State(c *state.Codec) {
	g.Guard.State(c)
	state.Value(c, &g.seen)
	state.Value(c, &g.replaced)
	c.Check(g.seen >= 0 && g.seen <= saved.MaxCount, "safe exploration: %d actions", g.seen)
	c.Check(g.replaced >= 0 && g.replaced <= saved.MaxCount, "safe exploration: %d replaced actions", g.replaced)
}
