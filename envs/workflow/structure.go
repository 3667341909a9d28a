package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// findEntry finds the node at which requests start.
func (w *Workflow) findEntry() error {
	var free []string
	for n := range w.function {
		if w.indegree[n] == 0 && w.caller[n] < 0 {
			free = append(free, w.NodeName(n))
			w.entry = n
		}
	}
	if name := w.graph.Entry; name != "" {
		n := slices.IndexFunc(w.graph.Nodes, func(n Node) bool { return n.Name == name })
		switch {
		case n < 0:
			return fmt.Errorf("the entry %q is not a node: want one of %s", name, w.names())
		case w.indegree[n] > 0 || w.caller[n] >= 0:
			return fmt.Errorf("the entry %q has an incoming edge: want a node whose only incoming edges are loop edges", name)
		}
		w.entry = n
		return nil
	}
	if len(free) == 0 {
		return fmt.Errorf("no entry: every node has an incoming edge; make the edge that leads back a loop edge with a " +
			"probability below 1")
	}
	if len(free) > 1 {
		return fmt.Errorf("nodes %s have no incoming edge: name the entry, and lead edges from it to the others",
			strings.Join(free, ", "))
	}
	w.graph.Entry = free[0]
	return nil
}

// successors appends the nodes that n leads to by next, branch and call edges.
func (w *Workflow) successors(dst []int32, n int32) []int32 {
	for _, m := range w.next[n] {
		if m != exit {
			dst = append(dst, m)
		}
	}
	for _, a := range w.alts[n] {
		if a.loop < 0 && a.to != exit {
			dst = append(dst, a.to)
		}
	}
	return append(dst, w.calls[n]...)
}

// sort computes the topological order and the depths of the nodes. If there is a cycle, the error names it.
func (w *Workflow) sort() error {
	left := slices.Clone(w.indegree)
	for n := range left {
		if w.caller[n] >= 0 {
			left[n]++
		}
	}
	w.depth = make([]int, len(left))
	var ready, out []int32
	for n := range left {
		if left[n] == 0 {
			ready = append(ready, int32(n))
		}
	}
	for len(ready) > 0 {
		n := ready[0]
		ready = ready[1:]
		w.order = append(w.order, int(n))
		out = w.successors(out[:0], n)
		for _, m := range out {
			w.depth[m] = max(w.depth[m], w.depth[n]+1)
			if left[m]--; left[m] == 0 {
				ready = append(ready, m)
			}
		}
	}
	if len(w.order) == len(left) {
		return nil
	}
	return fmt.Errorf("%s form a cycle that never ends: make the edge that leads back a loop edge with a probability "+
		"below 1", w.cycle(left))
}

// cycle describes one cycle among the nodes that the sort could not order.
func (w *Workflow) cycle(left []int32) string {
	n := int32(slices.IndexFunc(left, func(k int32) bool { return k > 0 }))
	// Each of these nodes has a predecessor among them, so that walking backwards visits some node twice.
	at := map[int32]int{}
	var back []int32
	for {
		if i, ok := at[n]; ok {
			back = append(back[i:], n)
			break
		}
		at[n] = len(back)
		back = append(back, n)
		for m := range left {
			if left[m] > 0 && slices.Contains(w.successors(nil, int32(m)), n) {
				n = int32(m)
				break
			}
		}
	}
	names := make([]string, len(back))
	for i, n := range back {
		names[len(back)-1-i] = w.NodeName(int(n))
	}
	return "edges " + strings.Join(names, " -> ")
}

// checkReachable checks that every node can be reached from the entry.
func (w *Workflow) checkReachable() error {
	seen := make([]bool, len(w.function))
	seen[w.entry] = true
	var out []int32
	for _, n := range w.order {
		if !seen[n] {
			continue
		}
		out = w.successors(out[:0], int32(n))
		for _, m := range out {
			seen[m] = true
		}
	}
	if n := slices.Index(seen, false); n >= 0 {
		return fmt.Errorf("node %q cannot be reached from the entry %q: lead an edge to it or remove it", w.NodeName(n),
			w.NodeName(w.entry))
	}
	return nil
}

// findLoops finds each loop's section and checks that it is entered at its header only and left from its source only.
// Then nothing outside is still running when a section runs again, and its expected number of runs is 1/(1-p).
func (w *Workflow) findLoops() error {
	n := len(w.function)
	for i := range w.loops {
		l := &w.loops[i]
		from, to := make([]bool, n), make([]bool, n)
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
		name := fmt.Sprintf("the loop edge %s -> %s", w.NodeName(int(l.source)), w.NodeName(int(l.header)))
		if !from[l.source] {
			return fmt.Errorf("%s does not lead back: there is no path from %q to %q; make it a next or branch edge", name,
				w.NodeName(int(l.header)), w.NodeName(int(l.source)))
		}
		l.in = make([]bool, n)
		for _, m := range w.order {
			// A callee runs whenever its caller does.
			l.in[m] = from[m] && to[m] || w.caller[m] >= 0 && l.in[w.caller[m]]
			if l.in[m] {
				l.body = append(l.body, int32(m))
			}
		}
		slices.Sort(l.body)
		if err := w.checkSection(l, name); err != nil {
			return err
		}
	}
	w.loopFactors()
	return nil
}

// checkSection checks that a loop's section is entered and left as findLoops says.
func (w *Workflow) checkSection(l *loop, name string) error {
	within := func(m int32) bool { return m != exit && l.in[m] }
	for m := range l.in {
		targets := slices.Clone(w.next[m])
		for _, a := range w.alts[m] {
			targets = append(targets, a.to)
		}
		for _, t := range targets {
			to := End
			if t != exit {
				to = w.NodeName(int(t))
			}
			if l.in[m] && int32(m) != l.source && !within(t) {
				return fmt.Errorf("%s repeats a section that is also left by the edge %s -> %s: a section may only be "+
					"left from its last node, %q", name, w.NodeName(m), to, w.NodeName(int(l.source)))
			}
			if !l.in[m] && within(t) && t != l.header {
				return fmt.Errorf("%s repeats a section that is also entered by the edge %s -> %s: a section may only be "+
					"entered at its first node, %q", name, w.NodeName(m), to, w.NodeName(int(l.header)))
			}
		}
	}
	return nil
}

// loopFactors computes how often each loop's section is expected to run per entry. Of the loops of one node the inner
// ones come first: an outer loop is taken with its part of the probability that remains when the inner ones have ended.
func (w *Workflow) loopFactors() {
	w.factor = slices.Repeat([]float64{1}, len(w.function))
	for _, as := range w.alts {
		var here []*loop
		for _, a := range as {
			if a.loop >= 0 {
				here = append(here, &w.loops[a.loop])
			}
		}
		slices.SortFunc(here, func(a, b *loop) int { return cmp.Compare(len(a.body), len(b.body)) })
		rest := 1.0
		for _, l := range here {
			l.factor = rest / (rest - l.p)
			rest -= l.p
			for _, m := range l.body {
				w.factor[m] *= l.factor
			}
		}
	}
}
