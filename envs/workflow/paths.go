package workflow

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/stoker-rl/stoker/internal/heap"
)

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

// Path is a path through the workflow from the entry to the end.
type Path struct {
	// Nodes in the order of the path.
	Nodes []int
	// Probability is the product of the probabilities of its branches.
	Probability float64
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

// Way is a path through the workflow from the entry to the end, without loops and calls, with its weight.
type Way struct {
	// Nodes in the order of the path.
	Nodes []int
	// Probability is TP (O eq. 3.5): the product of the probabilities of the path's branches, loops left out. An edge
	// that is always taken counts 1, so the probabilities of parallel paths do not sum to 1.
	Probability float64
	// Seconds is the sum over the path's nodes of their time, delays and calls included, times their expected runs.
	Seconds float64
	// Weight is W (O eq. 4.6): Probability times Seconds.
	Weight float64
}

// Ways returns the paths through the workflow in falling order of their weight W (O eq. 4.6), numbered from 0: the k-th
// is the k-th critical path. It finds each path when it is asked for it, without listing all. Of paths of equal weight
// the one that comes later in the order of [Workflow.Paths] comes first, as where a stable sort by rising weight is read
// from its end (SLApp's code does that).
//
// The search is best-first over the beginnings of paths. A beginning of probability P and seconds S that leads to node n
// can at best become a path of weight P·h(S), with h(S) = max over the rests of paths from n of q·(S+r), where a rest has
// probability q and r seconds. h is convex and piecewise linear; it is computed once per node, backwards.
func (w *Workflow) Ways(times []float64, d Delays) iter.Seq2[int, Way] {
	return func(yield func(int, Way) bool) {
		s := w.newSearch(times, d)
		s.push(nil, edge{to: int32(w.entry), p: 1})
		for k := 0; len(s.heap) > 0; {
			b := heap.Pop(&s.heap)
			if b.node == exit {
				if !yield(k, b.way()) {
					return
				}
				k++
				continue
			}
			for _, e := range s.w.on[b.node] {
				s.push(b, e)
			}
		}
	}
}

// beginning is the first part of a path. With node exit it is a whole path.
type beginning struct {
	before *beginning
	node   int32
	place  int // number of edges before the one that leads here, of those that leave the node before
	p, sum float64
	bound  float64 // of the weight of every path that begins so
}

// slack covers the rounding of bounds, so that no path is given out before a heavier one.
const slack = 1 + 1e-12

// search is a heap of beginnings, the one with the largest bound first.
type search struct {
	w    *Workflow
	own  []float64 // seconds of each node times its expected runs
	edge float64
	best [][]line // per node
	heap []*beginning
}

// line is slope·S + rise.
type line struct{ slope, rise float64 }

func (w *Workflow) newSearch(times []float64, d Delays) *search {
	n := len(w.function)
	s := &search{w: w, own: make([]float64, n), edge: d.Edge, best: make([][]line, n)}
	for m := range n {
		s.own[m] = float64(w.execs[m] * w.runTime(int32(m), times, d))
	}
	for _, m := range slices.Backward(w.order) {
		if w.caller[m] >= 0 {
			continue
		}
		var ls []line
		for _, e := range w.on[m] {
			rest := s.own[m] + s.edge
			if e.to == exit {
				ls = append(ls, line{e.p, float64(e.p * rest)})
				continue
			}
			for _, l := range s.best[e.to] {
				ls = append(ls, line{float64(e.p * l.slope), float64(e.p * (l.rise + float64(l.slope*rest)))})
			}
		}
		s.best[m] = envelope(ls)
	}
	return s
}

// most is the most lines of an envelope.
const most = 64

// envelope returns the lines that are largest for some S ≥ 0. Where they are more than most, neighbours become one line
// above both, which is a bound still.
func envelope(ls []line) []line {
	slices.SortFunc(ls, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.slope, b.slope), cmp.Compare(a.rise, b.rise))
	})
	var out []line
	for _, l := range ls {
		for len(out) > 0 {
			k := len(out) - 1
			// The last line is never the largest if the new one is above it from S = 0 on, or before the one before meets it.
			if out[k].rise <= l.rise || k > 0 && meets(out[k-1], l) <= meets(out[k-1], out[k]) {
				out = out[:k]
				continue
			}
			break
		}
		out = append(out, l)
	}
	for len(out) > most {
		for i := 0; i+1 < len(out); i += 2 {
			a, b := out[i], out[i+1]
			out[i/2] = line{max(a.slope, b.slope), max(a.rise, b.rise)}
		}
		if len(out)%2 == 1 {
			out[len(out)/2] = out[len(out)-1]
		}
		out = out[:(len(out)+1)/2]
	}
	return out
}

// meets returns the S at which b, the steeper line, passes a.
func meets(a, b line) float64 { return (a.rise - b.rise) / (b.slope - a.slope) }

// push adds what follows from a beginning by an edge.
func (s *search) push(before *beginning, e edge) {
	b := &beginning{before: before, node: e.to, p: e.p}
	if before != nil {
		b.p = float64(before.p * e.p)
		b.sum = before.sum + s.own[before.node] + s.edge
		on := s.w.on[before.node]
		b.place = slices.Index(on, e)
	}
	if e.to == exit {
		b.bound = float64(b.p * b.sum)
	} else {
		if len(s.best[e.to]) == 0 {
			return // no path leads from there to the end
		}
		for _, l := range s.best[e.to] {
			b.bound = max(b.bound, float64(l.slope*b.sum)+l.rise)
		}
		b.bound *= float64(b.p * slack)
	}
	heap.Push(&s.heap, b)
}

func (b *beginning) way() Way {
	way := Way{Probability: b.p, Seconds: b.sum, Weight: b.bound}
	for c := b.before; c != nil; c = c.before {
		way.Nodes = append(way.Nodes, int(c.node))
	}
	slices.Reverse(way.Nodes)
	return way
}

// places appends the places of a beginning's edges.
func (b *beginning) places(dst []int) []int {
	if b.before != nil {
		dst = b.before.places(dst)
	}
	return append(dst, b.place)
}

// Before reports whether the search takes a first.
func (a *beginning) Before(b *beginning) bool {
	if a.bound != b.bound {
		return a.bound > b.bound
	}
	if a.node != exit || b.node != exit {
		return a.node != exit && b.node == exit // a beginning may become a path of the same weight
	}
	return slices.Compare(a.places(nil), b.places(nil)) > 0
}
