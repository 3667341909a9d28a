package envs_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/rng"
)

var (
	inf  = float32(math.Inf(1))
	nan  = float32(math.NaN())
	half = envs.Box{Low: []float32{-1, 0, -inf, -inf}, High: []float32{1, inf, 2, inf},
		Integer: []bool{false, true, false, true}}
	menu = envs.Dict{Keys: []string{"price", "plan"}, Tuple: envs.Tuple{Spaces: []envs.Space{
		envs.NewBox(2, 0, 3), envs.MultiDiscrete{N: []int{2, 4}}}}}
)

func TestContains(t *testing.T) {
	for _, c := range []struct {
		space envs.Space
		x     []float32
		want  string // part of the error, "" for none
	}{
		{envs.NewBox(2, -1, 1), []float32{-1, 1}, ""},
		{envs.NewBox(2, -1, 1), []float32{0, 1.01}, "component 1 is 1.01, want [-1, 1]"},
		{envs.NewBox(2, -1, 1), []float32{nan, 0}, "component 0 is NaN"},
		{envs.NewBox(2, -1, 1), []float32{0}, "1 components, want 2 for Box(2, [-1, 1])"},
		{envs.Unbounded(1), []float32{math.MaxFloat32}, ""},
		{envs.Unbounded(1), []float32{inf}, "component 0 is +Inf, want a finite number"},
		{envs.Unbounded(1), []float32{nan}, "component 0 is NaN"},
		{half, []float32{0.5, 3, -7, -2}, ""},
		{half, []float32{0.5, 3.5, 0, 0}, "component 1 is 3.5, want a whole number"},
		{half, []float32{0, -1, 0, 0}, "component 1 is -1"},
		{half, []float32{0, 0, 2.5, 0}, "component 2 is 2.5"},
		{half, []float32{0, 0, 0, inf}, "component 3 is +Inf"},
		{envs.Discrete{N: 3}, []float32{2}, ""},
		{envs.Discrete{N: 3}, []float32{3}, "component 0 is 3, want a whole number in [0, 3)"},
		{envs.Discrete{N: 3}, []float32{0.5}, "component 0 is 0.5"},
		{envs.Discrete{N: 3}, []float32{-1}, "component 0 is -1"},
		{envs.Discrete{N: 3}, []float32{nan}, "component 0 is NaN"},
		{envs.Discrete{N: 3}, nil, "0 components, want 1 for Discrete(3)"},
		{envs.MultiDiscrete{N: []int{2, 5}}, []float32{1, 4}, ""},
		{envs.MultiDiscrete{N: []int{2, 5}}, []float32{1, 5}, "component 1 is 5, want a whole number in [0, 5)"},
		{envs.MultiDiscrete{N: []int{2, 5}}, []float32{1, inf}, "component 1 is +Inf"},
		{menu, []float32{0, 3, 1, 3}, ""},
		{menu, []float32{0, 3.5, 1, 3}, "price: component 1 is 3.5"},
		{menu, []float32{0, 3, 1, 4}, "plan: component 1 is 4"},
		{menu, []float32{0, 3, 1}, "3 components, want 4"},
		{menu.Tuple, []float32{0, 3, 2, 0}, "part 1: component 0 is 2"},
		{clusterGraph, nil, ""},
		{clusterGraph, []float32{1}, "1 components, want 0"},
	} {
		err := c.space.Contains(c.x)
		if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v contains %v: %v, want %q", c.space, c.x, err, c.want)
		}
	}
}

// What is sampled is contained, reaches every choice and every part of a box, and keeps to its mask.
func TestSamples(t *testing.T) {
	s := rng.NewStream(1, "samples")
	for _, sp := range []envs.Space{envs.NewBox(3, -2, 5), envs.Unbounded(2), half, envs.Discrete{N: 4},
		envs.MultiDiscrete{N: []int{3, 2, 7}}, menu} {
		x := make([]float32, sp.Width())
		for range 2000 {
			sp.Sample(s, nil, x)
			if err := sp.Contains(x); err != nil {
				t.Fatalf("%v: sample %v: %v", sp, x, err)
			}
		}
	}
	whole := envs.Box{Low: []float32{-2}, High: []float32{2}, Integer: []bool{true}}
	counts := map[float32]int{}
	x := make([]float32, 1)
	for range 5000 {
		whole.Sample(s, nil, x)
		counts[x[0]]++
	}
	for v := float32(-2); v <= 2; v++ {
		// 1,000 expected, with a deviation of 28.
		if n := counts[v]; n < 880 || n > 1120 {
			t.Errorf("%g is drawn %d times of 5000 from five whole numbers", v, n)
		}
	}
}

func TestMaskedSamples(t *testing.T) {
	s := rng.NewStream(2, "masked")
	sp := envs.Dict{Keys: []string{"x", "a", "b"}, Tuple: envs.Tuple{Spaces: []envs.Space{
		envs.NewBox(1, 0, 1), envs.Discrete{N: 3}, envs.MultiDiscrete{N: []int{2, 3}}}}}
	if sp.MaskWidth() != 8 || sp.Width() != 4 || !slices.Equal(envs.Choices(sp), []int{0, 3, 2, 3}) {
		t.Fatalf("width %d, mask %d, choices %v", sp.Width(), sp.MaskWidth(), envs.Choices(sp))
	}
	mask := []bool{true, false, true, false, true, true, true, false}
	seen := map[string]int{}
	x := make([]float32, 4)
	for range 4000 {
		sp.Sample(s, mask, x)
		seen[fmt.Sprint(x[1:])]++
	}
	if len(seen) != 4 {
		t.Errorf("drawn were %v, want four combinations", seen)
	}
	for _, c := range []string{"[0 1 0]", "[0 1 1]", "[2 1 0]", "[2 1 1]"} {
		// 1,000 expected, with a deviation of 27.
		if n := seen[c]; n < 880 || n > 1120 {
			t.Errorf("%s is drawn %d times of 4000", c, n)
		}
	}
}

