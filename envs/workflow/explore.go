package workflow

import (
	"fmt"
	"slices"
)

// explorer lists a region's scenarios: it visits the nodes in topological order and tries every branch.
type explorer struct {
	c     *composer
	s     *scope
	r     *region
	to    int32
	limit int
	step  bool    // end at the next node; from a fork, where its paths meet
	plain bool    // take no loops, see overlap.go
	live  []int32 // per node: edges taken into it
	left  int     // nodes with such edges that are still to be left
	links []link
}

func (c *composer) newExplorer(s *scope, r *region, to int32, limit int) *explorer {
	e := &explorer{c: c, s: s, r: r, to: to, limit: limit, plain: c.w.overlap != nil}
	if k := len(c.spare); k > 0 {
		e.live, c.spare = c.spare[k-1], c.spare[:k-1]
	} else {
		e.live = make([]int32, len(c.w.function))
	}
	return e
}

// begin lists the scenarios from the region's first node on. The explorer is of no use afterwards.
func (e *explorer) begin() error {
	err := e.leave(e.r.from, int(e.s.place[e.r.from])+1, 1)
	if err == nil {
		e.c.spare = append(e.c.spare, e.live) // all zero again
	}
	return err
}

// explore goes on with the nodes of the scope's order from place at on.
func (e *explorer) explore(at int, p float64) error {
	if e.left == 0 {
		return e.finish(p)
	}
	m := e.s.order[at]
	for e.live[m] == 0 || m == e.to {
		at++
		m = e.s.order[at]
	}
	e.left--
	err := e.leave(m, at+1, p)
	e.left++
	return err
}

// leave tries what can follow a node. Nodes from place at on are still to come.
func (e *explorer) leave(m int32, at int, p float64) error {
	if !e.plain && e.s.part[m] >= 0 {
		spans, err := e.c.spansFrom(e.s, m)
		if err != nil {
			return err
		}
		for _, i := range spans {
			sp := e.c.w.spans[i]
			with := len(e.links)
			e.take(link{m, sp.to, i})
			if sp.fork {
				err = e.fork(sp.to, at, float64(p*sp.p))
			} else {
				err = e.goOn(sp.to, at, float64(p*sp.p))
			}
			if err != nil {
				return err
			}
			e.undo(with)
		}
		return nil
	}
	return e.fork(m, at, p)
}

// fork tries the branches of a node and takes its other edges.
func (e *explorer) fork(m int32, at int, p float64) error {
	w := e.c.w
	if w.forks(m) && e.c.meet[m] == nowhere && !e.plain {
		return &overlapError{fmt.Sprintf("the parallel paths that start at %q all lead back", w.NodeName(int(m)))}
	}
	if e.step && w.forks(m) {
		e.to, e.step = e.c.meet[m], false
		defer func() { e.to, e.step = exit, true }()
	}
	before := len(e.links)
	for _, t := range w.next[m] {
		e.take(link{m, t, -1})
	}
	branches, stay := false, 1.0
	for _, a := range w.alts[m] {
		if a.loop >= 0 || e.plain && a.to != exit && len(w.on[a.to]) == 0 {
			stay -= a.p
		} else {
			branches = true
		}
	}
	if !branches {
		to := exit
		if len(w.next[m]) > 0 {
			to = w.next[m][0]
		} else {
			e.take(link{m, exit, -1})
		}
		err := e.goOn(to, at, p)
		e.undo(before)
		return err
	}
	for _, a := range w.alts[m] {
		if a.loop >= 0 || e.plain && a.to != exit && len(w.on[a.to]) == 0 {
			continue
		}
		with := len(e.links)
		e.take(link{m, a.to, -1})
		if err := e.goOn(a.to, at, float64(p*(a.p/stay))); err != nil {
			return err
		}
		e.undo(with)
	}
	e.undo(before)
	return nil
}

// goOn explores what follows, or ends at the node just reached.
func (e *explorer) goOn(to int32, at int, p float64) error {
	if e.step {
		e.to = to
		defer func() { e.to = exit }()
		return e.finish(p)
	}
	return e.explore(at, p)
}

