package workflow

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/internal/must"
)

// Delays of PRCP's platform by hand: two nodes in a cycle taken again with probability 0.1.
func TestDelays(t *testing.T) {
	w := compile(t, New("", Chain("1", "2"), Repeat("2", "1", 0.1), Choice("2", To(End, 0.9))))
	times := []float64{5, 3}
	d := Delays{Node: 0.5, Edge: 0.25}
	// Two node delays and the edge between run 1/0.9 times, the edge back 0.1/0.9 times, the edge out once.
	want := (5+3+2*0.5+0.25)/0.9 + 0.25*0.1/0.9 + 0.25
	if got := w.Response(times, d); !near(got, want, 1e-12) {
		t.Errorf("response is %v, want %v", got, want)
	}
}

// A graph that is not nested: of the paths 1-2-4-6, 1-3-4-6 and 1-3-5-6 the longest counts.
func TestCriticalPath(t *testing.T) {
	w := compile(t, New("", Fork("1", "2", "3"), Join("4", "2", "3"), Chain("3", "5"), Join("6", "4", "5")))
	for _, c := range []struct {
		times map[string]float64
		path  []string
		want  float64
	}{
		{map[string]float64{"1": 1, "2": 5, "3": 1, "4": 2, "5": 1, "6": 1}, []string{"1", "2", "4", "6"}, 9},
		{map[string]float64{"1": 1, "2": 1, "3": 2, "4": 2, "5": 1, "6": 1}, []string{"1", "3", "4", "6"}, 6},
		{map[string]float64{"1": 1, "2": 1, "3": 2, "4": 2, "5": 9, "6": 1}, []string{"1", "3", "5", "6"}, 13},
	} {
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = c.times[w.NodeName(n)]
		}
		path, length := w.CriticalPath(nil, times, Delays{})
		var got []string
		for _, n := range path {
			got = append(got, w.NodeName(n))
		}
		if !slices.Equal(got, c.path) || length != c.want {
			t.Errorf("critical path %v of %v s, want %v of %v s", got, length, c.path, c.want)
		}
		if r := w.Response(times, Delays{}); r != c.want {
			t.Errorf("response %v s, want %v", r, c.want)
		}
	}
	if paths, err := w.Paths(3); err != nil || len(paths) != 3 {
		t.Errorf("%d paths (%v), want 3", len(paths), err)
	}
	if _, err := w.Paths(2); err == nil {
		t.Error("three paths fitted a limit of two")
	}
}

func TestPathsOfBranches(t *testing.T) {
	w := compile(t, FaaSConfBranch())
	paths, err := w.Paths(10)
	if err != nil || len(paths) != 2 || paths[0].Probability != 0.4 || len(paths[0].Nodes) != 5 ||
		paths[1].Probability != 0.6 || len(paths[1].Nodes) != 3 {
		t.Errorf("paths are %+v (%v)", paths, err)
	}
	if got, want := w.Depth(), []int{0, 1, 1, 2, 3, 4, 2}; !slices.Equal(got, want) {
		t.Errorf("depths are %v, want %v", got, want)
	}
	// Longest arm of the branch, though less likely.
	path, length := w.CriticalPath(nil, slices.Repeat([]float64{1}, 7), Delays{})
	if len(path) != 5 || length != 5 {
		t.Errorf("critical path has %d nodes and %v s, want 5", len(path), length)
	}
}

// drawGraph draws a workflow without cycles of up to ten nodes, nested or not, with forks, choices and calls.
func drawGraph(rt *rapid.T) Graph {
	n := rapid.IntRange(1, 10).Draw(rt, "nodes")
	g := Graph{Name: "drawn", Entry: "0"}
	for i := range n {
		g.Nodes = append(g.Nodes, Node{Name: fmt.Sprint(i)})
	}
	for i := 1; i < n; i++ {
		from := rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 1, min(i, 3), rapid.ID).Draw(rt, "from")
		for _, f := range from {
			g.Edges = append(g.Edges, Edge{From: fmt.Sprint(f), To: fmt.Sprint(i), Kind: Next})
		}
	}
	// Make some nodes' edges alternatives, where they have two or more.
	for i := range n {
		var mine []int
		for j, e := range g.Edges {
			if e.From == fmt.Sprint(i) {
				mine = append(mine, j)
			}
		}
		k := len(mine)
		if k < 2 || !rapid.Bool().Draw(rt, "branch") {
			continue
		}
		rest := 1.0
		for j, e := range mine {
			p := rest / float64(k-j)
			g.Edges[e].Kind, g.Edges[e].Probability = Branch, p
			rest -= p
		}
	}
	for i := range n {
		if rapid.IntRange(0, 4).Draw(rt, "loop") == 0 {
			// A node that repeats itself needs alternatives that sum to one with the loop.
			p := rapid.Float64Range(0.1, 0.5).Draw(rt, "p")
			name, branches := fmt.Sprint(i), false
			for j := range g.Edges {
				if e := &g.Edges[j]; e.From == name && e.Kind == Branch {
					e.Probability *= 1 - p
					branches = true
				}
			}
			if !branches {
				g.Edges = append(g.Edges, Edge{From: name, To: End, Kind: Branch, Probability: 1 - p})
			}
			g.Edges = append(g.Edges, Edge{From: name, To: name, Kind: Loop, Probability: p})
		}
	}
	return g
}

