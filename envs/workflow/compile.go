package workflow

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// Validate returns the error of [Graph.Compile].
func (g Graph) Validate() error { _, err := g.Compile(); return err }

// Compile checks the graph and numbers its nodes and functions. An error names the wrong node or edge and says what is
// expected.
func (g Graph) Compile() (*Workflow, error) {
	w := &Workflow{graph: g.clone()}
	for _, step := range []func() error{
		w.numberNodes, w.numberFunctions, w.connect, w.findEntry, w.sort, w.checkReachable, w.checkAlternatives, w.findOnward,
		w.findRegions,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("workflow %q: %w", g.Name, err)
		}
	}
	w.neighbours()
	w.hash()
	return w, nil
}

func (g Graph) clone() Graph {
	g.Functions = slices.Clone(g.Functions)
	g.Nodes = slices.Clone(g.Nodes)
	g.Edges = slices.Clone(g.Edges)
	return g
}

// numberNodes checks the nodes' names and fills in their defaults.
func (w *Workflow) numberNodes() error {
	if len(w.graph.Nodes) == 0 {
		return fmt.Errorf("it has no nodes, want at least one")
	}
	seen := map[string]bool{}
	for i := range w.graph.Nodes {
		n := &w.graph.Nodes[i]
		switch {
		case n.Name == "":
			return fmt.Errorf("node %d has no name", i+1)
		case n.Name == End:
			return fmt.Errorf("node %d is named %q, which is reserved for the end of the workflow: give it another name",
				i+1, End)
		case seen[n.Name]:
			return fmt.Errorf("node %q is there twice", n.Name)
		}
		seen[n.Name] = true
		if n.Function == "" {
			n.Function = n.Name
		}
		switch n.Calls {
		case "":
			n.Calls = OneByOne
		case OneByOne, Together:
		default:
			return fmt.Errorf("node %q has calls %q, want %q or %q", n.Name, n.Calls, OneByOne, Together)
		}
		w.mode = append(w.mode, n.Calls)
	}
	return nil
}

func (w *Workflow) numberFunctions() error {
	listed := len(w.graph.Functions) > 0
	number := map[string]int{}
	for i, f := range w.graph.Functions {
		if f == "" {
			return fmt.Errorf("function %d has no name", i+1)
		}
		if _, ok := number[f]; ok {
			return fmt.Errorf("function %q is listed twice", f)
		}
		number[f] = i
	}
	for _, n := range w.graph.Nodes {
		f, ok := number[n.Function]
		if !ok {
			if listed {
				return fmt.Errorf("node %q runs function %q, which is not listed: want one of %s", n.Name, n.Function,
					strings.Join(w.graph.Functions, ", "))
			}
			f = len(number)
			number[n.Function] = f
			w.graph.Functions = append(w.graph.Functions, n.Function)
		}
		w.function = append(w.function, f)
	}
	runs := make([]bool, len(w.graph.Functions))
	for _, f := range w.function {
		runs[f] = true
	}
	for f, name := range w.graph.Functions {
		if !runs[f] {
			return fmt.Errorf("function %q is listed but runs at no node: remove it or add a node that runs it", name)
		}
	}
	w.functions = w.graph.Functions
	return nil
}

