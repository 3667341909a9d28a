package variants

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// Difference rewards tell agents apart: one that keeps the present plan's option has none, and together with what the
// plan without the agent gives they make up the team's.
func TestDifferenceRewards(t *testing.T) {
	c := fewApps()
	c.Credit = Difference
	e := must.Get(New(c, nil))(t)
	c.Credit = Team
	team := must.Get(New(c, nil))(t)
	obs, act := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec())
	out, all := envs.NewOutcome(e.Spec()), envs.NewOutcome(e.Spec())
	for seed := range uint64(24) {
		for _, x := range []*Env{e, team} {
			must.Do(t, x.Reset(seed, nil, obs))
		}
		e.Follow(e.Present(nil), 1, act)
		present := e.reward(e.walk.outcome)
		act.Kinds[0][1] = 1 - act.Kinds[0][1] // agent 0 alone leaves the plan
		must.Do(t, e.Step(act, obs, out))
		must.Do(t, team.Step(act, obs, all))
		for f, r := range out.Rewards[0] {
			if want := float32(float64(all.Rewards[0][0]) - present); f == 0 && abs(r-want) > 1e-4 || f > 0 && r != 0 {
				t.Errorf("seed %d: agent %d has %g; the team %g, with the present plan %g", seed, f, r, all.Rewards[0][0], present)
			}
		}
	}
}

func abs(x float32) float32 { return max(x, -x) }

// What nobody asks for is not worked out, and nothing else changes.
func TestMeasuringChangesNothing(t *testing.T) {
	c := fewApps()
	c.Ideal, c.First = Best, 700
	var first [2][]float32
	for k, on := range []bool{false, true} {
		before := ideals.Len()
		e := must.Get(New(c, nil))(t)
		e.Measure(on)
		obs, act, out := envs.NewObservation(e.Spec()), envs.NewAction(e.Spec()), envs.NewOutcome(e.Spec())
		for seed := range uint64(6) {
			must.Do(t, e.Reset(seed, nil, obs))
			first[k] = append(first[k], obs.Kinds[0].Values...)
			must.Do(t, e.Step(act, obs, out))
			first[k] = append(first[k], out.Rewards[0]...)
		}
		if n := ideals.Len() - before; n != 0 && !on || n != 6 && on {
			t.Errorf("measuring is %v, and %d problems were solved", on, n)
		}
	}
	for i := range first[0] {
		if first[0][i] != first[1][i] {
			t.Fatal("what is seen or rewarded depends on what is measured")
		}
	}
}

// A plan that misses a constraint gains nothing by what it has of the objective, and loses the more the further it misses.
func TestMissingGainsNothing(t *testing.T) {
	c := fewApps()
	c.Objective = string(Cost)
	e := must.Get(New(c, nil))(t)
	obs, missed := envs.NewObservation(e.Spec()), 0
	for seed := range uint64(24) {
		must.Do(t, e.Reset(seed, nil, obs))
		w := &e.walk
		w.fill(e.plan, w.none, w.menu.combinations[0], 0) // the cheapest
		out := w.evaluate(e.plan)
		if w.problem.Keeps(out) {
			continue
		}
		missed++
		by := out.Seconds/w.problem.Latency - 1
		if out.Accuracy < w.problem.Accuracy*(1-1e-9) {
			continue // two constraints, and their costs add up
		}
		want := -10*min(by/0.05, 1) - 10*min(by, 1)
		if r := e.reward(out); math.Abs(r-want) > 1e-9 {
			t.Errorf("seed %d: %+v misses %+v by %g and is worth %g, want %g", seed, out, w.problem, by, r, want)
		}
	}
	if missed < 5 {
		t.Errorf("%d problems with a plan that misses, want more", missed)
	}
}
