package envs_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

// maze is a world of walkers that choose a way, with a fault from its third step on.
type maze struct {
	toy
	fault func(obs *envs.Observation, out *envs.Outcome)
}

var mazeSpec = envs.Spec{
	ID: "test/Maze-v1", Doc: "Walk.",
	Kinds: []envs.Kind{
		{Name: "guide", Agents: 1, Observation: envs.Unbounded(1), Action: envs.NewBox(1, 0, 1)},
		{Name: "walker", Agents: 2, Observation: envs.NewBox(3, -9, 9), Features: []string{"x", "y", "speed"},
			Action: envs.MultiDiscrete{N: []int{4, 2}}, Actions: []string{"way", "run"}},
	},
	Step: envs.Timing{Unit: "step"},
	Info: []envs.Quantity{{Name: "way", Unit: "one", Reduce: envs.Sum}},
}

func (m *maze) Reset(seed uint64, options envs.Options, obs *envs.Observation) error {
	if err := m.begin(seed, options); err != nil {
		return err
	}
	m.show(obs)
	return nil
}

// show never writes the masks: every way is open.
func (m *maze) show(obs *envs.Observation) {
	for i := range obs.Kinds {
		k := &obs.Kinds[i]
		for j := range k.Active {
			k.Active[j] = true
		}
		for j := range k.Values {
			k.Values[j] = float32(m.step)
		}
	}
}

func (m *maze) Step(act *envs.Action, obs *envs.Observation, out *envs.Outcome) error {
	if err := m.admit(nil, act); err != nil {
		return err
	}
	out.Rewards[0][0], out.Rewards[1][0], out.Rewards[1][1], out.Info[0] = 1, 1, 1, float64(act.Kinds[1][0])
	m.end(out, false, m.step+1 == 6, 1)
	m.show(obs)
	if m.fault != nil && m.step == 3 {
		m.fault(obs, out)
	}
	return nil
}

// play steps two mazes with random actions until one refuses, and returns the number of steps and the error.
func play(t *testing.T, fault func(*envs.Observation, *envs.Outcome), steps int) (int, error) {
	t.Helper()
	v := must.Get(envs.NewVector(func() (envs.Env, error) { return &maze{toy{spec: &mazeSpec}, fault}, nil },
		envs.VectorOptions{NumEnvs: 2}))(t)
	sampler := must.Get(envs.NewActionSampler(v.Spec()))(t)
	must.Do(t, v.Reset())
	ways := map[float32]bool{}
	s := rng.NewStream(1, "maze")
	for n := range steps {
		for i := range v.NumEnvs() {
			must.Do(t, sampler.Sample(s, v.Obs.Env(i), v.Act.Env(i)))
			ways[v.Act.Env(i).Kinds[1][0]] = true
		}
		if err := v.Step(); err != nil {
			return n + 1, err
		}
	}
	if len(ways) != 4 {
		t.Errorf("the ways %v were taken, want all of 4", ways)
	}
	return steps, nil
}

// Choices whose masks an environment never writes are all legal, in every episode.
func TestNoMaskAllowsAll(t *testing.T) {
	if n, err := play(t, nil, 40); err != nil || n != 40 {
		t.Errorf("after %d steps: %v", n, err)
	}
	// The same for an observation that came from elsewhere, without masks.
	sampler := must.Get(envs.NewActionSampler(&mazeSpec))(t)
	obs, act := envs.NewObservation(&mazeSpec), envs.NewAction(&mazeSpec)
	obs.Kinds[1].Mask = nil
	obs.Kinds[1].Active[0] = true
	if err := sampler.Sample(rng.NewStream(1, "maze"), obs, act); err != nil {
		t.Error(err)
	}
}