// connect checks each edge and stores it by its kind.
func (w *Workflow) connect() error {
	n := len(w.graph.Nodes)
	index := make(map[string]int32, n)
	for i, node := range w.graph.Nodes {
		index[node.Name] = int32(i)
	}
	w.next, w.alts, w.calls = make([][]int32, n), make([][]alt, n), make([][]int32, n)
	w.from = make([][]int32, n)
	w.indegree, w.caller = make([]int32, n), slices.Repeat([]int32{-1}, n)
	type pair struct{ from, to int32 }
	seen := map[pair]bool{}
	for i := range w.graph.Edges {
		e := &w.graph.Edges[i]
		from, to, err := w.checkEdge(e, index)
		if err == nil && seen[pair{from, to}] {
			err = errors.New("it is there twice: want one edge from a node to another")
		}
		if err == nil && e.Kind == Call && w.caller[to] >= 0 {
			err = fmt.Errorf("%q is called by %q already: give each caller a node of its own, with the same function", e.To,
				w.graph.Nodes[w.caller[to]].Name)
		}
		if err != nil {
			return fmt.Errorf("edge %d (%s -> %s): %w", i+1, e.From, e.To, err)
		}
		seen[pair{from, to}] = true
		switch e.Kind {
		case Next:
			w.next[from] = append(w.next[from], to)
		case Branch:
			w.alts[from] = append(w.alts[from], alt{to, e.Probability, -1})
		case Loop:
			w.alts[from] = append(w.alts[from], alt{to, e.Probability, int32(len(w.loops))})
			w.loops = append(w.loops, loop{to, from, e.Probability})
		case Call:
			w.caller[to] = from
			w.calls[from] = append(w.calls[from], to)
		}
		if to != exit && (e.Kind == Next || e.Kind == Branch) {
			w.from[to] = append(w.from[to], from)
			w.indegree[to]++
		}
	}
	for m, caller := range w.caller {
		if caller < 0 {
			continue
		}
		if w.indegree[m] > 0 || len(w.next[m]) > 0 || len(w.alts[m]) > 0 {
			return fmt.Errorf("node %q is called by %q and has other edges too: a called node may only have call edges; "+
				"if its function also runs without a call, give it a second node", w.graph.Nodes[m].Name,
				w.graph.Nodes[caller].Name)
		}
	}
	return nil
}

// checkEdge checks an edge, fills in its defaults and returns its ends.
func (w *Workflow) checkEdge(e *Edge, index map[string]int32) (from, to int32, err error) {
	from, ok := index[e.From]
	if !ok {
		return 0, 0, fmt.Errorf("there is no node %q: want one of %s", e.From, w.names())
	}
	to, ok = index[e.To]
	if e.To == End {
		to, ok = exit, true
	}
	if !ok {
		return 0, 0, fmt.Errorf("there is no node %q: want %q or one of %s", e.To, End, w.names())
	}
	if e.Kind == "" {
		e.Kind = Next
		if e.Probability != 0 && e.Probability != 1 {
			e.Kind = Branch
		}
	}
	switch p := e.Probability; e.Kind {
	case Branch, Loop:
		if !(p > 0 && p <= 1) {
			return 0, 0, fmt.Errorf("its probability is %v, want it in (0, 1]", p)
		}
	case Next, Call:
		if p != 0 && p != 1 {
			return 0, 0, fmt.Errorf("a %s edge is always taken, but its probability is %v: remove the probability", e.Kind, p)
		}
		e.Probability = 0
	default:
		return 0, 0, fmt.Errorf("its kind is %q, want %s, %s, %s or %s", e.Kind, Next, Branch, Loop, Call)
	}
	if to == exit && (e.Kind == Loop || e.Kind == Call) {
		return 0, 0, fmt.Errorf("a %s edge cannot end the workflow: want a node as its target", e.Kind)
	}
	if to == from && e.Kind != Loop {
		return 0, 0, errors.New("an edge from a node to itself must be a loop edge with a probability below 1")
	}
	return from, to, nil
}

// checkAlternatives checks that the probabilities of each node's alternatives sum to 1.
func (w *Workflow) checkAlternatives() error {
	for n, as := range w.alts {
		if len(as) == 0 {
			continue
		}
		var sum float64
		for _, a := range as {
			sum += a.p
		}
		if math.Abs(sum-1) > 1e-9 {
			return fmt.Errorf("the alternatives of node %q have probabilities that sum to %v, want 1 (an edge to %q "+
				"ends the workflow)", w.NodeName(n), sum, End)
		}
	}
	return nil
}

