package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// findEntry settles where requests start.
func (w *Workflow) findEntry() error {
	var free []string
	for n := range w.function {
		if w.in[n] == 0 && w.of[n] < 0 {
			free = append(free, w.NodeName(n))
			w.entry = n
		}
	}
	if name := w.graph.Entry; name != "" {
		n := slices.IndexFunc(w.graph.Nodes, func(n Node) bool { return n.Name == name })
		switch {
		case n < 0:
			return fmt.Errorf("the entry %q is no node: want one of %s", name, w.names())
		case w.in[n] > 0 || w.of[n] >= 0:
			return fmt.Errorf("the entry %q is entered by an edge: want a node that only loop edges enter", name)
		}
		w.entry = n
		return nil
	}
	if len(free) == 0 {
		return fmt.Errorf("no entry: every node is entered by an edge; make the edge that leads back a loop edge with a probability below 1")
	}
	if len(free) > 1 {
		return fmt.Errorf("nodes %s are entered by no edge: name the entry, and lead to the others from it",
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

// sort puts the nodes in topological order, or names a cycle.
func (w *Workflow) sort() error {
	left := slices.Clone(w.in)
	for n := range left {
		if w.of[n] >= 0 {
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
	return fmt.Errorf("%s form a cycle that never ends: make the edge that leads back a loop edge with a probability below 1", w.cycle(left))
}

// cycle spells out one cycle among the nodes that sorting left over.
func (w *Workflow) cycle(left []int32) string {
	n := int32(slices.IndexFunc(left, func(k int32) bool { return k > 0 }))
	// Every left-over node has a left-over predecessor: walking backwards must come round.
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

// reach checks that every node can be reached from the entry.
func (w *Workflow) reach() error {
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
		return fmt.Errorf("node %q cannot be reached from the entry %q: lead an edge to it or drop it", w.NodeName(n),
			w.NodeName(w.entry))
	}
	return nil
}

// findLoops finds each loop's section and checks that it is entered at its header only and left from its source only:
// then a section that runs again leaves nothing running outside, and its expected runs are 1/(1-p).
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
			return fmt.Errorf("%s does not lead back: no way leads from %q to %q; make it a next or branch edge", name,
				w.NodeName(int(l.header)), w.NodeName(int(l.source)))
		}
		l.in = make([]bool, n)
		for _, m := range w.order {
			// A callee runs whenever its caller does.
			l.in[m] = from[m] && to[m] || w.of[m] >= 0 && l.in[w.of[m]]
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
				return fmt.Errorf("%s repeats a section that is also left by the edge %s -> %s: a section is left from the node that repeats it, %q",
					name, w.NodeName(m), to, w.NodeName(int(l.source)))
			}
			if !l.in[m] && within(t) && t != l.header {
				return fmt.Errorf("%s repeats a section that is also entered by the edge %s -> %s: a section is entered at the node it starts from, %q",
					name, w.NodeName(m), to, w.NodeName(int(l.header)))
			}
		}
	}
	return nil
}

// loopFactors computes how often each loop's section is expected to run per entry, inner loops of a node first: once
// those that lie inside have been left, an outer one is taken with its share of what remains.
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
