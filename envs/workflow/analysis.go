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

// Response returns the expected response time in seconds of a request that waits in no queue. times has each node's own
// time in seconds. Parallel paths count as the longest of them, branches by their expectation, and a loop's section as
// many times as it is expected to run (OptiServe's and PRCP's reduction). Calls one by one add up; of calls together
// the longest counts.
func (w *Workflow) Response(times []float64, d Delays) float64 {
	var total float64
	var few [64]float64 // on the stack: it is called in inner loops
	at := few[:]
	if n := len(w.function); n > len(few) {
		at = make([]float64, n)
	}
	for i := range w.regions {
		r := &w.regions[i]
		for j := range r.scenarios {
			s := &r.scenarios[j]
			total += float64(s.p * w.longest(r, s, times, d, at, nil))
		}
	}
	return total
}

// CriticalPath appends to dst the nodes of the longest path through the workflow, with the callees that lengthen it,
// and returns it with its length in seconds. Times count as in [Workflow.Response], except that a branch counts as its
// longest alternative, however improbable.
func (w *Workflow) CriticalPath(dst []int, times []float64, d Delays) ([]int, float64) {
	var total float64
	at := make([]float64, len(w.function))
	before := make([]int32, len(w.function))
	for i := range w.regions {
		r := &w.regions[i]
		var best *scenario
		var length float64
		for j := range r.scenarios {
			s := &r.scenarios[j]
			if t := w.longest(r, s, times, d, at, nil); best == nil || t > length {
				best, length = s, t
			}
		}
		w.longest(r, best, times, d, at, before)
		total += length
		var way []int32
		end := r.to
		if end == exit {
			// The latest of the nodes that end here.
			end = -2
			for _, l := range best.links {
				if l.to == exit && (end == -2 || w.finish(l, times, d, at) > w.finish(link{end, exit}, times, d, at)) {
					end = l.from
				}
			}
		} else {
			end = before[end]
		}
		for m := end; m != r.from; m = before[m] {
			way = append(way, m)
		}
		way = append(way, r.from)
		for _, m := range slices.Backward(way) {
			dst = w.appendCalls(dst, m, times, d)
		}
	}
	return dst, total
}

// longest returns the length of a region's longest path in a scenario. It writes into at when each node starts and into
// before, unless that is nil, which node it then follows.
func (w *Workflow) longest(r *region, s *scenario, times []float64, d Delays, at []float64, before []int32) float64 {
	for _, l := range s.links {
		if l.to != exit {
			at[l.to] = -1
		}
	}
	at[r.from] = 0
	var length float64
	for _, l := range s.links {
		t := w.finish(l, times, d, at)
		switch {
		case l.to == exit:
			length = max(length, t)
		case t > at[l.to]:
			at[l.to] = t
			if before != nil {
				before[l.to] = l.from
			}
		}
	}
	if r.to != exit {
		length = at[r.to]
	}
	return length
}

// finish returns the time at which a request has passed an edge: its node's start, plus the node's time and delays.
func (w *Workflow) finish(l link, times []float64, d Delays, at []float64) float64 {
	t := at[l.from] + float64(w.factor[l.from]*w.runTime(l.from, times, d))
	if d.Edge == 0 {
		return t
	}
	edge := 0.0
	if l.to != exit || w.ends(l.from) {
		edge = 1
	}
	// An edge is taken once for each run of the loops around both its ends, a loop edge once less.
	for i := range w.loops {
		in := w.loops[i].in
		if in[l.from] && l.to != exit && in[l.to] {
			edge *= w.loops[i].factor
		}
	}
	for i := range w.loops {
		if lp := &w.loops[i]; lp.source == l.from {
			edge += float64((lp.factor - 1) * w.entries(lp))
		}
	}
	return t + float64(edge*d.Edge)
}

// ends reports whether a node has an edge to [End].
func (w *Workflow) ends(n int32) bool {
	return slices.Contains(w.next[n], exit) || slices.ContainsFunc(w.alts[n], func(a alt) bool { return a.to == exit })
}

// entries returns how often a loop's section is expected to be entered, because of the loops around it.
func (w *Workflow) entries(l *loop) float64 {
	f := 1.0
	for i := range w.loops {
		o := &w.loops[i]
		if o != l && o.in[l.source] && o.in[l.header] && len(o.body) > len(l.body) {
			f *= o.factor
		}
	}
	return f
}

// runTime returns the time of one run of a node with its calls.
func (w *Workflow) runTime(n int32, times []float64, d Delays) float64 {
	t := times[n] + d.Node
	var longest float64
	for _, m := range w.calls[n] {
		c := w.runTime(m, times, d) + d.Edge
		if w.mode[n] == OneByOne {
			t += c
		}
		longest = max(longest, c)
	}
	if w.mode[n] == Together {
		t += longest
	}
	return t
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