// names lists the nodes for an error message, the first twelve of them.
func (w *Workflow) names() string {
	var names []string
	for i, n := range w.graph.Nodes {
		if i == 12 {
			names = append(names, "…")
			break
		}
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}

// hash computes the fingerprint of all that a tracker's state depends on. Saved states of a workflow with another one
// are refused.
func (w *Workflow) hash() {
	h := fnv.New64a()
	for _, n := range w.graph.Nodes {
		fmt.Fprintf(h, "%q %q %q;", n.Name, n.Function, n.Calls)
	}
	for _, e := range w.graph.Edges {
		fmt.Fprintf(h, "%q %q %q %x;", e.From, e.To, e.Kind, math.Float64bits(e.Probability))
	}
	fmt.Fprintf(h, "%d", w.entry)
	if len(w.routes.walks) > 0 {
		fmt.Fprintf(h, "%v", w.routes.walks) // saved states have a cell for each
	}
	w.fingerprint = h.Sum64()
}

// routes is what a [Tracker] needs to know about cyclic parts. In a part without forks a request moves from node to
// node, as alternatives send it; loops may overlap. In a part with forks each loop repeats a section, the nodes on paths
// from its header to its source, that is entered at the header only and left from the source only: then nothing of it
// is still running when it runs again.
type routes struct {
	walk  []int32   // per node: its part without forks, -1 if it is in none
	walks []walkway // parts without forks
	body  [][]int32 // per loop in a part with forks: its section, ascending, callees included
	err   error     // why a tracker cannot walk the workflow
}

// walkway is a cyclic part without forks.
type walkway struct {
	enter int32      // number of edges that enter it
	exits [][2]int32 // edges that leave it
}

// Walkable returns nil if a [Tracker] can follow requests through the workflow, and else the reason why not: several
// runs of a cyclic part could be under way at once. The analysis of such a workflow is that of overlap.go.
func (w *Workflow) Walkable() error {
	if w.routes.err != nil {
		return fmt.Errorf("workflow %q cannot be simulated: %w", w.Name(), w.routes.err)
	}
	return nil
}

// findRoutes fills routes.
func (w *Workflow) findRoutes(s *scope) {
	t := &w.routes
	t.walk = slices.Repeat([]int32{-1}, len(w.function))
	t.body = make([][]int32, len(w.loops))
	if t.err = w.overlap; t.err != nil {
		return
	}
	for p, y := range s.parts {
		if slices.ContainsFunc(y.nodes, w.forks) {
			continue
		}
		var k walkway
		for _, m := range y.nodes {
			for _, from := range w.from[m] {
				if s.part[from] != int32(p) {
					k.enter++
				}
			}
			t.walk[m] = int32(len(t.walks))
			for _, to := range w.next[m] {
				if to == exit || s.part[to] != int32(p) {
					k.exits = append(k.exits, [2]int32{m, to})
				}
			}
			for _, a := range w.alts[m] {
				if a.to == exit || s.part[a.to] != int32(p) {
					k.exits = append(k.exits, [2]int32{m, a.to})
				}
			}
		}
		t.walks = append(t.walks, k)
	}
	for i := range w.loops {
		if t.err == nil && t.walk[w.loops[i].source] < 0 {
			t.body[i], t.err = w.section(&w.loops[i])
		}
	}
}

// section returns the nodes that a loop repeats. It fails if they are entered or left elsewhere.
func (w *Workflow) section(l *loop) ([]int32, error) {
	n := len(w.function)
	from, to, in := make([]bool, n), make([]bool, n), make([]bool, n)
	from[l.header], to[l.source] = true, true
	var out []int32
	for _, m := range w.order {
		if from[m] {
			out = w.successors(out[:0], int32(m))
			for _, k := range out {
				from[k] = true
			}
		}
	}
	for _, m := range slices.Backward(w.order) {
		out = w.successors(out[:0], int32(m))
		to[m] = to[m] || slices.ContainsFunc(out, func(k int32) bool { return to[k] })
	}
	var body []int32
	for _, m := range w.order {
		// A callee runs whenever its caller does.
		if in[m] = from[m] && to[m] || w.caller[m] >= 0 && in[w.caller[m]]; in[m] {
			body = append(body, int32(m))
		}
	}
	slices.Sort(body)
	name := fmt.Sprintf("the loop edge %s -> %s repeats a section with parallel paths that is also",
		w.NodeName(int(l.source)), w.NodeName(int(l.header)))
	within := func(m int32) bool { return m != exit && in[m] }
	for m := range in {
		targets := slices.Clone(w.next[m])
		for _, a := range w.alts[m] {
			targets = append(targets, a.to)
		}
		for _, t := range targets {
			to := End
			if t != exit {
				to = w.NodeName(int(t))
			}
			if in[m] && int32(m) != l.source && !within(t) {
				return nil, fmt.Errorf("%s left by the edge %s -> %s: want it left from its last node, %q, only", name,
					w.NodeName(m), to, w.NodeName(int(l.source)))
			}
			if !in[m] && within(t) && t != l.header {
				return nil, fmt.Errorf("%s entered by the edge %s -> %s: want it entered at its first node, %q, only", name,
					w.NodeName(m), to, w.NodeName(int(l.header)))
			}
		}
	}
	return body, nil
}
