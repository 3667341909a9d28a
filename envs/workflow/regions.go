package workflow

import (
	"errors"
	"fmt"
	"slices"
)

// scope is a set of nodes that are looked at together: all of them, or those between a fork and the node at which its
// paths meet.
type scope struct {
	inside []bool // per node
	order  []int32
	place  []int32 // per node: its place in the order, -1 if it is not in the scope
	part   []int32 // per node: its cyclic part, -1 if it is in none
	parts  []*cycle
}

// newScope finds the cyclic parts of a set of nodes: the strongly connected components of more than one node, or with
// an edge from a node to itself. In order each part is together, and nodes and parts come after those that lead to them.
func (w *Workflow) newScope(inside []bool) *scope {
	n := len(w.function)
	s := &scope{inside: inside, part: slices.Repeat([]int32{-1}, n)}
	// Tarjan's algorithm.
	index, low, at := make([]int32, n), make([]int32, n), slices.Repeat([]int32{-1}, n) // at: place on the stack
	var stack []int32
	var found [][]int32
	count := int32(0)
	var visit func(m int32)
	visit = func(m int32) {
		count++
		index[m], low[m] = count, count
		at[m] = int32(len(stack))
		stack = append(stack, m)
		for _, t := range w.ahead(m) {
			switch {
			case !inside[t]:
			case index[t] == 0:
				visit(t)
				low[m] = min(low[m], low[t])
			case at[t] >= 0:
				low[m] = min(low[m], index[t])
			}
		}
		if low[m] != index[m] {
			return
		}
		nodes := slices.Clone(stack[at[m]:])
		stack = stack[:at[m]]
		for _, t := range nodes {
			at[t] = -1
		}
		found = append(found, nodes)
	}
	for _, m := range w.order {
		if inside[m] {
			s.order = append(s.order, int32(m))
			if index[m] == 0 {
				visit(int32(m))
			}
		}
	}
	for _, nodes := range found {
		if m := nodes[0]; len(nodes) > 1 || slices.Contains(w.ahead(m), m) {
			for _, t := range nodes {
				s.part[t] = int32(len(s.parts))
			}
			s.parts = append(s.parts, &cycle{nodes: nodes})
		}
	}
	if len(s.parts) > 0 {
		rank := make([]int, n)
		for i, m := range w.order {
			rank[m] = i
		}
		s.order = s.order[:0]
		for _, nodes := range slices.Backward(found) {
			slices.SortFunc(nodes, func(a, b int32) int { return rank[a] - rank[b] })
			s.order = append(s.order, nodes...)
		}
		for _, p := range s.parts {
			slices.SortFunc(p.nodes, func(a, b int32) int { return rank[a] - rank[b] })
		}
	}
	s.place = slices.Repeat([]int32{-1}, n)
	for i, m := range s.order {
		s.place[m] = int32(i)
	}
	return s
}

// ahead returns the nodes that n leads to, loops included, calls not.
func (w *Workflow) ahead(n int32) []int32 {
	out := make([]int32, 0, len(w.next[n])+len(w.alts[n]))
	for _, m := range w.next[n] {
		if m != exit {
			out = append(out, m)
		}
	}
	for _, a := range w.alts[n] {
		if a.to != exit {
			out = append(out, a.to)
		}
	}
	return out
}

// forks says whether several ways are taken from a node at once.
func (w *Workflow) forks(n int32) bool {
	k := len(w.next[n])
	return k > 1 || k == 1 && slices.ContainsFunc(w.alts[n], func(a alt) bool { return a.loop < 0 })
}

// back returns the probability that a node takes a loop edge.
func (w *Workflow) back(n int32) float64 {
	var p float64
	for _, a := range w.alts[n] {
		if a.loop >= 0 {
			p += a.p
		}
	}
	return p
}

// nowhere is where the paths of a node meet from which all ways lead back.
const nowhere int32 = -2

// meetings returns for each node the first node that all ways on from it, loops left out, pass: its immediate
// postdominator; exit where that is the end, nowhere where all ways lead back.
func (w *Workflow) meetings() []int32 {
	n := len(w.function)
	meet := slices.Repeat([]int32{nowhere}, n)
	rank := make([]int, n)
	for i, m := range w.order {
		rank[m] = i
	}
	up := func(a int32) int32 { return meet[a] }
	for _, m := range slices.Backward(w.order) {
		at := nowhere
		for _, e := range w.on[m] {
			t := e.to
			for at != nowhere && at != t {
				switch {
				case at == exit || t == exit:
					at, t = exit, exit
				case rank[at] < rank[t]:
					at = up(at)
				default:
					t = up(t)
				}
			}
			at = t
		}
		meet[m] = at
	}
	return meet
}

// between returns the nodes that follow a node, loops left out, before another (exit: to the end).
func (w *Workflow) between(from, to int32) []bool {
	in := make([]bool, len(w.function))
	stack := []int32{from}
	var out []int32
	for len(stack) > 0 {
		m := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = w.onward(out[:0], m)
		for _, t := range out {
			if t != to && !in[t] {
				in[t] = true
				stack = append(stack, t)
			}
		}
	}
	return in
}

