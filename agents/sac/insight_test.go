package sac

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

// An insight is the policy: with shared weights and with each agent's own.
func TestInsight(t *testing.T) {
	for _, shared := range []bool{true, false} {
		const rows, many, width = 4, 3, 2
		kind := envs.Kind{Name: "a", Agents: many, Observation: envs.Unbounded(width),
			Action: envs.Box{Low: []float32{0, -3}, High: []float32{4, 1}}}
		spec := &envs.Spec{ID: "test/Insight-v1", Kinds: []envs.Kind{kind}}
		e := native.New(native.Options{})
		c := quick() // its activation is smooth, so that differences are derivatives
		c.Shared = shared
		l := must.Get(New(c, agents.Context{Spec: spec, NumEnvs: 1, Train: e, Act: e, Seed: 5, Steps: 100}))(t)
		p := must.Get(l.Policy())(t)
		in := must.Get(p.(agents.Transparent).Insight(native.New(native.Options{DType: nets.Float64}), rows))(t)
		s := rng.NewStream(3, "states")
		seen := make([]float32, rows*many*width)
		for i := range seen {
			seen[i] = float32(s.Norm())
		}
		insighttest.Check(t, spec, p, in, seen)
	}
}
