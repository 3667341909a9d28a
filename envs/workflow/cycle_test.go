package workflow

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stoker-rl/stoker/internal/must"
)

// worst returns SLApp's worst case: n functions in a row, each leading back to itself and to every earlier one.
func worst(n int) Graph {
	round := func(x, digits float64) float64 { return math.Round(x*digits) / digits }
	var parts [][]Edge
	for i := 1; i <= n; i++ {
		back := round(0.9/float64(i+1), 1e4)
		next := To(fmt.Sprint(i+1), round(1-round(back*float64(i), 1e4), 1e6))
		if i == n {
			next.To = End
		}
		parts = append(parts, Choice(fmt.Sprint(i), next))
		for j := 1; j <= i; j++ {
			parts = append(parts, Repeat(fmt.Sprint(i), fmt.Sprint(j), back))
		}
	}
	return New("worst", parts...)
}

// The worst case with 130 vertices, start and end included, and 8,385 edges: exact to 1e-11
// although a request runs its first function 2·10¹¹³ times, its last ten times.
func TestWorstCase(t *testing.T) {
	g := worst(128)
	if len(g.Edges)+1 != 8385 { // the start's edge is not in our graph
		t.Fatalf("%d edges", len(g.Edges)+1)
	}
	w := compile(t, g)
	want := rationalRuns(g)
	for n, got := range w.Executions() {
		if !near(got, want[n], 1e-11*want[n]) {
			t.Fatalf("node %s runs %v times, want %v", w.NodeName(n), got, want[n])
		}
	}
}

// Three and 27 functions of 100 ms: the first by hand and simulated, both as docs/workflows.md says.
func TestWorstCaseResponse(t *testing.T) {
	for n, want := range map[int]float64{3: 1.536713, 27: 9.400922e17} {
		w := compile(t, worst(n))
		times := slices.Repeat([]float64{0.1}, n)
		if got := w.Response(times, Delays{}); !near(got, want, 1e-6*want) {
			t.Errorf("%d functions take %v s, want %v", n, got, want)
		}
		if n == 3 {
			if got, _ := simulate(t, w, times, 40000); !near(got, want, 0.03*want) {
				t.Errorf("%d functions take %v s simulated, want %v", n, got, want)
			}
		}
	}
}

// rationalRuns solves the expected runs of a graph without forks in rational arithmetic, by the same linear system but
// by back substitution from the end: from node i a request goes on once for certain, so that the visits of i+1 follow.
// It knows graphs in which each node leads to the next and back only.
func rationalRuns(g Graph) []float64 {
	n := len(g.Nodes)
	p := make([][]*big.Float, n)
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(x) }
	for i := range p {
		p[i] = make([]*big.Float, n)
	}
	on := make([]*big.Float, n)
	number := func(name string) int { return slices.IndexFunc(g.Nodes, func(m Node) bool { return m.Name == name }) }
	for _, e := range g.Edges {
		if i := number(e.From); e.Kind == Loop {
			p[i][number(e.To)] = num(e.Probability)
		} else {
			on[i] = num(e.Probability)
		}
	}
	// Of the flow out of the first k nodes one request remains: v_k·on_k = 1 + the flow back from later nodes.
	out := make([]float64, n)
	v := make([]*big.Float, n)
	for i := n - 1; i >= 0; i-- {
		flow := num(1)
		for k := i + 1; k < n; k++ {
			for j := 0; j <= i; j++ {
				if p[k][j] != nil {
					flow.Add(flow, new(big.Float).Mul(v[k], p[k][j]))
				}
			}
		}
		v[i] = new(big.Float).Quo(flow, on[i])
		out[i], _ = v[i].Float64()
	}
	return out
}

func BenchmarkWorstCase(b *testing.B) {
	b.ReportAllocs()
	g := worst(128)
	for range b.N {
		must.Get(g.Compile())(b)
	}
}

// Sixteen nodes each of which chooses among all later ones: 2¹⁴ paths, one request at one place.
func choices(n int) Graph {
	var parts [][]Edge
	for i := range n - 1 {
		var arms []Arm
		for j := i + 1; j < n; j++ {
			arms = append(arms, To(fmt.Sprint(j), 1/float64(n-1-i)))
		}
		parts = append(parts, Choice(fmt.Sprint(i), arms...))
	}
	return New("choices", parts...)
}

func TestChoicesAmongAllLater(t *testing.T) {
	w := compile(t, choices(16))
	times := make([]float64, w.NumNodes())
	want := 0.0
	for n := range times {
		times[n] = float64(n + 1)
		runs := 1.0 // node n is passed with probability 1/(16-n): all later ones are as likely to be next
		if n > 0 {
			runs = 1 / float64(16-n)
		}
		if got := w.Executions()[n]; !near(got, runs, 1e-12) {
			t.Errorf("node %d runs %v times, want %v", n, got, runs)
		}
		want += runs * times[n]
	}
	if got := w.Response(times, Delays{}); !near(got, want, 1e-10) {
		t.Errorf("response time %v, want %v", got, want)
	}
}

