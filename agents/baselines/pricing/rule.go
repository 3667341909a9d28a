package pricing

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/baselines/internal/kept"
	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

const ruleName = "price-rule"

// RuleConfig configures [Rule].
type RuleConfig struct {
	// File is one that stoker search price-rule wrote; its numbers take the place of the others.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Sees is fixed (no column: fixed prices), day (sine and cosine of the day) or market (also the columns of the
	// switches of env.market that are on).
	Sees string `yaml:"sees" json:"sees" oneof:"fixed|day|market"`
	// Prices and KeepAlive are those of the tiers where every column is at its usual value. Empty takes env's prices and
	// baselines.
	Prices    []float64 `yaml:"prices,omitempty" json:"prices,omitempty" range:"[0,1e6]"`
	KeepAlive []float64 `yaml:"keep_alive,omitempty" json:"keep_alive,omitempty" range:"[0,65536]"`
	// PriceWeights and KeepAliveWeights say by which share of itself a price, or a tier's keep-alive vGPUs, rises where a
	// column is 1 above its usual value. One of each for every column; empty is 0.
	PriceWeights     []float64 `yaml:"price_weights,omitempty" json:"price_weights,omitempty" range:"[-100,100]"`
	KeepAliveWeights []float64 `yaml:"keep_alive_weights,omitempty" json:"keep_alive_weights,omitempty" range:"[-100,100]"`
}

// DefaultRule returns fixed prices, the environment's own.
func DefaultRule() RuleConfig { return RuleConfig{Sees: "fixed"} }

// Rule sets prices and keep-alive vGPUs that are linear in observed columns: what few numbers can do that cross-entropy
// search finds ([RuleSpace]). It has no state.
type Rule struct {
	kept.Policy
	c       RuleConfig
	box     envs.Box
	columns []ruleColumn
}

// ruleColumn is where a column is in the observation, and its usual value.
type ruleColumn struct {
	name  string
	at    int
	usual float64
}

// ruleColumns are the columns that a rule sees in an environment.
func ruleColumns(sees string, e *pricing.Pricing) (out []ruleColumn) {
	names := map[string]float64{}
	if sees != "fixed" {
		names["sine of day"], names["cosine of day"] = 0, 0
	}
	if sees == "market" {
		names["realised demand"], names["capacity"], names["rival price"] = 1, 1, e.Config().Market.Rival.Price
	}
	for i, f := range e.Spec().Kinds[0].Features {
		if usual, ok := names[f]; ok {
			out = append(out, ruleColumn{f, i, usual})
		}
	}
	return out
}

// NewRule returns a policy for environments such as env.
func NewRule(c RuleConfig, env envs.Env) (*Rule, error) {
	e, ok := envs.As[*pricing.Pricing](env)
	if !ok {
		return nil, fmt.Errorf("%s: acts in %s only, not in %s", ruleName, pricing.ID, env.Spec().ID)
	}
	if c.File != "" {
		read, err := crossentropy.Read[RuleConfig](ruleName, c.File)
		if err != nil {
			return nil, err
		}
		c = read
	}
	if err := bounds.Check(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", ruleName, err)
	}
	r := &Rule{c: c, box: e.Spec().Kinds[0].Action.(envs.Box), columns: ruleColumns(c.Sees, e)}
	r.Policy = kept.As(ruleName, r)
	if len(c.Prices) == 0 {
		r.c.Prices = e.Config().Prices
	}
	if len(c.KeepAlive) == 0 {
		for _, n := range e.Config().Baselines {
			r.c.KeepAlive = append(r.c.KeepAlive, float64(n))
		}
	}
	tiers, n := len(e.Config().Tiers), len(r.columns)
	keys, want := [...]string{"prices", "keep_alive", "price_weights", "keep_alive_weights"}, [...]int{tiers, tiers, n, n}
	for i, list := range [...]*[]float64{&r.c.Prices, &r.c.KeepAlive, &r.c.PriceWeights, &r.c.KeepAliveWeights} {
		if len(*list) == 0 {
			*list = make([]float64, want[i])
		}
		if len(*list) != want[i] {
			return nil, fmt.Errorf("%s: %w", ruleName, bounds.Errorf(keys[i], "has %d numbers, want %d", len(*list), want[i]))
		}
	}
	return r, nil
}

// Act implements [envs.Policy].
func (r *Rule) Act(obs *envs.Observation, act *envs.Action, _ bool) error {
	price, keep := 1.0, 1.0
	for i, c := range r.columns {
		x := float64(obs.Kinds[0].Values[c.at]) - c.usual
		price += float64(r.c.PriceWeights[i] * x)
		keep += float64(r.c.KeepAliveWeights[i] * x)
	}
	n, a := len(r.c.Prices), act.Kinds[0]
	for m := range n {
		a[m] = float32(r.c.Prices[m] * price)
		a[n+m] = float32(int(max(0, r.c.KeepAlive[m]*keep) + 0.5))
	}
	for i := range a {
		a[i] = min(max(a[i], r.box.Low[i]), r.box.High[i])
	}
	return nil
}

