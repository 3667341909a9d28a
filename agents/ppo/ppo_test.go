package ppo

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/internal/graphstest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/classic"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// The toy refuses illegal choices, so that learning it to the end shows that none is ever made.
func TestLearnsUnderMasks(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"default": func(*Config) {}, "no value clip": func(c *Config) { c.ValueClip = false },
		"KL stop": func(c *Config) { c.TargetKL = 0.02 }, "seconds": func(c *Config) { c.GammaSeconds = 1 },
		"plain": func(c *Config) { c.Orthogonal, c.Standardise = false, false },
	} {
		t.Run(name, func(t *testing.T) {
			c := quick()
			change(&c)
			toy := func() envs.Env { return choicetest.NewToy(choicetest.Toy{Length: 5}) }
			if mean := paid(t, learn(t, c, 8_000, toy), toy(), false)[0]; mean < 1.6 {
				t.Errorf("a step pays %.3f, want 5/3", mean)
			}
		})
	}
}

// Choices whose masks depend on the choices before, agents that are away, continuous and whole numbers, two kinds: with
// weights of the agents' own, and shared.
func TestLearnsSeveralKinds(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"shared": func(*Config) {}, "own": func(c *Config) { c.Shared = false },
		"tanh": func(c *Config) { c.Bounds, c.LogStd = Squash, -1 },
	} {
		t.Run(name, func(t *testing.T) {
			c := quick()
			c.Hidden = []int{32}
			change(&c)
			env := func() envs.Env { return newCrew() }
			l := learn(t, c, 20_000, env)
			got := paid(t, l, env(), false)
			// One picker and a half earn up to 2 each.
			if got[0] < 2.85 || got[1] < -0.3 {
				t.Errorf("steps pay %.3f, want nearly 3 and 0", got)
			}
			if drawn := paid(t, l, env(), true); drawn[1] >= got[1] {
				t.Errorf("drawn actions pay %.3f, means %.3f: nothing was drawn", drawn[1], got[1])
			}
		})
	}
}

func TestLearnsGraphs(t *testing.T) {
	c := quick()
	c.Graph.Hidden, c.Graph.Layers, c.Rollout, c.Rate, c.Minibatches = 16, 1, 64, 3e-3, 2
	toy := func() envs.Env { return graphstest.NewToy(3) }
	before := paid(t, learn(t, c, 2, toy), toy(), false)[0]
	after := paid(t, learn(t, c, 12_000, toy), toy(), false)[0]
	if after < before+0.2 || after < 0.5 {
		t.Errorf("a step pays %.3f, before learning %.3f", after, before)
	}
}

// Where everything pays 1 a state is worth 1/(1−γ) if episodes are cut, and 1 if the world ends with each step.
func TestTruncationBootstraps(t *testing.T) {
	for _, k := range []struct {
		cut  bool
		want float64
	}{{true, 2}, {false, 1}} {
		l := learn(t, quick(), 6_000, func() envs.Env {
			return choicetest.NewToy(choicetest.Toy{Length: 1, Cut: k.cut, Flat: true})
		})
		rows := &vectorRows{width: 4, all: []float32{1, 0, 1, 0, -1, 1, 0, 0}}
		v := make([]float32, 2)
		must.Do(t, l.parts[0].m.values(rows, []int32{0, 0}, v))
		for _, v := range v {
			if math.Abs(float64(v)-k.want) > 0.1 {
				t.Errorf("cut %v: the value is %.3f, want %g", k.cut, v, k.want)
			}
		}
	}
}

// A target that is passed at once ends every update after one epoch.
func TestTargetKL(t *testing.T) {
	c := quick()
	c.TargetKL = 1e-9
	l := learn(t, c, 10*64*2, func() envs.Env { return choicetest.NewToy(choicetest.Toy{Length: 5}) })
	got := map[string]float64{}
	l.Metrics(func(name string, x float64) { got[name] = x })
	if got["train/epochs"] != 1 || got["train/n_updates"] != 10*4 {
		t.Errorf("%g epochs an update and %g gradient steps, want 1 and 40", got["train/epochs"], got["train/n_updates"])
	}
}

// What the package does not support is refused by name.
func TestRefusals(t *testing.T) {
	e := native.New(native.Options{Threads: 1})
	spec := func(k envs.Kind) *envs.Spec {
		k.Name, k.Agents = "a", 2
		return &envs.Spec{ID: "test/E-v1", Kinds: []envs.Kind{k}}
	}
	graph := envs.Graph{Nodes: []envs.NodeKind{{Name: "n", Width: 1, Capacity: 2}}}
	own, many := quick(), quick()
	own.Shared = false
	many.Minibatches = many.Rollout + 1
	for want, x := range map[string]struct {
		c Config
		s *envs.Spec
	}{
		"action space of a is Dict":        {quick(), spec(envs.Kind{Observation: envs.Unbounded(1), Action: envs.Dict{}})},
		"observation space of a is Box(0)": {quick(), spec(envs.Kind{Observation: envs.Unbounded(0), Action: envs.Discrete{N: 2}})},
		"minibatches is 65, want at most": {many, spec(envs.Kind{Observation: envs.Unbounded(1),
			Action: envs.Discrete{N: 2}})},
		"they share their weights":            {own, spec(envs.Kind{Observation: graph, Action: envs.Discrete{N: 3}})},
		"rollout is 0, want":                  {Config{}, spec(envs.Kind{})},
		"action space of a is Box(1, [0, 1])": {quick(), spec(envs.Kind{Observation: graph, Action: envs.NewBox(1, 0, 1)})},
	} {
		if x.c.Rollout == 0 {
			x.c = quick()
			x.c.Rollout = 0
		}
		_, err := New(x.c, agents.Context{Spec: x.s, NumEnvs: 1, Train: e, Act: e, Seed: 1, Steps: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A step in the environment does not allocate, nor does an update on vectors once its memory has grown.
func TestStepDoesNotAllocate(t *testing.T) {
	c := quick()
	c.Rollout = 16
	step := choicetest.Loop(t, 2, 100, func() (envs.Env, error) { return classic.NewCartPole(classic.DefaultCartPole()) },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	if n := testing.AllocsPerRun(500, step); n > 0 {
		t.Errorf("%g allocations a step, want none", n)
	}
	lqr := choicetest.Loop(t, 2, 100, func() (envs.Env, error) { return classic.NewLQR(classic.DefaultLQR()) },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	if n := testing.AllocsPerRun(500, lqr); n > 0 {
		t.Errorf("%g allocations a step of continuous actions, want none", n)
	}
}