func BenchmarkChoices(b *testing.B) {
	b.ReportAllocs()
	g := choices(16)
	for range b.N {
		must.Get(g.Compile())(b)
	}
}

// drawCycles draws a workflow with loops that overlap: up to eight nodes, one request at one place, each node leading to
// later ones and back to any earlier one, some of them back only.
func drawCycles(rt *rapid.T, name string) Graph {
	n := rapid.IntRange(2, 8).Draw(rt, "nodes")
	g := Graph{Name: "cycles", Entry: name + "0"}
	for i := range n {
		from := fmt.Sprint(name, i)
		g.Nodes = append(g.Nodes, Node{Name: from})
		var to []string
		if i+1 < n {
			to = append(to, fmt.Sprint(name, i+1))
			if rapid.Bool().Draw(rt, "skip") {
				to = append(to, End)
			}
			if i+2 < n && rapid.Bool().Draw(rt, "later") {
				to = append(to, fmt.Sprint(name, rapid.IntRange(i+2, n-1).Draw(rt, "to")))
			}
		} else {
			to = append(to, End)
		}
		back := rapid.SliceOfNDistinct(rapid.IntRange(0, i), 0, min(i+1, 3), rapid.ID).Draw(rt, "back")
		rest := 1.0
		for k, b := range back {
			p := rest * rapid.Float64Range(0.05, 0.4).Draw(rt, "p")
			if i > 0 && k == len(back)-1 && k > 0 && rapid.IntRange(0, 3).Draw(rt, "only") == 0 {
				p, to = rest, nil // it leads back whatever happens
			}
			g.Edges = append(g.Edges, Repeat(from, fmt.Sprint(name, b), p)...)
			rest -= p
		}
		for k, t := range to {
			p := rest / float64(len(to)-k)
			if len(to) == 1 && len(back) == 0 {
				g.Edges = append(g.Edges, Chain(from, t)...)
				break
			}
			g.Edges = append(g.Edges, Choice(from, To(t, p))...)
			rest -= p
		}
	}
	return g
}

// Loops that overlap run as often as requests that walk through them do, and take as long.
func TestOverlappingLoops(t *testing.T) {
	compiled := 0
	rapid.Check(t, func(rt *rapid.T) {
		w, err := drawCycles(rt, "n").Compile()
		if err != nil {
			// A node may be left that leads to nowhere but back.
			if s := err.Error(); !strings.Contains(s, "cannot be reached") && !strings.Contains(s, "never") &&
				!strings.Contains(s, "lead back") {
				rt.Fatal(err)
			}
			return
		}
		compiled++
		checkSimulated(t, rt, w, 2000, true)
	})
	if compiled < 50 {
		t.Errorf("only %d graphs compiled", compiled)
	}
}

// checkSimulated compares expected runs, and where it is exact the response time, with those of simulated requests.
func checkSimulated(t *testing.T, rt *rapid.T, w *Workflow, requests int, exact bool) {
	must.Do(rt, w.Walkable())
	times := make([]float64, w.NumNodes())
	for n := range times {
		times[n] = 0.5 + float64(n*n%5)
	}
	response, visits := simulate(t, w, times, requests)
	var sum float64
	for n, want := range w.Executions() {
		sum += float64(want * times[n])
		// Visits of a node are at most about geometric; the bound covers many comparisons.
		sd := want + math.Sqrt(want)
		if !near(visits[n], want, 7*sd/math.Sqrt(float64(requests))) {
			rt.Errorf("node %s runs %.3f times, expected %.3f", w.NodeName(n), visits[n], want)
		}
	}
	got := w.Response(times, Delays{})
	if exact && !near(got, sum, 1e-9*sum) {
		rt.Errorf("response time %v, but the nodes take %v in all", got, sum)
	}
	if !near(got, response, 0.25*response) {
		rt.Errorf("response time %v, simulated %v", got, response)
	}
}