// RuleSpace says which numbers a search tries: prices and keep-alive vGPUs of the tiers, and two weights for each column.
func RuleSpace(c RuleConfig, env envs.Env) (*crossentropy.Space, error) {
	r, err := NewRule(c, env)
	if err != nil {
		return nil, err
	}
	s, n, k := &crossentropy.Space{}, len(r.c.Prices), len(r.columns)
	add := func(name string, start, spread, low, high float64) {
		s.Names, s.Start, s.Spread = append(s.Names, name), append(s.Start, min(max(start, low), high)), append(s.Spread, spread)
		s.Low, s.High = append(s.Low, low), append(s.High, high)
	}
	for m, x := range slices.Concat(r.c.Prices, r.c.KeepAlive) {
		low, high := float64(r.box.Low[m]), float64(r.box.High[m])
		add(fmt.Sprintf("%s of tier %d", [...]string{"price", "keep-alive"}[m/n], m%n+1), x, (high-low)/4, low, high)
	}
	for i, x := range slices.Concat(r.c.PriceWeights, r.c.KeepAliveWeights) {
		add([...]string{"price by ", "keep-alive by "}[i/max(k, 1)]+r.columns[i%k].name, x, 0.3, -5, 5)
	}
	s.Config = func(x []float64) any {
		return &RuleConfig{Sees: r.c.Sees, Prices: slices.Clone(x[:n]), KeepAlive: slices.Clone(x[n : 2*n]),
			PriceWeights: slices.Clone(x[2*n : 2*n+k]), KeepAliveWeights: slices.Clone(x[2*n+k:])}
	}
	return s, nil
}

const hindsightName = "fixed-hindsight"

// HindsightConfig configures [Hindsight].
type HindsightConfig struct {
	// Prices and KeepAlive are the fixed ones from which the search starts, and which it can only better. Empty takes
	// env's prices and baselines.
	Prices    []float64 `yaml:"prices,omitempty" json:"prices,omitempty" range:"[0,1e6]"`
	KeepAlive []float64 `yaml:"keep_alive,omitempty" json:"keep_alive,omitempty" range:"[0,65536]"`
	// Spread is the spread of the first draws, as a share of that of stoker search price-rule.
	Spread float64 `yaml:"spread" json:"spread" range:"(0,1]"`
	// Population and Generations are those of the search; each candidate plays the episode once.
	Population  int `yaml:"population" json:"population" range:"[4,1e6]"`
	Generations int `yaml:"generations" json:"generations" range:"[1,1e6]"`
}

// DefaultHindsight returns a search of 384 episodes.
func DefaultHindsight() HindsightConfig {
	return HindsightConfig{Spread: 1, Population: 24, Generations: 16}
}

// Hindsight holds the prices and keep-alive vGPUs that earn most in the very episode that it plays: when the episode
// begins, it searches for them on copies of the world, whose future is the episode's. It bounds what fixed prices can do.
type Hindsight struct {
	c     HindsightConfig
	space *crossentropy.Space
	spare *pricing.Pricing
	obs   *envs.Observation
	act   *envs.Action
	out   *envs.Outcome
	best  []float64 // empty before the search
}

// NewHindsight returns a planner for environments such as env.
func NewHindsight(c HindsightConfig, env envs.Env) (*Hindsight, error) {
	if err := bounds.Check(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", hindsightName, err)
	}
	e, ok := envs.As[*pricing.Pricing](env)
	if !ok {
		return nil, fmt.Errorf("%s: acts in %s only, not in %s", hindsightName, pricing.ID, env.Spec().ID)
	}
	space, err := RuleSpace(RuleConfig{Sees: "fixed", Prices: c.Prices, KeepAlive: c.KeepAlive}, env)
	if err != nil {
		return nil, err
	}
	for i := range space.Spread {
		space.Spread[i] *= c.Spread
	}
	spare, err := e.NewEnv(nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hindsightName, err)
	}
	s := e.Spec()
	return &Hindsight{c: c, space: space, spare: spare, obs: envs.NewObservation(s), act: envs.NewAction(s),
		out: envs.NewOutcome(s)}, nil
}

// Name implements [envs.Planner].
func (*Hindsight) Name() string { return hindsightName }

// Reset implements [envs.Planner].
func (h *Hindsight) Reset(uint64) error {
	h.best = h.best[:0]
	return nil
}

// Plan implements [envs.Planner].
func (h *Hindsight) Plan(env envs.Env, _ *envs.Observation, act *envs.Action) error {
	if len(h.best) == 0 {
		if err := h.search(env); err != nil {
			return err
		}
	}
	h.hold(h.best, act)
	return nil
}

// hold writes candidate x as an action.
func (h *Hindsight) hold(x []float64, act *envs.Action) {
	for i, v := range x {
		if i >= len(x)/2 {
			v = math.Round(v)
		}
		act.Kinds[0][i] = float32(v)
	}
}

// search keeps the candidate that earns most in what is left of the episode.
func (h *Hindsight) search(env envs.Env) error {
	c := crossentropy.Default()
	c.Population, c.Generations, c.Elite = h.c.Population, h.c.Generations, 0.25
	s, err := crossentropy.New(c, h.space)
	if err != nil {
		return err
	}
	scores, most := make([]float64, c.Population), math.Inf(-1)
	for range c.Generations {
		for i, x := range s.Propose() {
			if err := h.spare.CopyFrom(env); err != nil {
				return err
			}
			h.hold(x, h.act)
			h.out.Truncated = false
			for scores[i] = 0; !h.out.Truncated; scores[i] += float64(h.out.Rewards[0][0]) {
				if err := h.spare.Step(h.act, h.obs, h.out); err != nil {
					return err
				}
			}
			if scores[i] > most {
				most, h.best = scores[i], append(h.best[:0], x...)
			}
		}
		if err := s.Observe(scores); err != nil {
			return err
		}
	}
	return nil
}
