package workflow

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/internal/must"
)

// listed returns all ways by listing the paths, heaviest first, of equal ones the last first.
func listed(w *Workflow, times []float64, d Delays) (out []Way) {
	paths, err := w.Paths(1 << 20)
	if err != nil {
		panic(err)
	}
	for _, p := range paths {
		way := Way{Nodes: p.Nodes, Probability: p.Probability}
		for _, n := range p.Nodes {
			way.Seconds = way.Seconds + float64(w.Executions()[n]*w.runTime(int32(n), times, d)) + d.Edge
		}
		way.Weight = float64(way.Probability * way.Seconds)
		out = append(out, way)
	}
	slices.SortStableFunc(out, func(a, b Way) int {
		switch {
		case a.Weight < b.Weight:
			return -1
		case a.Weight > b.Weight:
			return 1
		}
		return 0
	})
	slices.Reverse(out)
	return out
}

// Ways are the paths in falling order of weight, on graphs of any shape; whole seconds make many weights equal.
func TestWays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := must.Get(drawGraph(rt).Compile())(rt)
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = float64(rapid.IntRange(0, 3).Draw(rt, "time"))
		}
		d := Delays{Edge: float64(rapid.IntRange(0, 1).Draw(rt, "edge"))}
		want := listed(w, times, d)
		n := 0
		for k, got := range w.Ways(times, d) {
			if k != n || k >= len(want) || !slices.Equal(got.Nodes, want[k].Nodes) || got.Weight != want[k].Weight ||
				got.Probability != want[k].Probability || got.Seconds != want[k].Seconds {
				rt.Fatalf("way %d is %+v, want %+v", k, got, want[min(k, len(want)-1)])
			}
			n++
		}
		if n != len(want) {
			rt.Fatalf("%d ways, want %d", n, len(want))
		}
	})
}

// ladder returns a workflow of n steps, each of which chooses between two nodes: 2ⁿ paths.
func ladder(n int) Graph {
	var parts [][]Edge
	for i := range n {
		a, next := fmt.Sprint("a", i), fmt.Sprint("a", i+1)
		parts = append(parts, Choice(a, To(a+"x", 0.25), To(a+"y", 0.75)), Join(next, a+"x", a+"y"))
	}
	return New("ladder", parts...)
}

// The first ways of a workflow with 2^40 paths.
func TestWaysAreLazy(t *testing.T) {
	w := compile(t, ladder(40))
	times := make([]float64, w.NumNodes())
	for n := range times {
		times[n] = 1 + float64(n%5)
	}
	last, n := 0.0, 0
	for k, way := range w.Ways(times, Delays{}) {
		if len(way.Nodes) != 81 || k > 0 && way.Weight > last {
			t.Fatalf("way %d has %d nodes and weight %v after %v", k, len(way.Nodes), way.Weight, last)
		}
		if last, n = way.Weight, n+1; n == 1000 {
			return
		}
	}
	t.Errorf("%d ways", n)
}

func BenchmarkWays(b *testing.B) {
	b.ReportAllocs()
	w := compile(b, ladder(40))
	times := slices.Repeat([]float64{1}, w.NumNodes())
	for range b.N {
		for k := range w.Ways(times, Delays{}) {
			if k == 99 {
				break
			}
		}
	}
}
