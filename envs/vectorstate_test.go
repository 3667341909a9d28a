package envs_test

import (
	"reflect"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/internal/must"
)

// Every field of what agents see is saved and restored, and every field is copied.
func TestObservationIsWhole(t *testing.T) {
	space := envs.Graph{
		Nodes: []envs.NodeKind{{Name: "node", Width: 1, Capacity: 3}},
		Edges: []envs.EdgeKind{{Name: "edge", Width: 1, Capacity: 2}},
	}
	empty := func() *envs.Observation {
		return &envs.Observation{Kinds: []envs.KindObservation{{
			Values: make([]float32, 2), Active: make([]bool, 1), Mask: make([]bool, 3), Legal: make([]int8, 2),
			Graphs: []*envs.GraphValue{envs.NewGraphValue(space)},
		}}}
	}
	o := empty()
	k := &o.Kinds[0]
	k.Values[1], k.Active[0], k.Mask[2], k.Legal[1] = 1.5, true, true, -3
	for range 2 {
		_, row, err := k.Graphs[0].AddNode(0)
		must.Do(t, err)
		row[0] = 4
	}
	row := must.Get(k.Graphs[0].AddEdge(0, 1, 0))(t)
	row[0] = 7
	for i := range reflect.TypeFor[envs.KindObservation]().NumField() {
		if reflect.ValueOf(k).Elem().Field(i).Len() == 0 {
			t.Fatalf("field %s is not in this test", reflect.TypeFor[envs.KindObservation]().Field(i).Name)
		}
	}
	saved := must.Get(state.Append(nil, "observation", o))(t)
	loaded, copied := empty(), empty()
	must.Do(t, state.Load(saved, "observation", loaded))
	if copied.CopyFrom(o); !reflect.DeepEqual(loaded, o) || !reflect.DeepEqual(copied, o) {
		t.Errorf("saved %+v, loaded %+v, copied %+v", o.Kinds[0], loaded.Kinds[0], copied.Kinds[0])
	}
}
