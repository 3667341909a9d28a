package workflow

import (
	"errors"
	"fmt"
)

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
	for i, j := 0, len(passed)-1; i < j; i, j = i+1, j-1 {
		passed[i], passed[j] = passed[j], passed[i]
	}
	return passed
}
