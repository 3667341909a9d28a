package ppo

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/choice/choicetest"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// Two rows: one is cut after two steps, goes on and reaches the rollout's end; the other one terminates. Advantages are
// compared with the sum Σ (γλ)^k δ_{t+k} written out.
func TestAdvantages(t *testing.T) {
	const gamma, lambda = 0.9, 0.8
	b := &buffer{rows: 2, obs: &vectorRows{width: 1}, ends: &vectorRows{width: 1, all: []float32{0, 0}}}
	p := &part{buf: b, value: []float32{1, 2, 3, 4, 5, 6}, follow: []float32{7, 8}, advantage: make([]float64, 6),
		ret: make([]float64, 6)}
	b.row = []int32{0, 1, 0, 1, 0, 0}
	b.end = []int32{-1, -1, 0, -1, -1, 1}
	b.reward = []float32{1, 10, 2, 20, 3, 4}
	b.discount = []float32{gamma, gamma, gamma, 0, gamma, gamma}
	must.Do(t, p.advantages(lambda))
	g := float64(float32(gamma))
	delta := []float64{
		1 + g*3 - 1, 10 + g*4 - 2,
		2 + g*7 - 3, // cut: its last observation is worth 7
		20 - 4,      // terminated
		3 + g*6 - 5,
		4 + g*8 - 6, // the rollout's end
	}
	want := []float64{
		delta[0] + g*lambda*delta[2], delta[1] + g*lambda*delta[3], delta[2], delta[3], delta[4] + g*lambda*delta[5], delta[5],
	}
	for i := range want {
		if math.Abs(p.advantage[i]-want[i]) > 1e-12 || math.Abs(p.ret[i]-want[i]-float64(p.value[i])) > 1e-12 {
			t.Errorf("sample %d: A %g, R %g, want %g, %g", i, p.advantage[i], p.ret[i], want[i], want[i]+float64(p.value[i]))
		}
	}
	b.end[5] = -1
	if err := p.advantages(lambda); err == nil || !strings.Contains(err.Error(), "nothing follows") {
		t.Errorf("a rollout without an end gave %v", err)
	}
}

// Every sample is in one minibatch of its group, and the groups' minibatches differ by at most one sample.
func TestMinibatches(t *testing.T) {
	c := quick()
	c.Shared, c.Minibatches = false, 3
	f := newFixture(t, newEngine(t), c, kinds()["choice"], 15)
	seen := map[int32]int{}
	for i := range c.Minibatches {
		var m metrics
		must.Do(t, f.p.step(i, &c, &m))
		for g, list := range f.p.batch.samples {
			if n := len(list); n < 2 || n > 3 {
				t.Errorf("minibatch %d has %d samples of agent %d, want 2 or 3", i, n, g)
			}
			for _, s := range list {
				seen[s]++
				if int(f.p.buf.row[s]) != g {
					t.Errorf("sample %d of agent %d is among those of %d", s, f.p.buf.row[s], g)
				}
			}
		}
	}
	for s := range int32(15) {
		if seen[s] != 1 {
			t.Errorf("sample %d is in %d minibatches", s, seen[s])
		}
	}
}

// Where an episode's reset takes the place of a step, that step leaves no sample: 12 steps of an environment with episodes
// of 5 leave 10. Absent agents leave none either: of two pickers in 12 steps one is away in 6.
func TestSamples(t *testing.T) {
	for _, k := range []struct {
		env       envs.Env
		autoreset envs.Autoreset
		want      int
	}{
		{choicetest.NewToy(choicetest.Toy{Length: 5}), envs.NextStep, 10},
		{choicetest.NewToy(choicetest.Toy{Length: 5}), envs.SameStep, 12},
		{newCrew(), envs.SameStep, 12 + 6},
	} {
		v := must.Get(envs.NewVector(func() (envs.Env, error) { return k.env, nil }, envs.VectorOptions{NumEnvs: 1, Seed: 1,
			Autoreset: k.autoreset}))(t)
		e := newEngine(t)
		l := must.Get(New(quick(), agents.Context{Spec: v.Spec(), NumEnvs: 1, Train: e, Act: e, Seed: 1, Steps: 100}))(t)
		must.Do(t, v.Reset())
		for range 12 {
			for _, do := range []func() error{func() error { return l.Act(v) }, v.Step,
				func() error { return l.Observe(v) }, l.Update} {
				must.Do(t, do())
			}
		}
		if n := l.parts[0].buf.len(); n != k.want {
			t.Errorf("%s, %s: %d samples, want %d", k.env.Spec().ID, k.autoreset, n, k.want)
		}
	}
}
