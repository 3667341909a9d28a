package workflow

import (
	"fmt"
	"slices"
)

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
