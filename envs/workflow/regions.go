package workflow

import "fmt"

// A workflow falls into regions at the nodes through which every request passes. Within a region branches may be taken
// or not, so a region is kept as its scenarios: each combination of choices with its probability, loops aside. What is
// asked of a workflow (expected runs, response time) is then a sum over regions of an expectation over scenarios: exact
// for any graph, not only for nested ones.

// region lies between two nodes that every request passes, from inclusive, to exclusive (exit at the end).
type region struct {
	from, to  int32
	scenarios []scenario
}

// scenario is one combination of choices in a region.
type scenario struct {
	p     float64
	links []link // live edges, in topological order of where they start
}

type link struct{ from, to int32 }

// maxScenarios bounds the combinations of choices between two nodes that every request passes.
const maxScenarios = 4096

// findRegions cuts the workflow and works out its scenarios and what follows from them.
func (w *Workflow) findRegions() error {
	n := len(w.function)
	passed := w.dominators()
	w.execs = make([]float64, n)
	meets := make([]bool, n) // whether live paths meet at a node in some scenario
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
		if w.of[m] >= 0 {
			w.execs[m] = w.execs[w.of[m]] // the caller's own factor is in already
			continue
		}
		w.execs[m] = float64(w.execs[m] * w.factor[m])
	}
	for m, node := range w.graph.Nodes {
		if node.Join && !meets[m] {
			return fmt.Errorf("node %q is a join without a fork: no two paths that run side by side meet there; drop the join or lead a second path to it",
				node.Name)
		}
	}
	return nil
}

// dominators returns the nodes that every way from the entry to the end passes, in order, by the dominator tree of the
// graph without its loops (Cooper, Harvey and Kennedy's intersection; one pass is enough without cycles).
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
	last := int32(-1) // what dominates the end
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
		if w.of[m] >= 0 {
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

// explorer walks a region's nodes in topological order and branches at every choice.
type explorer struct {
	w     *Workflow
	r     *region
	state []int8  // per node: 1 live
	live  []int32 // per node: live edges into it
	links []link
}

func (e *explorer) explore(at int, p float64) error {
	w := e.w
	for ; at < len(w.order); at++ {
		m := int32(w.order[at])
		if e.state[m] == 0 || m == e.r.to {
			continue
		}
		kept := len(e.links)
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
		e.undo(kept)
		return nil
	}
	if len(e.r.scenarios) == maxScenarios {
		return fmt.Errorf("between node %q and the next that every request passes there are more than %d combinations of branches: "+
			"split the workflow there", w.NodeName(int(e.r.from)), maxScenarios)
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
