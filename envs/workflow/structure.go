package workflow

import (
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
	return append(w.onward(dst, n), w.calls[n]...)
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