// What breaks the contract is refused at the step where it happens, and the message names the field once.
func TestGuardNamesTheField(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		want  string
		fault func(obs *envs.Observation, out *envs.Outcome)
	}{
		{"obs.Kinds[1].Mask: walker 1 is active and has no legal choice in component 1 of its action (run); allow at least " +
			"one of its 2 choices", func(o *envs.Observation, _ *envs.Outcome) {
			copy(o.Kinds[1].Mask[6:], []bool{true, false, false, true, false, false})
		}},
		{"obs.Kinds[1].Mask has 6 entries, want 12: 6 for each of 2 agents", func(o *envs.Observation, _ *envs.Outcome) {
			o.Kinds[1].Mask = make([]bool, 6)
		}},
		{"obs.Kinds[1].Mask has 0 entries", func(o *envs.Observation, _ *envs.Outcome) { o.Kinds[1].Mask = nil }},
		{"obs.Kinds[1].Values has 4 entries, want 6: 3 for each of 2 agents", func(o *envs.Observation, _ *envs.Outcome) {
			o.Kinds[1].Values = o.Kinds[1].Values[:4]
		}},
		{"obs.Kinds[1].Values is another slice than the caller gave", func(o *envs.Observation, _ *envs.Outcome) {
			o.Kinds[1].Values = make([]float32, 6)
		}},
		{"obs.Kinds[0].Active has 2 entries, want 1", func(o *envs.Observation, _ *envs.Outcome) {
			o.Kinds[0].Active = make([]bool, 2)
		}},
		{"obs.Kinds: has 1 kinds of agents, want 2", func(o *envs.Observation, _ *envs.Outcome) { o.Kinds = o.Kinds[:1] }},
		{"obs.Kinds[1].Values[5]: feature 2 (speed) of walker 1 is NaN", func(o *envs.Observation, _ *envs.Outcome) {
			o.Kinds[1].Values[5] = nan
		}},
		{"obs.Kinds[0].Values[0]: feature 0 of guide 0 is +Inf", func(o *envs.Observation, _ *envs.Outcome) {
			o.Kinds[0].Values[0] = inf
		}},
		{"out.Rewards[1][1]: reward of walker 1 is NaN", func(_ *envs.Observation, out *envs.Outcome) {
			out.Rewards[1][1] = nan
		}},
		{"out.Rewards[1] is another slice", func(_ *envs.Observation, out *envs.Outcome) {
			out.Rewards[1] = make([]float32, 2)
		}},
		{"out.Rewards: has 1 kinds", func(_ *envs.Observation, out *envs.Outcome) { out.Rewards = out.Rewards[:1] }},
		{"out.Info has 0 entries, want 1", func(_ *envs.Observation, out *envs.Outcome) { out.Info = nil }},
	} {
		n, err := play(t, c.fault, 4)
		if n != 3 || err == nil || !strings.Contains(err.Error(), "environment 0: test/Maze-v1: "+c.want) {
			t.Errorf("after %d steps: %v; want %q after 3", n, err, c.want)
			continue
		}
		if field, _, _ := strings.Cut(c.want, " "); strings.Count(err.Error(), strings.TrimSuffix(field, ":")) != 1 {
			t.Errorf("the field is not named once: %v", err)
		}
	}
}

// The same for graphs.
func TestGuardOfGraphs(t *testing.T) {
	env := must.Get(newPlacement())(t)
	g := envs.NewGuard(env.Spec())
	for want, fault := range map[string]func(*envs.GraphValue){
		"": func(*envs.GraphValue) {},
		"Graphs[0]: edge 0 of kind": func(v *envs.GraphValue) {
			v.Edges[2].Len, v.Edges[2].From[0], v.Edges[2].To[0] = 1, 0, 99
		},
		"Graphs[0]: graph has 65 no": func(v *envs.GraphValue) { v.Nodes[0].Len = window + 1 },
		"Graphs[0].Nodes[2].Features[4]: feature 0 of node 4 is NaN": func(v *envs.GraphValue) {
			v.Nodes[2].Features[4] = float32(math.NaN())
		},
	} {
		obs := envs.NewObservation(env.Spec())
		must.Do(t, env.Reset(1, nil, obs))
		fault(obs.Kinds[0].Graphs[0])
		err := g.Observation(obs)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "obs.Kinds[0]."+want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
