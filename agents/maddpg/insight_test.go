package maddpg

import (
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/insighttest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// opened returns the policy of a learner that has learned a little, and the observations of rows states.
func opened(t *testing.T, set func(*Config), o toyOptions, rows int) (*actor.Policy, agents.Insight, []float32) {
	t.Helper()
	c := quick()
	c.UpdateEvery, c.ActorRate, c.CriticRate = 1, 1e-2, 1e-2
	set(&c)
	r := newRun(t, c, o, envs.VectorOptions{})
	r.steps(60)
	p := must.Get(r.l.Policy())(t)
	in := must.Get(p.(agents.Transparent).Insight(native.New(native.Options{DType: nets.Float64}), rows))(t)
	s := rng.NewStream(3, "states")
	seen := make([]float32, rows*o.agents*2)
	for i := range seen {
		seen[i] = float32(2*s.Float64() - 1)
	}
	return p.(*actor.Policy), in, seen
}

var insightForms = []struct {
	name string
	set  func(*Config)
	o    toyOptions
}{
	{"attention", func(*Config) {}, toyOptions{agents: 3, sequence: [][]int{{1}, {0, 2}, {1}}}},
	{"squared, shared", func(c *Config) { c.Score, c.Shared = nets.Squared, true }, toyOptions{agents: 3}},
	{"narrow bounds", func(c *Config) { c.ObservationClip = 1 }, toyOptions{agents: 2}},
	{"joint", func(c *Config) { c.Mix = Joint }, toyOptions{agents: 2}},
	{"single", func(c *Config) { c.Mix = Single }, toyOptions{agents: 2}},
	{"choices, not standardised", func(c *Config) { c.Standardise = false }, toyOptions{agents: 2, choices: true}},
	{"single, choices", func(c *Config) { c.Mix = Single }, toyOptions{agents: 2, choices: true}},
}

// TestInsight: an insight is the policy, through standardisation and clipping.
func TestInsight(t *testing.T) {
	for _, f := range insightForms {
		t.Run(f.name, func(t *testing.T) {
			// Smooth networks, so that differences are derivatives.
			p, in, seen := opened(t, func(c *Config) { f.set(c); c.Activation = nets.Tanh }, f.o, 5)
			insighttest.Check(t, newToy(f.o).Spec(), p, in, seen)
		})
	}
}

// BenchmarkInsight is one forward pass and one gradient of 32 states; an explanation takes thousands of them.
func BenchmarkInsight(b *testing.B) {
	const rows = 32
	o := toyOptions{agents: 6}
	r := newRun(b, Default(), o, envs.VectorOptions{})
	p := must.Get(r.l.Policy())(b)
	in := must.Get(p.(agents.Transparent).Insight(native.New(native.Options{}), rows))(b)
	seen, weights := make([]float32, rows*o.agents*2), make([]float32, rows*o.agents*len(in.Outputs()))
	for i := range weights {
		weights[i] = 1
	}
	b.ReportAllocs()
	for b.Loop() {
		must.Get(in.Forward(seen))(b)
		must.Get(in.Gradient(weights))(b)
	}
}

func TestInsightRefuses(t *testing.T) {
	p, _, _ := opened(t, func(*Config) {}, toyOptions{agents: 2}, 3)
	if _, err := p.Insight(native.New(native.Options{}), 0); err == nil {
		t.Error("0 rows were accepted")
	}
}