// A region is a part of a workflow that a request enters at one node, alone. It is stored as its scenarios: every
// combination of branches with its probability. Expected runs and response times are sums over regions of an
// expectation over scenarios.
//
// The nodes that every request passes cut a workflow into regions. Between two of them the scenarios are listed if they
// are few. Where they are many, only those below a fork are: a request that is at one place at a time reaches node n
// with a probability r_n that is the sum over the edges into n, and each node, or fork up to where its paths meet, is a
// region of its own that counts r_n times.
type region struct {
	from      int32
	weight    float64
	scenarios []scenario
}

// scenario is one combination of branches in a region.
type scenario struct {
	p     float64
	to    int32  // where it ends: a node that is not in the region, or exit
	links []link // edges taken, in topological order of their sources
}

// link is an edge taken, or a span: what happens in a cyclic part from its node on.
type link struct{ from, to, span int32 }

const (
	// maxScenarios is the most scenarios of a region, listedPlain the most of one without forks.
	maxScenarios = 4096
	listedPlain  = 64
)

// manyError says that a region has too many scenarios to list.
type manyError struct{ from string }

func (e *manyError) Error() string {
	return fmt.Sprintf("after node %q there are more than %d combinations of branches that run in parallel with other "+
		"paths: let some of the parallel paths meet before the next branch", e.from, maxScenarios)
}

// findRegions finds the regions, their scenarios and the expected runs of each node.
func (w *Workflow) findRegions() error {
	c := &composer{w: w, meet: w.meetings()}
	w.factor = make([]float64, len(w.function))
	for n := range w.factor {
		w.factor[n] = 1
	}
	all := make([]bool, len(w.function))
	for n := range all {
		all[n] = w.caller[n] < 0
	}
	s := w.newScope(all)
	for i := range w.loops {
		if l := &w.loops[i]; s.part[l.source] < 0 || s.part[l.source] != s.part[l.header] {
			from, to := w.NodeName(int(l.source)), w.NodeName(int(l.header))
			return fmt.Errorf("the loop edge %s -> %s does not lead back: there is no path from %q to %q; make it a next or "+
				"branch edge", from, to, to, from)
		}
	}
	err := c.compose(s)
	if o := (*overlapError)(nil); errors.As(err, &o) {
		w.overlap = err
		err = c.composeOverlap(s)
	}
	if err != nil {
		return err
	}
	w.findRoutes(s)
	return w.countRuns()
}

// compose fills the workflow's regions, its inner ones and spans.
func (c *composer) compose(s *scope) error {
	w := c.w
	passed := c.cuts(s)
	for i, from := range passed {
		to := exit
		if i+1 < len(passed) {
			to = passed[i+1]
		}
		limit := listedPlain
		if c.forkBetween(from, to) {
			limit = maxScenarios
		}
		r := region{from: from, weight: 1}
		err := c.newExplorer(s, &r, to, limit).begin()
		if many := (*manyError)(nil); errors.As(err, &many) {
			err = c.split(s, from, to)
		} else if err == nil {
			w.regions = append(w.regions, r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// forkBetween says whether there is a fork from one node on, before another.
func (c *composer) forkBetween(from, to int32) bool {
	if c.mark == nil {
		c.mark = make([]int32, len(c.w.function))
	}
	c.marks++
	stack := []int32{from}
	var out []int32
	for len(stack) > 0 {
		m := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if c.w.forks(m) {
			return true
		}
		out = c.w.onward(out[:0], m)
		for _, t := range out {
			if t != to && c.mark[t] != c.marks {
				c.mark[t] = c.marks
				stack = append(stack, t)
			}
		}
	}
	return false
}

// cuts returns the nodes that every request passes and at which it is in no cyclic part that it entered elsewhere.
func (c *composer) cuts(s *scope) []int32 {
	w := c.w
	entries := make([]int, len(s.parts))
	last := make([]int32, len(s.parts))
	enter := func(p, n int32) {
		if entries[p] == 0 || last[p] != n {
			entries[p]++
			last[p] = n
		}
	}
	if p := s.part[w.entry]; p >= 0 {
		enter(p, int32(w.entry))
	}
	for m := range w.function {
		for _, t := range w.onward(nil, int32(m)) {
			if p := s.part[t]; p >= 0 && p != s.part[m] {
				enter(p, t)
			}
		}
	}
	var out []int32
	for _, n := range w.dominators() {
		if p := s.part[n]; p < 0 || entries[p] == 1 && last[p] == n {
			out = append(out, n)
		}
	}
	return out
}

// split lists the scenarios between two nodes that every request passes below forks only.
func (c *composer) split(s *scope, from, to int32) error {
	w := c.w
	reach := make([]float64, len(w.function))
	reach[from] = 1
	for _, m := range s.order {
		if reach[m] == 0 || m == to {
			continue
		}
		r := region{from: m, weight: reach[m]}
		e := c.newExplorer(s, &r, exit, maxScenarios)
		e.step = true
		if err := e.begin(); err != nil {
			return err
		}
		for _, x := range r.scenarios {
			if x.to != exit {
				reach[x.to] += float64(r.weight * x.p)
			}
		}
		w.regions = append(w.regions, r)
	}
	return nil
}
