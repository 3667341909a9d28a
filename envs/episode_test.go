package envs_test

import (
	"math"
	"testing"

	"github.com/stoker-rl/stoker/envs"
)

// Every reduction over three steps of unequal length, and two kinds of agents.
func TestEpisodeStatistics(t *testing.T) {
	s := &envs.Spec{
		Kinds: []envs.Kind{
			{Name: "a", Agents: 2, Observation: envs.Unbounded(1), Action: envs.Discrete{N: 1}},
			{Name: "b", Agents: 1, Observation: envs.Unbounded(1), Action: envs.Discrete{N: 1}},
		},
		Info: []envs.Quantity{
			{Name: "mean", Reduce: envs.Mean}, {Name: "sum", Reduce: envs.Sum}, {Name: "last", Reduce: envs.Last},
			{Name: "max", Reduce: envs.Max}, {Name: "rate", Reduce: envs.PerTime},
		},
	}
	e, out := envs.NewEpisodeStatistics(s), envs.NewOutcome(s)
	got := envs.Episode{Info: make([]float64, 5)}
	e.Fill(&got)
	for i, x := range got.Info {
		if x != 0 {
			t.Errorf("before the first step %s is %g, want 0", s.Info[i].Name, x)
		}
	}
	for range 2 { // the second time after Reset
		e.Reset()
		for _, step := range []struct {
			x       float64
			elapsed int64
			reward  float32
		}{{-5, 10, 3}, {-2, 30, 6}, {-8, 60, 9}} {
			for i := range out.Info {
				out.Info[i] = step.x
			}
			out.Elapsed = step.elapsed
			out.Rewards[0][0], out.Rewards[0][1], out.Rewards[1][0] = step.reward, 0, 2*step.reward
			e.Add(out)
		}
		e.Fill(&got)
		if got.Return != 18 || got.Length != 3 || got.Elapsed != 100 {
			t.Errorf("return %g, length %d, elapsed %d, want 18, 3, 100", got.Return, got.Length, got.Elapsed)
		}
		// Per time: (−5·10 − 2·30 − 8·60)/100.
		for i, want := range []float64{-5, -15, -8, -2, -5.9} {
			if math.Abs(got.Info[i]-want) > 1e-12 {
				t.Errorf("%s is %g, want %g", s.Info[i].Name, got.Info[i], want)
			}
		}
	}
}

// Steps of no length give no rate, and no NaN.
func TestPerTimeWithoutTime(t *testing.T) {
	s := &envs.Spec{Kinds: []envs.Kind{{Name: "a", Agents: 1, Observation: envs.Unbounded(1),
		Action: envs.Discrete{N: 1}}},
		Info: []envs.Quantity{{Name: "rate", Reduce: envs.PerTime}}}
	e, out := envs.NewEpisodeStatistics(s), envs.NewOutcome(s)
	out.Info[0] = 5
	e.Add(out)
	got := envs.Episode{Info: make([]float64, 1)}
	if e.Fill(&got); got.Info[0] != 0 {
		t.Errorf("a rate over no time is %g, want 0", got.Info[0])
	}
}