// What the analysis expects is what the tracker does, on graphs of any shape.
func TestAnalysisMatchesTracker(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := must.Get(drawGraph(rt).Compile())(rt)
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = rapid.Float64Range(0.1, 3).Draw(rt, "time")
		}
		const requests = 400
		_, visits := simulate(t, w, times, requests)
		for n, want := range w.Executions() {
			if !near(visits[n], want, 6*math.Sqrt((want+want*want)/requests)) {
				rt.Errorf("node %d runs %.3f times, expected %.3f", n, visits[n], want)
			}
		}
	})
}

// Without loops each scenario's longest path is exact: the mean response follows.
func TestResponseMatchesTracker(t *testing.T) {
	w := compile(t, New("", Fork("a", "b", "c"), Choice("b", To("d", 0.3), To("e", 0.7)),
		Choice("c", To("f", 0.6), To("g", 0.4)),
		Join("h", "d", "e", "f", "g"), Chain("c", "h")))
	times := make([]float64, w.NumNodes())
	for n := range times {
		times[n] = float64(n*n%7) + 1
	}
	got, _ := simulate(t, w, times, 40000)
	if want := w.Response(times, Delays{}); !near(got, want, 0.005*want) {
		t.Errorf("mean response %v s, expected %v", got, want)
	}
}

func BenchmarkResponse(b *testing.B) {
	b.ReportAllocs()
	w := compile(b, prcp()[5].graph)
	times := slices.Repeat([]float64{1}, w.NumNodes())
	for range b.N {
		w.Response(times, StepFunctions(Once))
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	g := FaaSConfTcktApp(OneByOne)
	for range b.N {
		must.Get(g.Compile())(b)
	}
}

// A join waits for a branch in a parallel path that turns out not to lead to it: c for what b decides, and d too, in
// parallel to a longer path or not.
func TestResponseWaitsForDecisions(t *testing.T) {
	w := compile(t, New("", Fork("a", "b", "c"), Choice("b", To("c", 0.4), To("d", 0.6)), Chain("c", "e")))
	// b goes to c: a, b, c, e. Else c still waits for b.
	if got := w.Response([]float64{1, 1, 1, 1, 1}, Delays{}); !near(got, 4, 1e-12) {
		t.Errorf("response time %v s, want 4", got)
	}
	for seed := range uint64(20) {
		g := must.Get(Generate(GenerateConfig{Functions: 12, Seed: seed, Shape: Crossing}))(t)
		w := compile(t, g)
		times := make([]float64, w.NumNodes())
		for n := range times {
			times[n] = float64(n*n%7) + 1
		}
		response, visits := simulate(t, w, times, 2500)
		if got := w.Response(times, Delays{}); !near(got, response, 0.03*response) {
			t.Errorf("%s: response time %v s, simulated %v s", w.Name(), got, response)
		}
		for n, want := range w.Executions() {
			if !near(visits[n], want, 0.05) {
				t.Errorf("%s: node %s runs %v times, simulated %v", w.Name(), w.NodeName(n), want, visits[n])
			}
		}
	}
}

// CriticalPath appends to dst the nodes of the longest path through the workflow, with the callees that lengthen it,
// and returns it with its length in seconds. Times count as in [Workflow.Through]: a branch counts as its longest
// alternative, however improbable, and a node as often as it runs in a request that passes it.
func (w *Workflow) CriticalPath(dst []int, times []float64, d Delays) ([]int, float64) {
	after := w.after(times, d)
	length := after[w.entry] + w.own(int32(w.entry), times, d)
	m := int32(w.entry)
	for {
		dst = w.appendCalls(dst, m, times, d)
		next, most := exit, 0.0
		for _, k := range w.onward(nil, m) {
			if t := after[k] + w.own(k, times, d) + d.Edge; next == exit || t > most {
				next, most = k, t
			}
		}
		if next == exit {
			return dst, length
		}
		m = next
	}
}

// appendCalls appends a node and the callees that its time depends on.
func (w *Workflow) appendCalls(dst []int, n int32, times []float64, d Delays) []int {
	dst = append(dst, int(n))
	if len(w.calls[n]) == 0 {
		return dst
	}
	if w.mode[n] == OneByOne {
		for _, m := range w.calls[n] {
			dst = w.appendCalls(dst, m, times, d)
		}
		return dst
	}
	longest := slices.MaxFunc(w.calls[n], func(a, b int32) int {
		return cmp.Compare(w.runTime(a, times, d), w.runTime(b, times, d))
	})
	return w.appendCalls(dst, longest, times, d)
}
