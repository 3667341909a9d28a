package sac

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// An insight's outputs are the policy's actions, and its gradient is that of finite differences: with shared weights and
// with each agent's own.
func TestInsight(t *testing.T) {
	for _, shared := range []bool{true, false} {
		const rows, many, width = 4, 3, 2
		kind := envs.Kind{Name: "a", Agents: many, Observation: envs.Unbounded(width),
			Action: envs.Box{Low: []float32{0, -3}, High: []float32{4, 1}}}
		spec := &envs.Spec{ID: "test/Insight-v1", Kinds: []envs.Kind{kind}}
		e := native.New(native.Options{})
		c := quick() // its activation is smooth, so that differences are derivatives
		c.Shared = shared
		l, err := New(c, agents.Context{Spec: spec, Copies: 1, Train: e, Act: e, Seed: 5, Steps: 100})
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.Policy()
		if err != nil {
			t.Fatal(err)
		}
		in, err := p.(agents.Transparent).Insight(native.New(native.Options{DType: nets.Float64}), rows)
		if err != nil {
			t.Fatal(err)
		}
		s := rng.NewStream(3, "states")
		normal := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(s.Norm())
			}
			return x
		}
		seen, weights := normal(rows*many*width), normal(rows*many*2)
		forward := func() []float32 {
			out, err := in.Forward(seen)
			if err != nil {
				t.Fatal(err)
			}
			return slices.Clone(out)
		}
		out := forward()
		obs, act := envs.NewObservation(spec), envs.NewAction(spec)
		for i := range obs.Kinds[0].Active {
			obs.Kinds[0].Active[i] = true
		}
		for r := range rows {
			copy(obs.Kinds[0].Values, seen[r*many*width:])
			if err := p.Act(obs, act, true); err != nil {
				t.Fatal(err)
			}
			for i, want := range act.Kinds[0] {
				if got := out[r*len(act.Kinds[0])+i]; math.Abs(float64(got-want)) > 1e-5 {
					t.Errorf("shared %v, row %d: action %d is %g, the policy does %g", shared, r, i, got, want)
				}
			}
		}
		g, err := in.Gradient(weights)
		if err != nil {
			t.Fatal(err)
		}
		sum := func() (sum float64) {
			for i, y := range forward() {
				sum += float64(weights[i]) * float64(y)
			}
			return sum
		}
		g = slices.Clone(g)
		for i, x := range seen {
			const h = 1e-2
			seen[i] = x + h
			up := sum()
			seen[i] = x - h
			want := (up - sum()) / (2 * h)
			seen[i] = x
			if math.Abs(float64(g[i])-want) > 2e-3*max(0.1, math.Abs(want)) {
				t.Errorf("shared %v: the derivative by number %d is %g, want %g", shared, i, g[i], want)
			}
		}
		if _, err := in.Forward(seen[1:]); err == nil {
			t.Error("too few observations were taken")
		}
		if _, err := in.Gradient(weights[1:]); err == nil {
			t.Error("too few weights were taken")
		}
	}
}
