package pricing

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/internal/must"
)

// newMarket makes a pricing environment of short episodes whose market moves.
func newMarket(t testing.TB, change func(*pricing.Config)) *pricing.Pricing {
	t.Helper()
	c := pricing.Default()
	c.Profile, c.Demand.Source, c.Windows, c.Slots = pricing.OutsideProfile, pricing.Generated, 4, 10
	c.PriceMin, c.PriceMax, c.BaselineMax = 0.5, 3, 32
	c.Market.Sensitivity.Drift, c.Market.Failures.Share, c.Market.Rival.Price = pricing.WalkDrift, 0.5, 1.3
	if change != nil {
		change(&c)
	}
	return must.Get(pricing.New(c, workload.Default(), nil))(t)
}

// A rule's prices are linear in the columns that it sees, and stay within the environment's bounds.
func TestRule(t *testing.T) {
	e := newMarket(t, nil)
	r := must.Get(NewRule(RuleConfig{Sees: "market", Prices: []float64{1, 1.5, 2}, KeepAlive: []float64{8, 16, 30},
		PriceWeights: []float64{0.1, -0.2, 0.5, -1, 0.25}, KeepAliveWeights: []float64{0, 0, 0.5, 0.5, 0}}, e))(t)
	var names []string
	for _, c := range r.columns {
		names = append(names, c.name)
	}
	if want := []string{"sine of day", "cosine of day", "realised demand", "capacity", "rival price"}; !slices.Equal(names, want) {
		t.Fatalf("the rule sees %q, want %q", names, want)
	}
	obs, act := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
	see := func(values ...float32) []float32 {
		for i, c := range r.columns {
			obs.Kinds[0].Values[c.at] = values[i]
		}
		must.Do(t, r.Act(obs, act, true))
		return act.Kinds[0]
	}
	near := func(got []float32, want ...float64) {
		t.Helper()
		for i, x := range want {
			if math.Abs(float64(got[i])-x) > 1e-6 {
				t.Errorf("the rule sets %v, want %v", got, want)
				return
			}
		}
	}
	near(see(0, 0, 1, 1, 1.3), 1, 1.5, 2, 8, 16, 30)
	// 1 + 0.1 - 0.1 + 0.1 + 0.5 + 0.05 = 1.65, and 1 + 0.1 - 0.25 = 0.85 of the keep-alive vGPUs, rounded.
	near(see(1, 0.5, 1.2, 0.5, 1.5), 1.65, 2.475, 3, 7, 14, 26)
	near(see(0, 0, 1, 3, 1.3), 0.5, 0.5, 0.5, 16, 32, 32) // beyond every bound
	for sees, want := range map[string]int{"fixed": 0, "day": 2} {
		if r := must.Get(NewRule(RuleConfig{Sees: sees}, e))(t); len(r.columns) != want {
			t.Errorf("%s sees %d columns, want %d", sees, len(r.columns), want)
		}
	}
	still := newMarket(t, func(c *pricing.Config) { c.Market = pricing.Default().Market })
	if r := must.Get(NewRule(RuleConfig{Sees: "market"}, still))(t); len(r.columns) != 2 {
		t.Errorf("the rule sees %d columns of a market that stands still, want the day's 2", len(r.columns))
	}
	if n := testing.AllocsPerRun(100, func() { must.Do(t, r.Act(obs, act, true)) }); n != 0 {
		t.Errorf("%g allocations, want none", n)
	}
}

// Every number of a space has a place in the configuration that the space makes.
func TestRuleSpace(t *testing.T) {
	e := newMarket(t, nil)
	s := must.Get(RuleSpace(RuleConfig{Sees: "market"}, e))(t)
	must.Do(t, s.Check())
	if len(s.Names) != 16 {
		t.Errorf("the space has %d numbers, want 6 and 2 for each of 5 columns", len(s.Names))
	}
	x := make([]float64, len(s.Names))
	for i := range x {
		x[i] = s.Low[i] + float64(i+1)/100
	}
	c, ok := s.Config(x).(*RuleConfig)
	if !ok || !slices.Equal(slices.Concat(c.Prices, c.KeepAlive, c.PriceWeights, c.KeepAliveWeights), x) {
		t.Errorf("%v makes %+v", x, c)
	}
	must.Get(NewRule(*c, e))(t)
}