// A part that repeats below a fork, entered and left at several nodes.
func TestCycleBelowFork(t *testing.T) {
	// b enters at c or d, which lead to each other; c leads out to e, d to f; both meet g, whose other path is h.
	w := compile(t, New("", Fork("a", "b", "h"), Choice("b", To("c", 0.5), To("d", 0.5)),
		Choice("c", To("d", 0.5), To("e", 0.5)), Repeat("d", "c", 0.25), Choice("d", To("f", 0.75)),
		Join("g", "e", "f", "h")))
	must.Do(t, w.Walkable())
	// From c: leaves by e with 1/2 + 1/2·1/4·P(c), so P(c) = 4/7; from d by e with P(c)/4 = 1/7.
	want := map[string]float64{"a": 1, "b": 1, "h": 1, "g": 1, "e": 5.0 / 14, "f": 9.0 / 14, "c": 5.0 / 7, "d": 6.0 / 7}
	times := make([]float64, w.NumNodes())
	for n := range times {
		if got := w.Executions()[n]; !near(got, want[w.NodeName(n)], 1e-12) {
			t.Errorf("node %s runs %v times, want %v", w.NodeName(n), got, want[w.NodeName(n)])
		}
		times[n] = 1
	}
	_, visits := simulate(t, w, times, 40000)
	for n, v := range visits {
		if !near(v, want[w.NodeName(n)], 0.03) {
			t.Errorf("node %s ran %v times, want %v", w.NodeName(n), v, want[w.NodeName(n)])
		}
	}
	// With h short the walk counts alone: a, b, c and d as often as they run, e or f, g.
	times[node(t, w, "h")] = 0
	if got, want := w.Response(times, Delays{}), 4+11.0/7; !near(got, want, 1e-12) {
		t.Errorf("response time %v, want %v", got, want)
	}
}

// Forks inside loops that overlap: a join counts once for each time that its fork runs.
func TestForksInOverlappingLoops(t *testing.T) {
	// a forks to b and c, which meet at d; d repeats from a, or goes on to e, which repeats from d or a, or ends.
	w := compile(t, New("", Fork("a", "b", "c"), Join("d", "b", "c"), Repeat("d", "a", 0.2), Choice("d", To("e", 0.8)),
		Repeat("e", "d", 0.25), Repeat("e", "a", 0.25), Choice("e", To(End, 0.5))))
	// e runs 2 times, d 2/0.8 = 2.5 times, a 1 + 0.2·2.5 + 0.25·2 = 2 times.
	want := map[string]float64{"a": 2, "b": 2, "c": 2, "d": 2.5, "e": 2}
	times := make([]float64, w.NumNodes())
	for n := range times {
		if got := w.Executions()[n]; !near(got, want[w.NodeName(n)], 1e-12) {
			t.Errorf("node %s runs %v times, want %v", w.NodeName(n), got, want[w.NodeName(n)])
		}
		times[n] = float64(n + 1) // a 1, b 2, c 3, d 4, e 5
	}
	if got, want := w.Response(times, Delays{}), 2*(1+3)+2.5*4+2*5; !near(got, want, 1e-12) {
		t.Errorf("response time %v, want %v", got, want)
	}
	// Delays: a node each, b or c counting once; two edges from a to d, one from d and from e, whatever it leads to.
	if got, want := w.Response(times, Delays{Node: 1})-w.Response(times, Delays{}), 2.0*2+2.5+2; !near(got, want, 1e-12) {
		t.Errorf("%v delays of nodes, want %v", got, want)
	}
	if got, want := w.Response(times, Delays{Edge: 1})-w.Response(times, Delays{}), 2.0*2+2.5+2; !near(got, want, 1e-12) {
		t.Errorf("%v delays of edges, want %v", got, want)
	}
	if err := w.Walkable(); err == nil || !strings.Contains(err.Error(), "e -> d") && !strings.Contains(err.Error(), "d -> a") {
		t.Errorf("it says it can be walked: %v", err)
	}
}

// A loop out of a parallel path starts a pass of its own.
func TestLoopOutOfFork(t *testing.T) {
	w := compile(t, New("", Fork("a", "b", "c"), Repeat("b", "a", 0.25), Choice("b", To("d", 0.75)), Chain("c", "d", "e")))
	if err := w.Walkable(); err == nil || !strings.Contains(err.Error(), "b -> a") {
		t.Errorf("it says it can be walked: %v", err)
	}
	// 1/(1-1/4) passes; e is behind the part.
	want := map[string]float64{"a": 4.0 / 3, "b": 4.0 / 3, "c": 4.0 / 3, "d": 1, "e": 1}
	for n, got := range w.Executions() {
		if !near(got, want[w.NodeName(n)], 1e-12) {
			t.Errorf("node %s runs %v times, want %v", w.NodeName(n), got, want[w.NodeName(n)])
		}
	}
}

