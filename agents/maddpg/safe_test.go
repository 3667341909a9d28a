package maddpg

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

func newTestGuard(t *testing.T, agents int) (*guard, *toy) {
	t.Helper()
	c := Default()
	c.Safe.On, c.Safe.MinHistory, c.Safe.History = true, 10, 20
	env := newToy(toyOptions{agents: agents})
	p, err := newProblem(c.Mix, env.Spec())
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(&c, &p, env.Spec(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return g, env
}

// TestSafeRange: τ is the cheapest fifth of the feasible history, and the range is mean ± 2 standard deviations of its
// prices. It is computed once the history is long enough, and again after three violations.
func TestSafeRange(t *testing.T) {
	g, _ := newTestGuard(t, 1)
	u := []float32{0.5, 0.5}
	for price := 10.0; price > 1; price-- {
		g.observe([]float64{price, 0}, u)
	}
	if g.made {
		t.Fatal("there is a range after 9 steps, want 10")
	}
	g.observe([]float64{0.5, 1}, u) // misses its objectives: not in the history
	g.observe([]float64{1, 0}, []float32{0.25, 0.75})
	// τ = {1, 2}: mean 1.5, deviation 0.5.
	if !g.made || g.lo != 0.5 || g.hi != 2.5 {
		t.Fatalf("range is [%g, %g], want [0.5, 2.5]", g.lo, g.hi)
	}
	if got := g.action(g.cheapest[0]); !slices.Equal(got, []float32{0.25, 0.75}) {
		t.Errorf("the cheapest action is %v, want that of price 1", got)
	}
	for range 10 { // cheaper ones, but the range stays until there are violations
		g.observe([]float64{0.1, 0}, u)
	}
	for n := 1; n <= 3; n++ {
		if g.lo != 0.5 {
			t.Fatalf("the range changed after %d violations, want 3", n-1)
		}
		g.observe([]float64{9, 1}, u)
	}
	if g.lo != 0.1 || g.hi != 0.1 {
		t.Errorf("range is [%g, %g] after three violations, want [0.1, 0.1]", g.lo, g.hi)
	}
}

// TestSafeFilter is eq. 10: an action within the range stays, another is replaced by one of τ with noise, in both forms
// of the action.
func TestSafeFilter(t *testing.T) {
	g, env := newTestGuard(t, 2)
	obs, act := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec())
	if err := env.Reset(1, nil, obs); err != nil {
		t.Fatal(err)
	}
	u := []float32{0, 0, 0, 0}
	act.Kinds[0] = []float32{-1, -1, -1, -1} // price −2
	if err := g.filter(env, act, u); err != nil {
		t.Fatal(err)
	}
	if u[0] != 0 {
		t.Error("an action was replaced before there was a range")
	}
	safe := []float32{0.5, 0.3, 0.5, 0.88}
	for i := range 10 {
		g.observe([]float64{2 + 0.1*float64(i%2), 0}, safe)
	}
	for range 200 {
		copy(u, []float32{0, 0, 0, 0})
		act.Kinds[0] = []float32{-1, -1, -1, -1}
		if err := g.filter(env, act, u); err != nil {
			t.Fatal(err)
		}
		for i := range u {
			if d := math.Abs(float64(u[i] - safe[i])); d > 0.25 || u[i] > 0.9 || u[i] < 0.1 {
				t.Fatalf("replaced by %v, want %v with noise of 0.05, within [0.1, 0.9]", u, safe)
			}
			if want := -1 + 4*u[i]; math.Abs(float64(act.Kinds[0][i]-want)) > 1e-6 {
				t.Fatalf("the environment's action %g doesn't match u = %g", act.Kinds[0][i], u[i])
			}
		}
	}
	copy(u, []float32{0.5, 0, 0.5, 0})
	act.Kinds[0] = []float32{1, -1, 1, -1} // price 2: in range
	if err := g.filter(env, act, u); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(u, []float32{0.5, 0, 0.5, 0}) {
		t.Errorf("an action in range became %v", u)
	}
	if got, want := g.replacedShare(), 200.0/202; math.Abs(got-want) > 1e-12 {
		t.Errorf("share of replaced actions is %g, want %g", got, want)
	}
}

// unpriced hides the toy's prices.
type unpriced struct{ envs.Env }

func TestSafeNeedsPrices(t *testing.T) {
	g, env := newTestGuard(t, 1)
	for range 10 {
		g.observe([]float64{1, 0}, []float32{0, 0})
	}
	if err := g.filter(unpriced{env}, envs.NewAction(env.Spec()), []float32{0, 0}); err == nil {
		t.Error("an environment without prices was accepted")
	}
}

// A forged state of safe exploration is refused and changes nothing.
func TestSafeStateRefused(t *testing.T) {
	g, _ := newTestGuard(t, 1)
	for range 12 {
		g.observe([]float64{1, 0}, []float32{0, 0})
	}
	b, err := state.Append(nil, "safe", g)
	if err != nil {
		t.Fatal(err)
	}
	h, _ := newTestGuard(t, 1)
	if err := state.Load(b, "safe", h); err != nil || !h.made {
		t.Fatalf("is there a range: %v, %v", h.made, err)
	}
	for want, change := range map[string]func(*guard){
		"-1 feasible steps, want 0": func(g *guard) { g.n = -1 },
		"-2 violations":             func(g *guard) { g.violations = -2 },
		"-3 actions":                func(g *guard) { g.seen = -3 },
		"-4 replaced actions":       func(g *guard) { g.replaced = -4 },
		"name entry 12 of 12":       func(g *guard) { g.cheapest = []int32{12} },
		"name entry -1 of 12":       func(g *guard) { g.cheapest = []int32{-1} },
		"elements, want":            func(g *guard) { g.prices = g.prices[:1] },
	} {
		k, _ := newTestGuard(t, 1)
		if err := state.Load(b, "safe", k); err != nil {
			t.Fatal(err)
		}
		change(k)
		bad, err := state.Append(nil, "safe", k)
		if err != nil {
			t.Fatal(err)
		}
		if err := state.Load(bad, "safe", h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
		if again, err := state.Append(nil, "safe", h); err != nil || !bytes.Equal(again, b) {
			t.Errorf("%s: the refused state changed something (%v)", want, err)
		}
	}
}
