package workflow

import "fmt"

// The nodes that every request passes cut a workflow into regions. A region is stored as its scenarios: every
// combination of branches with its probability, without loops. Expected runs and response times are then sums over
// regions of an expectation over scenarios. This is exact for any graph, not only for nested ones.

// region is the part of a workflow between two nodes that every request passes: from is inside, to is not (exit means
// the end).
type region struct {
	from, to  int32
	scenarios []scenario
}

// scenario is one combination of branches in a region.
type scenario struct {
	p     float64
	links []link // edges taken, in topological order of their sources
}

type link struct{ from, to int32 }

// maxScenarios is the most scenarios of a region.
const maxScenarios = 4096

// findRegions finds the regions, their scenarios and the expected runs of each node.
func (w *Workflow) findRegions() error {
	n := len(w.function)
	passed := w.dominators()
	w.execs = make([]float64, n)
	meets := make([]bool, n) // whether parallel paths meet at the node in some scenario
	for i, from := range passed {
		to := exit
		if i+1 < len(passed) {
			to = passed[i+1]
		}
		r := region{from: from, to: to}
		e := explorer{w: w, r: &r, state: make([]int8, n), live: make([]int32, n)}
		e.state[from] = 1
		if err := e.explore(0, 1); err != nil {
			return err
		}
		for _, s := range r.scenarios {
			w.execs[from] += s.p
			seen := map[int32]int{}
			for _, l := range s.links {
				if l.to == exit {
					continue
				}
				if seen[l.to]++; seen[l.to] > 1 {
					meets[l.to] = true
				} else if l.to != to {
					w.execs[l.to] += s.p
				}
			}
		}
		w.regions = append(w.regions, r)
	}
	for _, m := range w.order {
		if w.caller[m] >= 0 {
			w.execs[m] = w.execs[w.caller[m]] // includes the caller's factor
			continue
		}
		w.execs[m] = float64(w.execs[m] * w.factor[m])
	}
	for m, node := range w.graph.Nodes {
		if node.Join && !meets[m] {
			return fmt.Errorf("node %q is a join without a fork: no parallel paths meet there; remove the join or "+
				"lead a second path to it", node.Name)
		}
	}
	return nil
}

// dominators returns the nodes on every path from the entry to the end, in order. It computes the dominator tree of the
// graph without its loops, with the intersection of Cooper, Harvey and Kennedy; without cycles one pass is enough.
func (w *Workflow) dominators() []int32 {
	n := len(w.function)
	rank := make([]int, n)
	idom := make([]int32, n)
	for i, m := range w.order {
		rank[m] = i
		idom[m] = -1
	}
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
	enter := func(from, to int32) {
		switch {
		case to == exit && last < 0:
			last = from
		case to == exit:
			last = meet(last, from)
		case idom[to] < 0:
			idom[to] = from
		default:
			idom[to] = meet(idom[to], from)
		}
	}
	for _, m := range w.order {
		m := int32(m)
		if w.caller[m] >= 0 {
			continue
		}
		ends := true
		for _, t := range w.next[m] {
			enter(m, t)
			ends = false
		}
		for _, a := range w.alts[m] {
			if a.loop < 0 {
				enter(m, a.to)
				ends = false
			}
		}
		if ends {
			enter(m, exit)
		}
	}
	var passed []int32
	for m := last; m >= 0; m = idom[m] {
		passed = append(passed, m)
	}
	for i, j := 0, len(passed)-1; i < j; i, j = i+1, j-1 {
		passed[i], passed[j] = passed[j], passed[i]
	}
	return passed
}

// explorer enumerates a region's scenarios: it visits the nodes in topological order and tries every branch.
type explorer struct {
	w     *Workflow
	r     *region
	state []int8  // per node: 1 if the scenario runs it
	live  []int32 // per node: edges taken into it
	links []link
}

func (e *explorer) explore(at int, p float64) error {
	w := e.w
	for ; at < len(w.order); at++ {
		m := int32(w.order[at])
		if e.state[m] == 0 || m == e.r.to {
			continue
		}
		before := len(e.links)
		for _, t := range w.next[m] {
			e.take(m, t)
		}
		leads := len(w.next[m]) > 0
		branches, stay := false, 1.0
		for _, a := range w.alts[m] {
			if a.loop >= 0 {
				stay -= a.p
			} else {
				branches = true
			}
		}
		if !branches {
			if !leads {
				e.take(m, exit)
			}
			continue
		}
		for _, a := range w.alts[m] {
			if a.loop >= 0 {
				continue
			}
			with := len(e.links)
			e.take(m, a.to)
			if err := e.explore(at+1, p*(a.p/stay)); err != nil {
				return err
			}
			e.undo(with)
		}
		e.undo(before)
		return nil
	}
	if len(e.r.scenarios) == maxScenarios {
		return fmt.Errorf("between node %q and the next node that every request passes there are more than %d "+
			"combinations of branches: add a node between them that every request passes", w.NodeName(int(e.r.from)),
			maxScenarios)
	}
	links := make([]link, len(e.links))
	copy(links, e.links)
	e.r.scenarios = append(e.r.scenarios, scenario{p, links})
	return nil
}

func (e *explorer) take(from, to int32) {
	e.links = append(e.links, link{from, to})
	if to != exit {
		e.live[to]++
		e.state[to] = 1
	}
}

func (e *explorer) undo(to int) {
	for _, l := range e.links[to:] {
		if l.to != exit {
			if e.live[l.to]--; e.live[l.to] == 0 {
				e.state[l.to] = 0
			}
		}
	}
	e.links = e.links[:to]
}
