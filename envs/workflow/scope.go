package workflow

import "slices"

// scope is a set of nodes that are looked at together: all of them, or those between a fork and the node at which its
// paths meet.
type scope struct {
	inside []bool // per node
	order  []int32
	place  []int32 // per node: its place in the order, -1 if it is not in the scope
	part   []int32 // per node: its cyclic part, -1 if it is in none
	parts  []*cycle
}

// newScope finds the cyclic parts of a set of nodes: the strongly connected components of more than one node, or with
// an edge from a node to itself. In order each part is together, and nodes and parts come after those that lead to them.
func (w *Workflow) newScope(inside []bool) *scope {
	n := len(w.function)
	s := &scope{inside: inside, part: slices.Repeat([]int32{-1}, n)}
	// Tarjan's algorithm.
	index, low, at := make([]int32, n), make([]int32, n), slices.Repeat([]int32{-1}, n) // at: place on the stack
	var stack []int32
	var found [][]int32
	count := int32(0)
	var visit func(m int32)
	visit = func(m int32) {
		count++
		index[m], low[m] = count, count
		at[m] = int32(len(stack))
		stack = append(stack, m)
		for _, t := range w.ahead(m) {
			switch {
			case !inside[t]:
			case index[t] == 0:
				visit(t)
				low[m] = min(low[m], low[t])
			case at[t] >= 0:
				low[m] = min(low[m], index[t])
			}
		}
		if low[m] != index[m] {
			return
		}
		nodes := slices.Clone(stack[at[m]:])
		stack = stack[:at[m]]
		for _, t := range nodes {
			at[t] = -1
		}
		found = append(found, nodes)
	}
	for _, m := range w.order {
		if inside[m] {
			s.order = append(s.order, int32(m))
			if index[m] == 0 {
				visit(int32(m))
			}
		}
	}
	for _, nodes := range found {
		if m := nodes[0]; len(nodes) > 1 || slices.Contains(w.ahead(m), m) {
			for _, t := range nodes {
				s.part[t] = int32(len(s.parts))
			}
			s.parts = append(s.parts, &cycle{nodes: nodes})
		}
	}
	if len(s.parts) > 0 {
		rank := make([]int, n)
		for i, m := range w.order {
			rank[m] = i
		}
		s.order = s.order[:0]
		for _, nodes := range slices.Backward(found) {
			slices.SortFunc(nodes, func(a, b int32) int { return rank[a] - rank[b] })
			s.order = append(s.order, nodes...)
		}
		for _, p := range s.parts {
			slices.SortFunc(p.nodes, func(a, b int32) int { return rank[a] - rank[b] })
		}
	}
	s.place = slices.Repeat([]int32{-1}, n)
	for i, m := range s.order {
		s.place[m] = int32(i)
	}
	return s
}

// ahead returns the nodes that n leads to, loops included, calls not.
func (w *Workflow) ahead(n int32) []int32 {
	out := make([]int32, 0, len(w.next[n])+len(w.alts[n]))
	for _, m := range w.next[n] {
		if m != exit {
			out = append(out, m)
		}
	}
	for _, a := range w.alts[n] {
		if a.to != exit {
			out = append(out, a.to)
		}
	}
	return out
}

// forks says whether several ways are taken from a node at once.
func (w *Workflow) forks(n int32) bool {
	k := len(w.next[n])
	return k > 1 || k == 1 && slices.ContainsFunc(w.alts[n], func(a alt) bool { return a.loop < 0 })
}

// back returns the probability that a node takes a loop edge.
func (w *Workflow) back(n int32) float64 {
	var p float64
	for _, a := range w.alts[n] {
		if a.loop >= 0 {
			p += a.p
		}
	}
	return p
}

// nowhere is where the paths of a node meet from which all ways lead back.
const nowhere int32 = -2

// meetings returns for each node the first node that all ways on from it, loops left out, pass: its immediate
// postdominator; exit where that is the end, nowhere where all ways lead back.
func (w *Workflow) meetings() []int32 {
	n := len(w.function)
	meet := slices.Repeat([]int32{nowhere}, n)
	rank := make([]int, n)
	for i, m := range w.order {
		rank[m] = i
	}
	up := func(a int32) int32 { return meet[a] }
	for _, m := range slices.Backward(w.order) {
		at := nowhere
		for _, e := range w.on[m] {
			t := e.to
			for at != nowhere && at != t {
				switch {
				case at == exit || t == exit:
					at, t = exit, exit
				case rank[at] < rank[t]:
					at = up(at)
				default:
					t = up(t)
				}
			}
			at = t
		}
		meet[m] = at
	}
	return meet
}

// between returns the nodes that follow a node, loops left out, before another (exit: to the end).
func (w *Workflow) between(from, to int32) []bool {
	in := make([]bool, len(w.function))
	stack := []int32{from}
	var out []int32
	for len(stack) > 0 {
		m := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = w.onward(out[:0], m)
		for _, t := range out {
			if t != to && !in[t] {
				in[t] = true
				stack = append(stack, t)
			}
		}
	}
	return in
}