func TestSpaceNames(t *testing.T) {
	for sp, want := range map[fmt.Stringer]string{
		&half:                 "Box(4, mixed bounds)",
		envs.Discrete{N: 2}:   "Discrete(2)",
		&menu:                 "Dict(price: Box(2, [0, 3]), plan: MultiDiscrete([2 4]))",
		&menu.Tuple:           "Tuple(Box(2, [0, 3]), MultiDiscrete([2 4]))",
		&envs.Box{}:           "Box(0)",
		&clusterGraph:         "Graph(invocation: 64×3, function: 8×1, node: 16×1, dependency: 8 edges, allocation: 64 edges, temporal: 64 edges, sharing: 128 edges)",
		&envs.MultiDiscrete{}: "MultiDiscrete([])",
	} {
		if got := sp.String(); got != want {
			t.Errorf("a space is called %s, want %s", got, want)
		}
	}
}

// Contains and Sample are in every step's path.
func TestSpacesDoNotAllocate(t *testing.T) {
	s := rng.NewStream(1, "no garbage")
	for _, sp := range []envs.Space{half, envs.Discrete{N: 4}, envs.MultiDiscrete{N: []int{3, 2}}, menu, menu.Tuple} {
		x := make([]float32, sp.Width())
		if n := testing.AllocsPerRun(100, func() {
			sp.Sample(s, nil, x)
			must.Do(t, sp.Contains(x))
		}); n != 0 {
			t.Errorf("%v allocates %g times", sp, n)
		}
	}
}

func TestCheckAction(t *testing.T) {
	s := &sizingSpec
	act := envs.NewAction(s)
	if err := envs.CheckAction(s, nil, act); err != nil {
		t.Error(err)
	}
	act.Kinds[0][4*2+1] = 2
	err := envs.CheckAction(s, nil, act)
	if err == nil || err.Error() != "test/FaaSConf-v1: action of function 2: component 1 is 2, want [0, 1]" {
		t.Errorf("error is %v", err)
	}
	if err := envs.CheckAction(s, func(_, agent int) bool { return agent != 2 }, act); err != nil {
		t.Errorf("an inactive agent's action is read: %v", err)
	}
	for _, a := range []*envs.Action{{}, {Kinds: [][]float32{nil}}, {Kinds: [][]float32{make([]float32, 23)}},
		{Kinds: [][]float32{make([]float32, 24), nil}}} {
		if err := envs.CheckAction(s, nil, a); err == nil ||
			!strings.Contains(err.Error(), `want 6 agents × 4 for kind "function"`) {
			t.Errorf("an action of the wrong size gives %v", err)
		}
	}
}

func TestSpecHelpers(t *testing.T) {
	if i, err := sizingSpec.InfoIndex("latency"); i != 1 || err != nil {
		t.Errorf("latency is at %d, %v", i, err)
	}
	if _, err := sizingSpec.InfoIndex("joy"); err == nil || !strings.Contains(err.Error(), `no quantity "joy"`) {
		t.Errorf("an unknown quantity gives %v", err)
	}
	if n := sizingSpec.Agents(); n != 6 {
		t.Errorf("there are %d agents, want 6", n)
	}
}

// A sampler says who has nothing left to choose.
func TestSamplerRefusesEmptyMasks(t *testing.T) {
	spec := &envs.Spec{ID: "test/Masks-v1", Kinds: []envs.Kind{{Name: "chooser", Agents: 2,
		Observation: envs.Unbounded(1), Action: envs.MultiDiscrete{N: []int{2, 2}}}}}
	sampler, err := envs.NewActionSampler(spec)
	must.Do(t, err)
	obs, act, s := envs.NewObservation(spec), envs.NewAction(spec), rng.NewStream(1, "")
	obs.Kinds[0].Active[1] = true
	copy(obs.Kinds[0].Mask[4:], []bool{true, true, false, false})
	err = sampler.Sample(s, obs, act)
	if err == nil || err.Error() != "test/Masks-v1: action of chooser 1: component 1 has no legal choice" {
		t.Errorf("error is %v", err)
	}
	spec.Kinds[0].MaskAfter = func(_ *envs.KindObservation, _ int, partial []float32, mask []bool) error {
		for i := range mask {
			mask[i] = len(partial) == 0
		}
		return nil
	}
	if err := sampler.Sample(s, obs, act); err == nil ||
		!strings.Contains(err.Error(), "component 1 has no legal choice after [") {
		t.Errorf("error is %v", err)
	}
	spec.Kinds[0].Action = envs.NewBox(1, 0, 1)
	if _, err := envs.NewActionSampler(spec); err == nil ||
		!strings.Contains(err.Error(), "component 0 of its actions is not a choice") {
		t.Errorf("a dependent mask over a box gives %v", err)
	}
}
