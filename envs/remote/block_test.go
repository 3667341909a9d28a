package remote

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// What is beyond a graph's counts is zero, whatever was there before: also where a copy's graph shrinks, and nothing of the other
// copy's changes.
func TestBeyondTheCountsIsZero(t *testing.T) {
	spec := must.Get(onGraphs())(t).Spec()
	space := spec.Kinds[0].Observation.(envs.Graph)
	b := newBlock(spec, 2)
	b.memory = make([]byte, b.bytes)
	g, edges := graphsIn(b, spec.Kinds[0].Name, space), 1
	for step, n := range []int{5, space.Edges[edges].Capacity, 0, 2, 4, 1} {
		v := envs.NewGraphValue(space)
		e := &v.Edges[edges]
		e.Len = n
		for i := range e.From { // what is beyond Len is of an earlier graph
			e.From[i], e.To[i] = int32(10*step+i+1), int32(-i-1)
		}
		for i := range e.Features {
			e.Features[i] = float32(step + i + 1)
		}
		g.show(1, v)
		r := g.edges[edges]
		features, ends := r.features[r.capacity*r.width:], r.ends[2*r.capacity:]
		if r.count[1] != int32(n) || r.count[0] != 0 {
			t.Fatalf("the counts are %v, want 0 and %d", r.count, n)
		}
		for i := range r.capacity {
			from, to, first := ends[i], ends[r.capacity+i], features[i*r.width]
			want := fmt.Sprint(0, 0, float32(0))
			if i < n {
				want = fmt.Sprint(e.From[i], e.To[i], e.Features[i*r.width])
			}
			if got := fmt.Sprint(from, to, first); got != want {
				t.Fatalf("edge %d of %d is %s, want %s", i, n, got, want)
			}
		}
		for i, x := range r.features[:r.capacity*r.width] {
			if x != 0 {
				t.Fatalf("feature %d of the other copy is %g, want 0", i, x)
			}
		}
	}
}
