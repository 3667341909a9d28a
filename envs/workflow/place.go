package workflow

// Place is where a function stands in the graph, loops left out. Calls count as edges.
type Place struct {
	// Depth is the number of nodes before the function on the longest path from the entry to it, Distance the number
	// after it on the longest path to the end. A function that runs at several nodes has the smallest depth and the
	// largest distance of them.
	Depth, Distance int
	// In and Out are the numbers of edges that enter and leave its nodes.
	In, Out int
}

// Places returns the place of each function, and the number of edges of the longest path.
func (w *Workflow) Places() (places []Place, longest int) {
	after := make([]int, len(w.function))
	places = make([]Place, len(w.functions))
	for f := range places {
		places[f].Depth = len(w.function)
	}
	var out []int32
	for i := range w.order {
		n := w.order[len(w.order)-1-i]
		out = w.successors(out[:0], int32(n))
		for _, m := range out {
			after[n] = max(after[n], after[m]+1)
		}
		p := &places[w.function[n]]
		p.Depth, p.Distance = min(p.Depth, w.depth[n]), max(p.Distance, after[n])
		p.In, p.Out = p.In+int(w.indegree[n]), p.Out+len(out)
		if w.caller[n] >= 0 {
			p.In++
		}
		longest = max(longest, w.depth[n])
	}
	return places, longest
}

// Through returns for each node the length in seconds of the longest path through it, and the longest of all. Times
// count as in [Workflow.Response], except that a branch counts as its longest alternative, and a node in a cyclic part as
// often as it is expected to run for each time that a request passes it without taking loops. The nodes of the critical
// path have its length. A callee has its caller's path; where calls run together, less what the longest of them takes
// longer.
func (w *Workflow) Through(times []float64, d Delays) (through []float64, longest float64) {
	n := len(w.function)
	before := make([]float64, n)
	through = make([]float64, n)
	var out []int32
	for _, m := range w.order {
		out = w.onward(out[:0], int32(m))
		end := before[m] + w.own(int32(m), times, d) + d.Edge
		for _, k := range out {
			before[k] = max(before[k], end)
		}
	}
	after := w.after(times, d)
	for _, m := range w.order { // callers before callees
		if w.caller[m] < 0 {
			through[m] = before[m] + w.own(int32(m), times, d) + after[m]
			longest = max(longest, through[m])
		}
		most := 0.0
		for _, k := range w.calls[m] {
			most = max(most, w.runTime(k, times, d))
		}
		for _, k := range w.calls[m] {
			through[k] = through[m]
			if w.mode[m] == Together {
				through[k] -= float64(w.factor[m] * (most - w.runTime(k, times, d)))
			}
		}
	}
	return through, longest
}

// after returns for each node the length in seconds of the longest path from its end on.
func (w *Workflow) after(times []float64, d Delays) []float64 {
	after := make([]float64, len(w.function))
	var out []int32
	for i := range w.order {
		m := w.order[len(w.order)-1-i]
		out = w.onward(out[:0], int32(m))
		for _, k := range out {
			after[m] = max(after[m], after[k]+w.own(k, times, d)+d.Edge)
		}
	}
	return after
}

// own is the time of a node with its calls and the loops around it.
func (w *Workflow) own(n int32, times []float64, d Delays) float64 {
	return float64(w.factor[n] * w.runTime(n, times, d))
}

// onward appends the nodes that n leads to by next and branch edges.
func (w *Workflow) onward(dst []int32, n int32) []int32 {
	for _, m := range w.next[n] {
		if m != exit {
			dst = append(dst, m)
		}
	}
	for _, a := range w.alts[n] {
		if a.loop < 0 && a.to != exit {
			dst = append(dst, a.to)
		}
	}
	return dst
}
