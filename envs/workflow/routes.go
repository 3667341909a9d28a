package workflow

import (
	"fmt"
	"slices"
)

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
