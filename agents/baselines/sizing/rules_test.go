package sizing

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/internal/must"
)

// The autoscaler's arithmetic worked by hand, on observations written by hand: 1125 mC and 5 requests an instance.
func TestAutoscalerArithmetic(t *testing.T) {
	e := newEnv(t, 1, nil)
	c := DefaultAutoscaler()
	c.Stabilization = 60 // two windows
	p := must.Get(NewAutoscaler(c, e))(t)
	s := e.Spec()
	obs, act := envs.NewObservation(s), envs.NewAction(s)
	rs := e.Range()
	// see writes function 0's features: replicas, CPU used in percent of the limit, requests inside.
	see := func(replicas int, used, inside float64) {
		row := p.seen(obs, 0)
		rs.Encode(sizing.Resources{CPU: 1125, Memory: 1152, Replicas: replicas, Concurrency: 5}, row[:4])
		row[p.used], row[p.inside] = float32(used*1.125), float32(inside)
	}
	for _, c := range []struct {
		name     string
		replicas int
		used     float64 // percent of the limit
		inside   float64
		want     int
	}{
		{"the base comes first", 7, 0, 0, 4},
		{"160 % of the target", 4, 1.28 * 100, 0, 7},      // ⌈4·1.6⌉
		{"within the tolerance", 7, 0.86 * 100, 0, 7},     // 1.075
		{"down waits for the stabilisation", 7, 20, 0, 7}, // ⌈7·0.25⌉ = 2, but 7 was wanted a window ago
		{"down", 7, 20, 0, 2},
		{"up at once, by concurrency", 2, 20, 10.5, 3}, // 10.5 of 10 places, target 70 %: ⌈2·1.5⌉
		{"no more than there can be", 3, 500, 0, 8},
	} {
		see(c.replicas, c.used, c.inside)
		must.Do(t, p.Act(obs, act, true))
		got := rs.Decode(p.action(act, 0))
		if got.Replicas != c.want || got.CPU != 1125 || got.Memory != 1152 || got.Concurrency != 5 {
			t.Errorf("%s: %+v, want %d replicas of 1125 mC, 1152 MB and 5 requests", c.name, got, c.want)
		}
	}
}

// The search tries the configured number of configurations, then holds the cheapest that kept the QoS.
func TestRandomSearchHoldsTheCheapest(t *testing.T) {
	e := newEnv(t, 0, func(c *sizing.Config) { c.Windows = 18 })
	p := must.Get(NewRandomSearch(DefaultRandomSearch(), e))(t)
	s := e.Spec()
	obs, act, out := envs.NewObservation(s), envs.NewAction(s), envs.NewOutcome(s)
	must.Do(t, e.Reset(4, nil, obs))
	must.Do(t, p.Reset(4))
	cheapest, feasible := envs.NewAction(s), 0
	best := 1e9
	for k := range 18 {
		must.Do(t, p.Propose(obs, act))
		if k >= 15 {
			same(t, "after the search", k, cheapest, act)
		}
		must.Do(t, e.Step(act, obs, out))
		must.Do(t, p.Observe(act, out))
		if price := out.Info[p.at.price]; k < 15 && out.Info[p.at.violated] == 0 {
			feasible++
			if price < best {
				best = price
				copy(cheapest.Kinds[0], act.Kinds[0])
			}
		}
	}
	if feasible < 2 || feasible > 14 {
		t.Errorf("%d of 15 random configurations are feasible; the test needs some and others", feasible)
	}
}

// Where no configuration keeps the QoS, the one with most successes is held.
func TestRandomSearchWithoutSolution(t *testing.T) {
	p := must.Get(NewRandomSearch(RandomSearchConfig{Windows: 4, High: 1}, newEnv(t, 0, nil)))(t)
	act, out := envs.NewAction(p.spec), envs.NewOutcome(p.spec)
	must.Do(t, p.Propose(nil, act))
	for k, x := range []struct{ price, success float64 }{{5, 0.2}, {7, 0.6}, {6, 0.6}, {1, 0.1}} {
		act.Kinds[0][0] = float32(k) / 10
		out.Info[p.at.price], out.Info[p.at.success], out.Info[p.at.violated] = x.price, x.success, 1
		must.Do(t, p.Observe(act, out))
	}
	if err := p.Propose(nil, act); err != nil || act.Kinds[0][0] != 0.2 {
		t.Errorf("holds configuration %g (%v), want that of 0.2", act.Kinds[0][0], err)
	}
}

// Rows of a library come before the first proposal: they take nothing of the budget, are not held, and change no draw.
func TestRandomSearchIgnoresALibrary(t *testing.T) {
	e := newEnv(t, 0, nil)
	var proposals [2][]float32
	for k := range proposals {
		p := must.Get(NewRandomSearch(RandomSearchConfig{Windows: 1, High: 1}, e))(t)
		act, out := envs.NewAction(p.spec), envs.NewOutcome(p.spec)
		out.Info[p.at.price] = 0.1
		for range 20 * k {
			must.Do(t, p.Observe(act, out))
		}
		must.Do(t, p.Propose(nil, act))
		proposals[k] = append([]float32(nil), act.Kinds[0]...)
		out.Info[p.at.price] = 9
		must.Do(t, p.Observe(act, out))
		if err := p.Propose(nil, act); err != nil || !slices.Equal(act.Kinds[0], proposals[k]) {
			t.Errorf("%d rows: holds %v (%v), want its only trial", 20*k, act.Kinds[0], err)
		}
	}
	if !slices.Equal(proposals[0], proposals[1]) {
		t.Error("a library changes what is drawn")
	}
}

func BenchmarkAutoscaler(b *testing.B) {
	e := newEnv(b, 1, nil)
	p := must.Get(NewAutoscaler(DefaultAutoscaler(), e))(b)
	obs, act := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
	must.Do(b, e.Reset(1, nil, obs))
	b.ReportAllocs()
	for b.Loop() {
		must.Do(b, p.Act(obs, act, true))
	}
}
