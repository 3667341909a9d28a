package pricing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/crossentropy"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
)

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
