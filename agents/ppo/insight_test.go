package ppo

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/internal/insighttest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// An insight is the policy: with bounds of both kinds, choices, the mean field, and weights of each agent's own.
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
			l := must.Get(New(cfg, agents.Context{Spec: spec, NumEnvs: 1, Train: e, Act: e, Seed: 5, Steps: 100}))(t)
			p := must.Get(l.Policy())(t)
			in := must.Get(p.(agents.Transparent).Insight(native.New(native.Options{DType: nets.Float64}), rows))(t)
			s := rng.NewStream(3, "states")
			seen := make([]float32, rows*agentsHere*width)
			for i := range seen {
				seen[i] = float32(s.Norm())
			}
			insighttest.Check(t, spec, p, in, seen)
		})
	}
}
