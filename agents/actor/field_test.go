package actor

import (
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/envs"
)

// An agent sees itself and the mean of the others that are there; alone, zeros.
func TestField(t *testing.T) {
	k := &envs.Kind{Name: "a", Agents: 3, Observation: envs.Unbounded(2)}
	f := NewField(k)
	for _, c := range []struct {
		active []bool
		want   [][]float32
	}{
		{[]bool{true, true, true}, [][]float32{{1, 2, 6, 5}, {3, 4, 5, 4}, {9, 6, 2, 3}}},
		{[]bool{true, false, true}, [][]float32{{1, 2, 9, 6}, nil, {9, 6, 1, 2}}},
		{[]bool{false, false, true}, [][]float32{nil, nil, {9, 6, 0, 0}}},
	} {
		o := &envs.KindObservation{Values: []float32{1, 2, 3, 4, 9, 6}, Active: c.active}
		f.Begin(o)
		for j, want := range c.want {
			got := make([]float32, 4)
			if f.See(o, j, got); want != nil && !slices.Equal(got, want) {
				t.Errorf("with %v present agent %d sees %v, want %v", c.active, j, got, want)
			}
		}
	}
}
