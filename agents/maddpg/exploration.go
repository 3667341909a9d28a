package maddpg

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/internal/saved"
	"github.com/stoker-rl/stoker/agents/safe"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// noise draws standard Gumbel noise, −ln(−ln u), with the engine's kernel where it has one.
type noise struct {
	s      *rng.Stream
	words  []uint32
	kernel func(dst []float32, words []uint32)
}

// gumbelEngine is an engine with a kernel for Gumbel noise.
type gumbelEngine interface {
	Gumbel(dst []float32, words []uint32)
}

func newNoise(s *rng.Stream, e nets.Engine) *noise {
	n := &noise{s: s, kernel: gumbels}
	if k, ok := e.(gumbelEngine); ok {
		n.kernel = k.Gumbel
	}
	return n
}

// fill draws noise for all of dst.
func (n *noise) fill(dst []float32) {
	if len(n.words) < len(dst) {
		n.words = make([]uint32, len(dst))
	}
	words := n.words[:len(dst)]
	n.s.Words(words)
	n.kernel(dst, words)
}

// begin draws the key of a stream of random words for part.
func (n *noise) begin() uint64 { return n.s.Uint64() }

// part draws the noise from number at on of the stream x, which begin returned; words is scratch of dst's length. All
// parts together are what fill draws, in any order and in parallel.
func (n *noise) part(x uint64, at int, dst []float32, words []uint32) {
	words = words[:len(dst)]
	rng.WordsFrom(x, at, words)
	n.kernel(dst, words)
}

// gumbels is fill's arithmetic for engines without a kernel.
func gumbels(dst []float32, words []uint32) {
	for i, w := range words {
		dst[i] = float32(-math.Log(-math.Log((float64(w>>9) + 0.5) / (1 << 23))))
	}
}

// noise is the standard deviation of exploration at the present step.
func (l *Learner) noise() float64 {
	over := l.c.NoiseSteps
	if over == 0 {
		over = l.ctx.Steps
	}
	return learning.Linear(l.c.Noise, l.c.NoiseFinal, float64(l.Steps), float64(over))
}

// drawn is the Gumbel noise of copy i's choices, nil for continuous actions.
func (l *Learner) drawn(i int) []float32 {
	if l.draws == nil {
		return nil
	}
	w := l.p.agents * l.p.act
	return l.draws[i*w : (i+1)*w]
}

// exploreEnv turns the actor's output for copy i into an exploring action. Continuous actions get normal noise; choices
// are drawn from the softmax of the logits, by Gumbel noise. Random actions ignore the actor's output.
func (l *Learner) exploreEnv(i int, obs *envs.Observation, act *envs.Action, random bool) error {
	o, draws := &obs.Kinds[0], l.drawn(i)
	w, k := l.p.actionCodec.width(), l.p.actionCodec.components()
	sigma := l.noise()
	for j := range l.p.kind.Agents {
		y, u, a := l.acting.Row(i, j), l.row(i)[j*w:(j+1)*w], act.Kinds[0][j*k:(j+1)*k]
		if random {
			clear(y)
		}
		if !o.Active[j] {
			clear(u)
			clear(a)
			continue
		}
		if m := envs.NotFinite(y); m >= 0 {
			return fmt.Errorf("maddpg: environment %d: the actor of %s %d gives %g for output %d: training has diverged;"+
				" try a smaller actor_rate and critic_rate, or clip", i, l.p.kind.Name, j, y[m], m)
		}
		if l.p.discrete() {
			for m := range y {
				y[m] += draws[j*w+m]
			}
			actor.Forbid(y, o.Mask[j*w:(j+1)*w])
			l.p.choose(y, u, a)
			continue
		}
		lo, hi := float32(l.c.NoiseLow), float32(l.c.NoiseHigh)
		for m := range y {
			if random {
				u[m] = lo + float32(float32(l.explore.Float64())*(hi-lo))
			} else {
				u[m] = min(max(y[m]+float32(float64(sigma*l.explore.Norm())), lo), hi)
			}
		}
		l.p.Unit(u, a)
	}
	return nil
}

// Filter changes exploring actions before they are used, such as those of agents that are to stay as they are.
type Filter interface {
	// Filter changes the actions act, [agents, components], of the agents of environment i, who see o. What it leaves lies
	// within the action's bounds. It does not allocate.
	Filter(i int, o *envs.KindObservation, act []float32) error
}

// NewFiltered is [New] with a filter, for continuous actions. Critics and replay see what the filter leaves. What a
// filter remembers is not part of the learner's state.
func NewFiltered(c Config, ctx agents.Context, f Filter) (*Learner, error) {
	l, err := New(c, ctx)
	if err != nil {
		return nil, err
	}
	if l.p.discrete() {
		return nil, fmt.Errorf("maddpg: %s: a filter needs continuous actions, want no choices", ctx.Spec.ID)
	}
	l.filter = f
	return l, nil
}

// filtered applies the filter to the actions of copy i. u is the same actions as critics see them.
func (l *Learner) filtered(i int, o *envs.KindObservation, act, u []float32) error {
	if err := l.filter.Filter(i, o, act); err != nil {
		return err
	}
	k := l.p.actionCodec.components()
	for j := range l.p.kind.Agents {
		l.p.squeeze(act[j*k:(j+1)*k], u[j*k:(j+1)*k])
	}
	return nil
}

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
