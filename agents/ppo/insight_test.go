package ppo

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// An insight's outputs are the policy's actions, and its gradient is that of finite differences: with bounds of both
// kinds, choices, the mean field, and weights of each agent's own.
func TestInsight(t *testing.T) {
	box := envs.Box{Low: []float32{0, -3}, High: []float32{4, 1}}
	for name, c := range map[string]struct {
		action envs.Space
		set    func(*Config)
	}{
		"clip":              {box, func(c *Config) { c.Bounds = Clip }},
		"tanh, mean field":  {box, func(c *Config) { c.Bounds, c.Mix = Squash, Mean }},
		"own, mean field":   {box, func(c *Config) { c.Mix, c.Shared = Mean, false }},
		"choices":           {envs.MultiDiscrete{N: []int{3, 2}}, func(*Config) {}},
		"choices, separate": {envs.MultiDiscrete{N: []int{3, 2}}, func(c *Config) { c.Shared = false }},
	} {
		t.Run(name, func(t *testing.T) {
			const rows, agentsHere, width = 4, 3, 2
			kind := envs.Kind{Name: "a", Agents: agentsHere, Observation: envs.Unbounded(width), Action: c.action}
			spec := &envs.Spec{ID: "test/Insight-v1", Kinds: []envs.Kind{kind}}
			e := native.New(native.Options{})
			cfg := quick()
			cfg.Activation = nets.Tanh // smooth, so that differences are derivatives
			c.set(&cfg)
			l, err := New(cfg, agents.Context{Spec: spec, Copies: 1, Train: e, Act: e, Seed: 5, Steps: 100})
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
			seen := make([]float32, rows*agentsHere*width)
			for i := range seen {
				seen[i] = float32(s.Norm())
			}
			forward := func() []float32 {
				out, err := in.Forward(seen)
				if err != nil {
					t.Fatal(err)
				}
				return append([]float32(nil), out...)
			}
			out := forward()
			sameActions(t, p, spec, seen, out, in.Outputs())
			weights := make([]float32, len(out))
			for i := range weights {
				weights[i] = float32(s.Norm())
			}
			g, err := in.Gradient(weights)
			if err != nil {
				t.Fatal(err)
			}
			got, per := append([]float32(nil), g...), len(out)/rows
			for i := range seen {
				row, x := i/(agentsHere*width), seen[i]
				value := func() (sum float64) {
					for k, y := range forward()[row*per : (row+1)*per] {
						sum += float64(weights[row*per+k]) * float64(y)
					}
					return sum
				}
				const h = 1e-2
				seen[i] = x + h
				up := value()
				seen[i] = x - h
				down := value()
				seen[i] = x
				if want := (up - down) / (2 * h); math.Abs(float64(got[i])-want) > 2e-3*max(0.1, math.Abs(want)) {
					t.Errorf("derivative by number %d is %g, want %g", i, got[i], want)
				}
			}
		})
	}
}

// sameActions compares an insight's outputs with what the policy does, choices by the largest logit.
func sameActions(t *testing.T, p agents.Policy, spec *envs.Spec, seen, out []float32, outputs []agents.Output) {
	t.Helper()
	obs, act := envs.NewObservation(spec), envs.NewAction(spec)
	k := &obs.Kinds[0]
	n, components := spec.Kinds[0].Agents, spec.Kinds[0].Action.Width()
	for i := range k.Active {
		k.Active[i] = true
	}
	for i := range k.Mask {
		k.Mask[i] = true
	}
	for r := range len(seen) / len(k.Values) {
		copy(k.Values, seen[r*len(k.Values):])
		if err := p.Act(obs, act, true); err != nil {
			t.Fatal(err)
		}
		for j := range n {
			best := make([]float32, components)
			want := make([]float32, components)
			for o, at := range outputs {
				y := out[(r*n+j)*len(outputs)+o]
				switch {
				case at.Choice < 0:
					want[at.Component] = y
				case at.Choice == 0 || y > best[at.Component]:
					best[at.Component], want[at.Component] = y, float32(at.Choice)
				}
			}
			for c, w := range want {
				if got := act.Kinds[0][j*components+c]; math.Abs(float64(got-w)) > 1e-5 {
					t.Errorf("row %d, agent %d, component %d: the policy does %g, the insight says %g", r, j, c, got, w)
				}
			}
		}
	}
}
