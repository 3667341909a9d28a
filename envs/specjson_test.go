package envs_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"

	"github.com/stoker-rl/stoker/internal/must"
)

// all has every type of space.
func all() *envs.Spec {
	inf := float32(math.Inf(1))
	return &envs.Spec{
		ID: "test/All-v1", Doc: "all", Step: envs.Timing{"window", 30e6}, MaxSteps: 7,
		Info: []envs.Quantity{{Name: "price", Bounds: envs.AtLeast(0)}}, Objective: "price", Levels: []envs.Level{{Of: "price", Value: 2}},
		Kinds: []envs.Kind{
			{
				Name: "vector", Agents: 2, Names: []string{"a", "b"}, Neighbours: [][]int{{1}, {}}, Next: [][]int{{}, {0}},
				Observation: envs.Box{Low: []float32{0, -inf}, High: []float32{1, inf}, Integer: []bool{true, false}},
				Action: envs.Dict{Keys: []string{"x", "y"}, Tuple: envs.Tuple{Spaces: []envs.Space{envs.NewBox(2, -1, 1),
					envs.Tuple{Spaces: []envs.Space{envs.Discrete{N: 3}, envs.Box{Low: []float32{1}, High: []float32{2}, Integer: []bool{true}}}}}}},
				Features: []string{"p", "q"}, FeatureUnits: []string{"s", ""}, FeatureDocs: []string{"", "d"},
			},
			{
				Name: "graph", Agents: 1, Action: envs.MultiDiscrete{N: []int{4, 2}}, Points: []int{0, -1}, Legal: 5,
				Observation: envs.Graph{
					Nodes: []envs.NodeKind{{Name: "n", Width: 2, Capacity: 3, Features: []envs.Component{{"f", "MB", "x"}, {Name: "g"}}}},
					Edges: []envs.EdgeKind{{Name: "e", From: 0, To: 0, Width: 0, Capacity: 4}},
				},
				MaskAfter: func(*envs.KindObservation, int, []float32, []bool) error { return nil },
			},
		},
	}
}

func made(*envs.Spec, int) (func(*envs.KindObservation, int, []float32, []bool) error, error) {
	return func(*envs.KindObservation, int, []float32, []bool) error { return nil }, nil
}

func TestSpecJSON(t *testing.T) {
	want := all()
	text := must.Get(envs.EncodeSpec(want))(t)
	got := must.Get(envs.DecodeSpec(text, made))(t)
	if got.Kinds[0].MaskAfter != nil || got.Kinds[1].MaskAfter == nil {
		t.Error("dependent masks are at the wrong kind")
	}
	want.Kinds[1].MaskAfter, got.Kinds[1].MaskAfter = nil, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s gives\n%+v, want\n%+v", text, got, want)
	}
	if _, err := envs.DecodeSpec(text, nil); err == nil || !strings.Contains(err.Error(), "kinds[1].dependent: legal choices of test/All-v1") {
		t.Errorf("without masks: %v", err)
	}
	failing := func(*envs.Spec, int) (func(*envs.KindObservation, int, []float32, []bool) error, error) {
		return nil, errors.New("no rule")
	}
	if _, err := envs.DecodeSpec(text, failing); err == nil || !strings.Contains(err.Error(), "kinds[1].dependent: no rule") {
		t.Errorf("with masks that cannot be made: %v", err)
	}
	type own struct{ envs.Discrete }
	want.Kinds[0].Action = own{}
	if _, err := envs.EncodeSpec(want); err == nil || !strings.Contains(err.Error(), "kinds[0]") {
		t.Errorf("a space of another package: %v", err)
	}
}

// What does not fit together is refused with its place, and what is too large before it is made.
func TestSpecJSONRefused(t *testing.T) {
	text := must.Get(envs.EncodeSpec(all()))(t)
	for _, c := range []struct{ old, new, want string }{
		{`"id":"test/All-v1"`, `"id":""`, "id or kinds is empty"},
		{`"id":`, `"more":1,"id":`, `unknown field "more"`},
		{`"max_steps":7`, `"max_steps":-7`, "max_steps is -7"},
		{`"agents":2`, `"agents":0`, "kinds[0].agents is 0"},
		{`"agents":2`, `"agents":16777216`, "kinds[0]: what is seen and done takes more than"},
		{`"names":["a","b"]`, `"names":["a"]`, "kinds[0].names has 1 entries, want 2"},
		{`"features":["p","q"]`, `"features":["p"]`, "kinds[0].features has 1 entries, want 2"},
		{`"neighbours":[[1],[]]`, `"neighbours":[[2],[]]`, "kinds[0].neighbours[0][0] is 2, want an agent from 0 to 1"},
		{`"next":[[],[0]]`, `"next":[[],[-1]]`, "kinds[0].next[1][0] is -1"},
		{`"type":"box","width":2,"low":[0,null]`, `"type":"box","width":2,"low":[0,null,1]`, "observation.low has 3 numbers, want 2"},
		{`"type":"box","width":2,"low":[0,null]`, `"type":"box","width":2,"low":[5,null]`, "observation.low[0] is 5"},
		{`"type":"box","width":2,"low":[-1]`, `"type":"box","width":2147483647,"low":[-1]`, "width: what is seen and done takes"},
		{`"type":"box","width":2,"low":[-1]`, `"type":"box","width":-1,"low":[-1]`, "width: is negative"},
		{`"type":"discrete","n":[3]`, `"type":"discrete","n":[0]`, "n[0] is 0"},
		{`"type":"discrete","n":[3]`, `"type":"discrete","n":[3,3]`, "n has 2 numbers"},
		{`"type":"discrete","n":[3]`, `"type":"graph"`, `spaces[0].type is "graph", want`},
		{`"type":"discrete","n":[3]`, `"type":"cube"`, `type is "cube", want`},
		{`"keys":["x","y"]`, `"keys":["x"]`, "keys has 1 entries, want 2"},
		{`"type":"multi-discrete","n":[4,2]`, `"type":"multi-discrete","n":[2,2]`, "points[0]: component 0 has 2 choices, want at least the 3"},
		{`"points":[0,-1]`, `"points":[1,-1]`, "points[0] is 1"},
		{`"legal":5`, `"legal":-5`, "legal is -5"},
		{`"capacity":3`, `"capacity":1073741824`, "nodes[0]: capacity: what is seen and done takes"},
		{`"from":0,"to":0`, `"from":0,"to":1`, "edges[0]: from 0 to 1"},
	} {
		if !bytes.Contains(text, []byte(c.old)) {
			t.Errorf("%s is not in %s", c.old, text)
			continue
		}
		if _, err := envs.DecodeSpec(bytes.Replace(text, []byte(c.old), []byte(c.new), 1), made); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s the error is %v, want one with %q", c.new, err, c.want)
		}
	}
}

// Whatever the text, a spec is small and its buffers can be made, and it is written as it was read.
func FuzzDecodeSpec(f *testing.F) {
	text := must.Get(envs.EncodeSpec(all()))(f)
	f.Add(text)
	f.Add([]byte(`{"id":"a","kinds":[{"agents":1,"observation":{"type":"box"},"action":{"type":"tuple"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := envs.DecodeSpec(text, made)
		if err != nil {
			return
		}
		envs.NewObservation(s)
		envs.NewAction(s)
		first := must.Get(envs.EncodeSpec(s))(t)
		again := must.Get(envs.DecodeSpec(first, made))(t)
		if second, err := envs.EncodeSpec(again); err != nil || !bytes.Equal(first, second) {
			t.Errorf("written\n%s, then\n%s, %v", first, second, err)
		}
	})
}
