package maddpg

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
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
}

func defaultSafe() Safe {
	return Safe{
		Price: "price", Violated: "violated", Cheapest: 0.2, Deviations: 2, Noise: 0.05, Low: 0.1, High: 0.9,
		History: 1_000, MinHistory: 50, Violations: 3,
	}
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
type Pricer interface {
	PriceOf(a *envs.Action) (float64, error)
}

// guard applies the strategy.
type guard struct {
	c               *Safe
	p               *problem
	price, violated int // indices of the quantities in the environment's info
	stream          *rng.Stream

	// The feasible history: a ring buffer of prices and of actions as critics see them.
	prices  []float64
	actions []float32
	n       int64 // steps ever added

	lo, hi     float64 // the range of prices, valid where made is true
	made       bool
	cheapest   []int32 // τ: indices in the ring
	violations int     // since the range was computed

	seen, replaced int64 // actions since the last metrics
}

func newGuard(c *Config, p *problem, s *envs.Spec, seed uint64) (*guard, error) {
	if p.discrete() {
		return nil, fmt.Errorf("maddpg: safe exploration adds noise to actions, but those of %s are choices", s.ID)
	}
	g := &guard{
		c: &c.Safe, p: p, stream: rng.NewStream(seed, "maddpg: safe exploration"),
		prices: make([]float64, c.Safe.History), actions: make([]float32, c.Safe.History*p.agents*p.act),
		cheapest: make([]int32, 0, c.Safe.History),
	}
	var err error
	if g.price, err = s.InfoIndex(c.Safe.Price); err == nil {
		g.violated, err = s.InfoIndex(c.Safe.Violated)
	}
	if err != nil {
		return nil, fmt.Errorf("maddpg: safe exploration: %w", err)
	}
	return g, nil
}

// filter is eq. 10: it replaces an action whose price is outside the range by one of τ with noise. u is the same action
// as critics see it.
func (g *guard) filter(e envs.Env, a *envs.Action, u []float32) error {
	g.seen++
	if !g.made {
		return nil
	}
	pricer, ok := envs.As[Pricer](e)
	if !ok {
		return fmt.Errorf("maddpg: safe exploration needs an environment that prices an action before it is used, and "+
			"%s doesn't",
			e.Spec().ID)
	}
	y, err := pricer.PriceOf(a)
	if err != nil {
		return fmt.Errorf("maddpg: safe exploration: %w", err)
	}
	if y >= g.lo && y <= g.hi {
		return nil
	}
	g.replaced++
	copy(u, g.action(g.cheapest[g.stream.IntN(len(g.cheapest))]))
	for i, x := range u {
		u[i] = min(max(x+float32(g.c.Noise*g.stream.Norm()), float32(g.c.Low)), float32(g.c.High))
	}
	w, k := g.p.actionCodec.width(), g.p.actionCodec.components()
	for j := range g.p.kind.Agents {
		g.p.stretch(u[j*w:(j+1)*w], a.Kinds[0][j*k:(j+1)*k])
	}
	return nil
}

func (g *guard) action(i int32) []float32 {
	w := g.p.agents * g.p.act
	return g.actions[int(i)*w : (int(i)+1)*w]
}

// observe adds a step's outcome to the history or, where it missed its objectives, counts it.
func (g *guard) observe(info []float64, u []float32) {
	if info[g.violated] != 0 {
		g.violations++
	} else {
		i := g.n % int64(len(g.prices))
		g.prices[i] = info[g.price]
		copy(g.action(int32(i)), u)
		g.n++
	}
	held := min(g.n, int64(len(g.prices)))
	if held >= int64(g.c.MinHistory) && (!g.made || g.violations >= g.c.Violations) {
		g.bound(int(held))
		g.made, g.violations = true, 0
	}
}

// bound computes the range from the cheapest feasible steps in the history.
func (g *guard) bound(held int) {
	g.cheapest = g.cheapest[:0]
	for i := range held {
		g.cheapest = append(g.cheapest, int32(i))
	}
	slices.SortStableFunc(g.cheapest, func(a, b int32) int {
		switch pa, pb := g.prices[a], g.prices[b]; {
		case pa < pb:
			return -1
		case pa > pb:
			return 1
		}
		return 0
	})
	g.cheapest = g.cheapest[:max(1, int(math.Round(g.c.Cheapest*float64(held))))]
	var mean, m2 float64
	for _, i := range g.cheapest {
		mean += g.prices[i] / float64(len(g.cheapest))
	}
	for _, i := range g.cheapest {
		d := g.prices[i] - mean
		m2 += float64(d*d) / float64(len(g.cheapest))
	}
	reach := g.c.Deviations * math.Sqrt(m2)
	g.lo, g.hi = mean-reach, mean+reach
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
