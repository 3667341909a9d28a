package reinforce

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/agents/internal/graphstest"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
)

// quickGraphs learns the graphs' toy in seconds.
func quickGraphs() Config {
	c := Default()
	c.Graph.Hidden, c.Graph.Layers = 16, 1
	c.Rate, c.ValueRate, c.Gamma, c.Entropy, c.Rows, c.ValueUpdates = 1e-2, 1e-2, 0.5, 1e-3, 64, 2
	return c
}

func learnGraphs(t testing.TB, c Config, steps int64) *Learner {
	t.Helper()
	_, l := choicetest.Train(t, 1, 8, steps, 1, func() (envs.Env, error) { return graphstest.NewToy(4), nil },
		func(ctx agents.Context) (agents.Learner, error) { return New(c, ctx) })
	return l.(*Learner)
}

// Which bin a thing belongs to is in the edges alone: a network that learns it passes messages. Illegal actions are
// errors of the toy.
func TestLearnsWithinGraphs(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"value":   func(*Config) {},
		"dropout": func(c *Config) { c.Graph.Dropout = 0.05 },
		"replay":  func(c *Config) { c.Replay.Trajectories, c.Replay.Draw, c.TargetTau = 16, 2, 0.2 },
	} {
		t.Run(name, func(t *testing.T) {
			c := quickGraphs()
			change(&c)
			p := must.Get(learnGraphs(t, c, 15_000).Policy())(t)
			if paid := paidOfBest(t, p); paid < 0.9 {
				t.Errorf("the policy gets %.3f of what the best actions pay, want 0.9 (half is for the way alone)", paid)
			}
		})
	}
}

func paidOfBest(t *testing.T, p agents.Policy) float64 {
	t.Helper()
	toy := graphstest.NewToy(4)
	paid, best := 0.0, 0.0
	r := rollout.NewRunner(toy)
	r.OnStep = func(s rollout.Step) { paid += float64(s.Rewards[0][0]) }
	obs := envs.NewObservation(toy.Spec())
	for seed := range uint64(100) {
		must.Get(r.Episode(rollout.Actor{Policy: p}, 1<<40+seed))(t)
		replica, act, out := graphstest.NewToy(4), envs.NewAction(toy.Spec()), envs.NewOutcome(toy.Spec())
		must.Do(t, replica.Reset(1<<40+seed, nil, obs))
		for range 4 {
			best += replica.Best()
			act.Kinds[0][0] = graphstest.Things // nothing is taken
			must.Do(t, replica.Step(act, obs, out))
		}
	}
	return paid / best
}

// The gradient that an update follows is that of its loss: against central differences in a few of the policy's and the
// value's weights.
func TestGraphGradients(t *testing.T) {
	c := quickGraphs()
	c.Episodes, c.Entropy, c.Graph.Layers = 1<<20, 0.1, 2
	l := learnGraphs(t, c, 64)
	must.Do(t, l.prepare())
	m := l.m.(*graphModel)
	for name, k := range map[string]struct {
		net  nets.GraphNet
		loss func(*batch) (float64, error)
	}{"policy": {m.Policy.Net, m.policyGradient}, "value": {m.Value.Net, m.valueGradient}} {
		n := nets.Size(k.net.Params())
		w, g := make([]float32, n), make([]float32, n)
		k.net.Params().Get(w)
		must.Get(k.loss(&l.batch))(t)
		k.net.Grads().Get(g)
		top := float32(0)
		for _, x := range g {
			top = max(top, max(x, -x))
		}
		at := func(i int, x float32) float64 {
			old := w[i]
			w[i] = x
			k.net.Params().Set(w)
			w[i] = old
			loss := must.Get(k.loss(&l.batch))(t)
			return loss
		}
		for i := 0; i < n; i += 1 + n/97 {
			const h = 1e-2
			want := (at(i, w[i]+h) - at(i, w[i]-h)) / (2 * h)
			// Of second order, in float32, across the kinks of ReLU.
			if diff := math.Abs(want - float64(g[i])); diff > 0.03*float64(top) {
				t.Errorf("%s: weight %d has gradient %g, its loss changes by %g (largest %g)", name, i, g[i], want, top)
			}
		}
	}
}

// What a learner saves in the middle of episodes brings another to the same state, and both go on alike.
func TestGraphSaveAndLoad(t *testing.T) {
	c := quickGraphs()
	c.Episodes, c.TargetTau, c.Replay.Trajectories, c.Graph.Dropout = 3, 0.1, 5, 0.1
	l := learnGraphs(t, c, 8*7)
	s := agents.NewState()
	must.Do(t, l.Save(s))
	if l.store.running[0].steps == 0 || len(l.store.old) != 5 {
		t.Fatalf("a poor moment to save: %d steps, %d old", l.store.running[0].steps, len(l.store.old))
	}
	m := learnGraphs(t, c, 0)
	must.Do(t, m.Load(s))
	again := agents.NewState()
	must.Do(t, m.Save(again))
	for name, b := range s.Blobs {
		if string(b) != string(again.Blobs[name]) {
			t.Errorf("%s is not what was saved", name)
		}
	}
}

// A policy comes back from its file and acts as before, and not on an environment with another graph.
func TestGraphPolicyFile(t *testing.T) {
	p := must.Get(learnGraphs(t, quickGraphs(), 64).Policy())(t)
	f := must.Get(p.Export())(t)
	e := native.New(native.Options{})
	spec := *graphstest.NewToy(4).Spec()
	q := must.Get(actor.Open(f, &spec, e))(t)
	if a, b := paidOfBest(t, p), paidOfBest(t, q); a != b {
		t.Errorf("the policy pays %g, read back %g", a, b)
	}
	k := spec.Kinds[0]
	k.Action = envs.MultiDiscrete{N: []int{graphstest.Things + 2, 2, graphstest.Bins}}
	spec.Kinds = []envs.Kind{k}
	if _, err := actor.Open(f, &spec, e); err == nil {
		t.Error("a policy was opened for other choices")
	}
}
