package maddpg

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
)

func newTestGuard(t *testing.T, agents int) (*guard, *toy) {
	t.Helper()
	c := Default()
	c.Safe.On, c.Safe.MinHistory, c.Safe.History = true, 10, 20
	env := newToy(toyOptions{agents: agents})
	p := must.Get(newProblem(c.Mix, env.Spec()))(t)
	g := must.Get(newGuard(&c, &p, env.Spec(), 1))(t)
	return g, env
}

// TestSafeFilter is eq. 10: an action whose price is out of range is replaced in both of its forms, and counted.
func TestSafeFilter(t *testing.T) {
	g, env := newTestGuard(t, 2)
	obs, act := envs.NewObservation(env.Spec()), envs.NewAction(env.Spec())
	must.Do(t, env.Reset(1, nil, obs))
	u := []float32{0, 0, 0, 0}
	act.Kinds[0] = []float32{-1, -1, -1, -1} // price −2
	must.Do(t, g.filter(env, act, u))
	if u[0] != 0 {
		t.Error("an action was replaced before there was a range")
	}
	safe := []float32{0.5, 0.3, 0.5, 0.88}
	for i := range 10 {
		g.observe([]float64{2 + 0.1*float64(i%2), 0}, safe)
	}
	for range 20 {
		copy(u, []float32{0, 0, 0, 0})
		act.Kinds[0] = []float32{-1, -1, -1, -1}
		must.Do(t, g.filter(env, act, u))
		for i := range u {
			if d := math.Abs(float64(u[i] - safe[i])); d > 0.25 {
				t.Fatalf("replaced by %v, want %v with noise of 0.05", u, safe)
			}
			if want := -1 + 4*u[i]; math.Abs(float64(act.Kinds[0][i]-want)) > 1e-6 {
				t.Fatalf("the environment's action %g doesn't match u = %g", act.Kinds[0][i], u[i])
			}
		}
	}
	if got, want := g.replacedShare(), 20.0/21; math.Abs(got-want) > 1e-12 {
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
	g.load = 0
	err := g.filter(unpriced{env}, envs.NewAction(env.Spec()), []float32{0, 0})
	if err == nil || !strings.Contains(err.Error(), "safe.load_step needs an environment that knows its load") {
		t.Errorf("without a load: %v", err)
	}
}

// A forged state of safe exploration is refused.
func TestSafeStateRefused(t *testing.T) {
	g, _ := newTestGuard(t, 1)
	for want, change := range map[string]func(*guard){
		"-3 actions": func(g *guard) { g.seen = -3 }, "-4 replaced actions": func(g *guard) { g.replaced = -4 },
	} {
		k, _ := newTestGuard(t, 1)
		change(k)
		bad := must.Get(state.Append(nil, "safe", k))(t)
		if err := state.Load(bad, "safe", g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