// A part that repeats in a parallel path, which a loop leads out of, repeats in each pass.
func TestLoopInPathWithLoopOut(t *testing.T) {
	w := compile(t, New("", Fork("a", "b", "d"), Repeat("b", "a", 0.5), Choice("b", To("c", 0.5)), Repeat("c", "c", 0.2),
		Choice("c", To("d", 0.8)), Chain("d", "e")))
	// 1/(1-1/2) passes, of which half reach c, which runs 1/(1-1/5) times; d is where the paths meet.
	want := map[string]float64{"a": 2, "b": 2, "c": 1.25, "d": 1, "e": 1}
	for n, got := range w.Executions() {
		if !near(got, want[w.NodeName(n)], 1e-12) {
			t.Errorf("node %s runs %v times, want %v", w.NodeName(n), got, want[w.NodeName(n)])
		}
	}
}

// A while loop: the node that repeats leads back whatever happens.
func TestWhile(t *testing.T) {
	w := compile(t, New("", Chain("a", "check"), Choice("check", To("work", 0.75), To("z", 0.25)), Repeat("work", "check", 1)))
	want := map[string]float64{"a": 1, "check": 4, "work": 3, "z": 1}
	times := make([]float64, w.NumNodes())
	for n, got := range w.Executions() {
		if times[n] = 1; !near(got, want[w.NodeName(n)], 1e-12) {
			t.Errorf("node %s runs %v times, want %v", w.NodeName(n), got, want[w.NodeName(n)])
		}
	}
	if got := w.Response(times, Delays{}); !near(got, 9, 1e-12) {
		t.Errorf("response time %v, want 9", got)
	}
	if got := w.Response(times, Delays{Edge: 1}); !near(got, 9+8, 1e-12) {
		t.Errorf("response time %v with edges, want 17", got)
	}
	if path, length := w.CriticalPath(nil, times, Delays{}); len(path) != 3 || !near(length, 9, 1e-12) {
		t.Errorf("critical path %v of %v s", path, length)
	}
}

// drawForked draws a workflow without crossing edges: series, forks, branches and loops around parts and single nodes,
// some of them overlapping where one request is at one place.
func drawForked(rt *rapid.T) Graph {
	var g Graph
	count := 0
	add := func() string {
		count++
		name := fmt.Sprint("n", count)
		g.Nodes = append(g.Nodes, Node{Name: name})
		return name
	}
	var part func(depth int) (first, last string)
	part = func(depth int) (first, last string) {
		kind := rapid.IntRange(0, 4).Draw(rt, "part")
		if depth == 0 || count > 10 {
			kind = 0
		}
		switch kind {
		case 1:
			a, b := part(depth - 1)
			c, d := part(depth - 1)
			g.Edges = append(g.Edges, Chain(b, c)...)
			return a, d
		case 2, 3:
			first, last = add(), add()
			for k := range 2 {
				a, b := part(depth - 1)
				if kind == 2 {
					g.Edges = append(g.Edges, Chain(first, a)...)
				} else {
					g.Edges = append(g.Edges, Choice(first, To(a, []float64{0.25, 0.75}[k]))...)
				}
				g.Edges = append(g.Edges, Chain(b, last)...)
			}
			return first, last
		case 4:
			a, b := part(depth - 1)
			last = add()
			g.Edges = append(g.Edges, Chain(b, last)...)
			next := add()
			p := 0.25
			if rapid.Bool().Draw(rt, "self") {
				g.Edges = append(g.Edges, Repeat(last, last, 0.25)...)
				p = 0.5
			}
			g.Edges = append(g.Edges, Repeat(last, a, 0.25)...)
			g.Edges = append(g.Edges, Choice(last, To(next, 1-p))...)
			return a, next
		}
		first = add()
		return first, first
	}
	first, _ := part(4)
	g.Entry = first
	return g
}

// Forks and loops in and around each other run as often as the tracker's requests do.
func TestForksAndLoops(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := must.Get(drawForked(rt).Compile())(rt)
		checkSimulated(t, rt, w, 400, false)
		checkAnswers(t, w)
	})
}

// wide returns n functions in a chain, each a fork of two that meet again, some of them repeating.
func wide(n int) Graph {
	var parts [][]Edge
	for i := range n {
		a, b, c, next := fmt.Sprint("a", i), fmt.Sprint("b", i), fmt.Sprint("c", i), fmt.Sprint("a", i+1)
		parts = append(parts, Fork(a, b, c), Chain(b, next))
		if i%2 == 0 {
			parts = append(parts, Chain(c, next))
		} else {
			parts = append(parts, Repeat(c, c, 0.5), Choice(c, To(next, 0.5)))
		}
	}
	return New("wide", parts...)
}

// Outside cyclic parts the time grows with the number of nodes and edges alone: compare the times per node.
func BenchmarkCompileWide(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(3*n+1), func(b *testing.B) {
			g := wide(n)
			for range b.N {
				must.Get(g.Compile())(b)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(3*n+1), "ns/node")
		})
	}
}
