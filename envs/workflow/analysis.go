package workflow

import (
	"cmp"
	"fmt"
	"slices"
)

// Path is a path through the workflow from the entry to the end.
type Path struct {
	// Nodes in the order of the path.
	Nodes []int
	// Probability is the product of the probabilities of its branches.
	Probability float64
}

// CriticalPath appends to dst the nodes of the longest path through the workflow, with the callees that lengthen it,
// and returns it with its length in seconds. Times count as in [Workflow.Through]: a branch counts as its longest
// alternative, however improbable, and a node as often as it runs in a request that passes it.
func (w *Workflow) CriticalPath(dst []int, times []float64, d Delays) ([]int, float64) {
	after := w.after(times, d)
	length := after[w.entry] + w.own(int32(w.entry), times, d)
	m := int32(w.entry)
	for {
		dst = w.appendCalls(dst, m, times, d)
		next, most := exit, 0.0
		for _, k := range w.onward(nil, m) {
			if t := after[k] + w.own(k, times, d) + d.Edge; next == exit || t > most {
				next, most = k, t
			}
		}
		if next == exit {
			return dst, length
		}
		m = next
	}
}

// appendCalls appends a node and the callees that its time depends on.
func (w *Workflow) appendCalls(dst []int, n int32, times []float64, d Delays) []int {
	dst = append(dst, int(n))
	if len(w.calls[n]) == 0 {
		return dst
	}
	if w.mode[n] == OneByOne {
		for _, m := range w.calls[n] {
			dst = w.appendCalls(dst, m, times, d)
		}
		return dst
	}
	longest := slices.MaxFunc(w.calls[n], func(a, b int32) int {
		return cmp.Compare(w.runTime(a, times, d), w.runTime(b, times, d))
	})
	return w.appendCalls(dst, longest, times, d)
}

// Paths returns all paths from the entry to the end, without loops and calls, depth first: the edges of each node in the
// order of the graph's list, as networkx' all_simple_paths has them. It fails if there are more than limit.
func (w *Workflow) Paths(limit int) ([]Path, error) {
	var out []Path
	var way []int
	var walk func(n int32, p float64) error
	walk = func(n int32, p float64) error {
		if n == exit {
			if len(out) == limit {
				return fmt.Errorf("workflow %q has more than %d paths", w.Name(), limit)
			}
			out = append(out, Path{slices.Clone(way), p})
			return nil
		}
		way = append(way, int(n))
		defer func() { way = way[:len(way)-1] }()
		for _, e := range w.on[n] {
			if err := walk(e.to, p*e.p); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(int32(w.entry), 1); err != nil {
		return nil, err
	}
	return out, nil
}
