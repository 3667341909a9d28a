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

// edge is a way on from a node in the workflow without its loops. Its probability is that of the branch among those
// that take no loop, 1 for a next edge.
type edge struct {
	to int32
	p  float64
}

// findOnward finds the ways on from each node, in the order of the graph's list. A node that nothing follows leads to
// the end. A node all of whose ways lead back has none, and what leads to nothing but such nodes leads back itself.
func (w *Workflow) findOnward() error {
	w.on = make([][]edge, len(w.function))
	from := make(map[string]int, len(w.function))
	for n := range w.function {
		from[w.NodeName(n)] = n
	}
	to := func(name string) int32 {
		if name == End {
			return exit
		}
		return int32(from[name])
	}
	for _, e := range w.graph.Edges {
		switch n := from[e.From]; e.Kind {
		case Next:
			w.on[n] = append(w.on[n], edge{to(e.To), 1})
		case Branch:
			w.on[n] = append(w.on[n], edge{to(e.To), e.Probability})
		}
	}
	back := make([]bool, len(w.function))
	for _, n := range slices.Backward(w.order) {
		if len(w.on[n]) == 0 && len(w.alts[n]) == 0 {
			w.on[n] = []edge{{exit, 1}}
		}
		w.on[n] = slices.DeleteFunc(w.on[n], func(e edge) bool { return e.to != exit && back[e.to] })
		back[n] = len(w.on[n]) == 0
		if len(w.alts[n]) == 0 {
			continue
		}
		stay := 1.0
		for _, a := range w.alts[n] {
			if a.loop >= 0 || a.to != exit && back[a.to] {
				stay -= a.p
			}
		}
		for i := range w.on[n] {
			if e := &w.on[n][i]; !slices.Contains(w.next[n], e.to) {
				e.p /= stay
			}
		}
	}
	if len(w.on[w.entry]) > 0 {
		return nil
	}
	for n, as := range w.alts {
		if p := w.back(int32(n)); len(as) > 0 && p >= 1-1e-9 {
			return fmt.Errorf("node %q repeats with probability %v and never ends: want a probability below 1 and an edge "+
				"that leads on", w.NodeName(n), p)
		}
	}
	return fmt.Errorf("every path from %q leads back, so that the workflow never ends", w.NodeName(w.entry))
}

// counter counts expected runs.
type counter struct {
	w     *Workflow
	inner [][]float64 // per inner region and node: runs per pass, without the fork's
	meets []bool      // whether parallel paths meet at a node in some scenario
	seen  []int
}

// countRuns computes the expected runs of each node, and checks that parallel paths meet at each node that says so.
func (w *Workflow) countRuns() error {
	n := len(w.function)
	c := counter{w: w, inner: make([][]float64, len(w.inner)), meets: make([]bool, n), seen: make([]int, n)}
	for _, t := range w.terms {
		if t.region {
			runs := make([]float64, n)
			c.region(runs, &w.inner[t.index], 1)
			runs[w.inner[t.index].from] = 0
			c.inner[t.index] = runs
		}
	}
	w.execs = make([]float64, n)
	for i := range w.regions {
		c.region(w.execs, &w.regions[i], w.regions[i].weight)
	}
	for _, m := range w.order {
		if caller := w.caller[m]; caller >= 0 {
			w.execs[m], w.factor[m] = w.execs[caller], w.factor[caller]
		} else if w.overlap != nil {
			w.execs[m] *= w.factor[m]
		}
	}
	for m, node := range w.graph.Nodes {
		if node.Join && !c.meets[m] {
			return fmt.Errorf("node %q is a join without a fork: no parallel paths meet there; remove the join or "+
				"lead a second path to it", node.Name)
		}
	}
	return nil
}

// region adds the runs in a region that a request enters with a weight.
func (c *counter) region(dst []float64, r *region, weight float64) {
	for _, s := range r.scenarios {
		p := float64(weight * s.p)
		dst[r.from] += p
		for _, l := range s.links {
			if l.to != exit {
				c.seen[l.to] = 0
			}
		}
		for i, l := range s.links {
			if l.span >= 0 && i > 0 && s.links[i-1].from == l.from && s.links[i-1].span == l.span {
				continue // a decision, see explore.go
			}
			if l.span >= 0 {
				c.span(dst, &c.w.spans[l.span], p)
				if c.w.spans[l.span].fork { // it goes on with the fork's last run
					dst[l.to] += p
					continue
				}
			}
			if l.to == exit {
				continue
			}
			if c.seen[l.to]++; c.seen[l.to] > 1 {
				c.meets[l.to] = true
			} else if l.to != s.to {
				dst[l.to] += p
			}
		}
	}
}

// span adds what repeats in a span.
func (c *counter) span(dst []float64, s *span, p float64) {
	for _, r := range s.runs {
		dst[r.what] += float64(p * r.n)
	}
	for _, f := range s.forks {
		for m, x := range c.inner[f.what] {
			dst[m] += float64(float64(p*f.n) * x)
		}
	}
}

// dominators returns the nodes on every path from the entry to the end, in order, with the intersection of Cooper,
// Harvey and Kennedy.
func (w *Workflow) dominators() []int32 {
	n := len(w.function)
	rank := make([]int, n)
	idom := make([]int32, n)
	for i, m := range w.order {
		rank[m] = i
		idom[m] = -1
	}
	idom[w.entry] = int32(w.entry)
	meet := func(a, b int32) int32 {
		for a != b {
			if rank[a] > rank[b] {
				a = idom[a]
			} else {
				b = idom[b]
			}
		}
		return a
	}
	last := int32(-1) // immediate dominator of the end
	for changed := true; changed; {
		changed = false
		enter := func(from, to int32) {
			at := &last
			if to != exit {
				at = &idom[to]
			}
			d := from
			if *at >= 0 {
				d = meet(*at, from)
			}
			changed = changed || d != *at
			*at = d
		}
		for _, m := range w.order {
			m := int32(m)
			if idom[m] < 0 || w.caller[m] >= 0 {
				continue
			}
			for _, t := range w.next[m] {
				enter(m, t)
			}
			for _, a := range w.alts[m] {
				enter(m, a.to)
			}
			if len(w.next[m]) == 0 && len(w.alts[m]) == 0 {
				enter(m, exit)
			}
		}
	}
	var passed []int32
	for m := last; ; m = idom[m] {
		passed = append(passed, m)
		if m == int32(w.entry) {
			break
		}
	}
	slices.Reverse(passed)
	return passed
}
