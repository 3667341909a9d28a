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