func TestRuleRefusals(t *testing.T) {
	e, slots := newMarket(t, nil), newTable(t, 1, nil)
	file := filepath.Join(t.TempDir(), "rule.json")
	must.Do(t, os.WriteFile(file, []byte(`{"baseline": "linear", "config": {}}`), 0o666))
	for want, try := range map[string]func() error{
		"price-rule: acts in stoker/Pricing-v1 only": func() error { _, err := NewRule(DefaultRule(), slots.env); return err },
		"sees is \"all\"": func() error { _, err := NewRule(RuleConfig{Sees: "all"}, e); return err },
		"prices has 1 numbers, want 3": func() error {
			_, err := NewRule(RuleConfig{Sees: "fixed", Prices: []float64{1}}, e)
			return err
		},
		"price_weights has 1 numbers, want 2": func() error {
			_, err := NewRule(RuleConfig{Sees: "day", PriceWeights: []float64{1}}, e)
			return err
		},
		"of baseline \"linear\"": func() error { _, err := NewRule(RuleConfig{Sees: "day", File: file}, e); return err },
		"fixed-hindsight: acts in stoker/Pricing-v1 only": func() error {
			_, err := NewHindsight(DefaultHindsight(), slots.env)
			return err
		},
		"population is 1": func() error {
			_, err := NewHindsight(HindsightConfig{Spread: 1, Population: 1, Generations: 1}, e)
			return err
		},
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// earns is what a planner or a policy earns in an episode.
func earns(t testing.TB, e *pricing.Pricing, seed uint64, decide func(*envs.Observation, *envs.Action) error) (profit float64) {
	t.Helper()
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, e.Reset(seed, nil, obs))
	for !out.Truncated {
		must.Do(t, decide(obs, act))
		must.Do(t, e.Step(act, obs, out))
		profit += float64(out.Rewards[0][0])
	}
	return profit
}

// The bound with hindsight earns what its search saw, holds one action through an episode, and earns at least as much as
// fixed prices from a grid.
func TestHindsight(t *testing.T) {
	e := newMarket(t, nil)
	h := must.Get(NewHindsight(DefaultHindsight(), e))(t)
	// A search of one generation is no worse than where it starts.
	poor := HindsightConfig{Prices: []float64{1.5, 1.6, 1.7}, KeepAlive: []float64{0, 1.4, 2}, Spread: 0.01, Population: 4, Generations: 1}
	p := must.Get(NewHindsight(poor, e))(t)
	must.Do(t, p.Reset(3))
	got := earns(t, e, 3, func(obs *envs.Observation, act *envs.Action) error { return p.Plan(e, obs, act) })
	from := must.Get(NewRule(RuleConfig{Sees: "fixed", Prices: poor.Prices, KeepAlive: poor.KeepAlive}, e))(t)
	if want := earns(t, e, 3, func(obs *envs.Observation, act *envs.Action) error { return from.Act(obs, act, true) }); got < want {
		t.Errorf("the search earns %g from a start that earns %g", got, want)
	}
	for seed := range uint64(2) {
		must.Do(t, h.Reset(seed))
		var held []float32
		best := earns(t, e, seed, func(obs *envs.Observation, act *envs.Action) error {
			err := h.Plan(e, obs, act)
			if held == nil {
				held = slices.Clone(act.Kinds[0])
			}
			if !slices.Equal(held, act.Kinds[0]) {
				t.Errorf("%v follows %v", act.Kinds[0], held)
			}
			return err
		})
		for _, p := range []float64{0.8, 1, 1.3, 1.6, 2} {
			for _, n := range []float64{0, 6, 12, 20} {
				r := must.Get(NewRule(RuleConfig{Sees: "fixed", Prices: []float64{p, p, p}, KeepAlive: []float64{n, n, n}}, e))(t)
				got := earns(t, e, seed, func(obs *envs.Observation, act *envs.Action) error { return r.Act(obs, act, true) })
				if got > best {
					t.Errorf("seed %d: %g for %g with %g keep-alive vGPUs of each tier, and %g with hindsight", seed, got, p, n, best)
				}
			}
		}
	}
}