// finish stores a scenario.
func (e *explorer) finish(p float64) error {
	w := e.c.w
	if len(e.r.scenarios) == e.limit {
		return &manyError{w.NodeName(int(e.r.from))}
	}
	for i, l := range e.links {
		if e.plain || l.to == exit || l.to == e.to || e.s.part[l.to] < 0 || e.s.part[l.from] == e.s.part[l.to] {
			continue
		}
		for _, k := range e.links[:i] {
			if k.to != exit && k.to != e.to && k.to != l.to && e.s.part[k.to] == e.s.part[l.to] &&
				e.s.part[k.from] != e.s.part[k.to] {
				return &overlapError{fmt.Sprintf("parallel paths enter the part that repeats at %q and at %q",
					w.NodeName(int(k.to)), w.NodeName(int(l.to)))}
			}
		}
	}
	links := slices.Clone(e.decisions(e.links))
	e.r.scenarios = append(e.r.scenarios, scenario{p, e.to, links})
	return nil
}

func (e *explorer) take(l link) {
	e.links = append(e.links, l)
	if e.arrives(l) {
		if e.live[l.to]++; e.live[l.to] == 1 && l.to != e.to {
			e.left++
		}
	}
}

// arrives says whether a link leads to a node that is still to be left. A span to a fork is followed by the fork's edges.
func (e *explorer) arrives(l link) bool {
	return l.to != exit && (l.span < 0 || !e.c.w.spans[l.span].fork)
}

func (e *explorer) undo(to int) {
	for _, l := range e.links[to:] {
		if !e.arrives(l) {
			continue
		}
		if e.live[l.to]--; e.live[l.to] == 0 && l.to != e.to {
			e.left--
		}
	}
	e.links = e.links[:to]
}

// A node starts when every edge into it is decided: taken or not taken. So it also waits for branches in parallel paths
// that turn out not to lead to it: for the run of the node that chooses. Where that can be later than what the node
// waits for anyway, the scenario has a link for it, as if the edge were taken.

// decisions adds these links to a scenario.
func (e *explorer) decisions(links []link) []link {
	parallel := false
	for i := 1; i < len(links); i++ {
		parallel = parallel || links[i].from == links[i-1].from
	}
	if !parallel {
		return links
	}
	var out []link
	for i, l := range links {
		out = append(out, l)
		if i+1 < len(links) && links[i+1].from == l.from {
			continue
		}
		for _, t := range e.undecided(links, l) {
			if !leads(links, l.from, t) && !slices.ContainsFunc(out, func(k link) bool { return k.from == l.from && k.to == t }) {
				out = append(out, link{l.from, t, l.span})
			}
		}
	}
	return out
}

// undecided returns the nodes of a scenario that could have followed a node by edges that were not taken; l is the last
// link that leaves the node.
func (e *explorer) undecided(links []link, l link) []int32 {
	w := e.c.w
	inPart := !e.plain && e.s.part[l.from] >= 0
	if len(w.alts[l.from]) < 2 && !inPart || l.span >= 0 && w.spans[l.span].fork { // of the latter the fork's links follow
		return nil
	}
	var out, open []int32
	seen := map[int32]bool{}
	reach := func(t int32) {
		if t != exit && t != e.to && !seen[t] {
			seen[t] = true
			open = append(open, t)
		}
	}
	around := func(n int32) { // what follows a cyclic part
		for _, x := range e.s.parts[e.s.part[n]].nodes {
			for _, t := range w.onward(nil, x) {
				if e.s.part[t] != e.s.part[n] {
					reach(t)
				}
			}
		}
	}
	if inPart {
		around(l.from)
	}
	if l.span < 0 {
		for _, a := range w.alts[l.from] {
			if a.loop < 0 {
				reach(a.to)
			}
		}
	}
	for len(open) > 0 {
		t := open[len(open)-1]
		open = open[:len(open)-1]
		if e.live[t] > 0 {
			out = append(out, t)
			continue
		}
		if e.plain || e.s.part[t] < 0 {
			for _, next := range w.onward(nil, t) {
				reach(next)
			}
			continue
		}
		entry := exit
		for _, x := range e.s.parts[e.s.part[t]].nodes {
			if e.live[x] > 0 {
				entry = x
			}
		}
		if entry == exit {
			around(t)
		} else if !seen[entry] {
			seen[entry] = true
			out = append(out, entry)
		}
	}
	slices.Sort(out)
	return out
}

// leads says whether a path of links leads from one node to another.
func leads(links []link, from, to int32) bool {
	reached := map[int32]bool{from: true}
	for _, l := range links {
		if reached[l.from] {
			reached[l.to] = true
		}
	}
	return reached[to]
}
