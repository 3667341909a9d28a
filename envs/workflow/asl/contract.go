package asl

import (
	"cmp"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// idle reports whether a node takes no time and runs nothing.
func (n *node) idle() bool {
	switch n.state.Type {
	case Task, Wait:
		return false
	}
	return true
}

// contract removes nodes that only lead on, as long as edges between the other nodes can say the same:
//
//   - one that leads to one node, or to the end: what led to it leads there;
//   - a choice that one node leads to: that node chooses;
//   - a fork that one node leads to, always: that node forks.
//
// A choice that several ways lead to stays: it is drawn once where they join, not once for each.
func (b *builder) contract() {
	into := b.into()
	for again := true; again; {
		again = false
		for i := range b.nodes {
			n := &b.nodes[i]
			if n.gone || !n.idle() || !b.remove(i, into[i]) {
				continue
			}
			n.gone, again = true, true
			follow := func(to int) {
				if to != end {
					into[to] = slices.DeleteFunc(into[to], func(f int) bool { return f == i })
					into[to] = dedupe(append(into[to], into[i]...))
				}
			}
			for _, to := range n.next {
				follow(to)
			}
			for _, a := range n.alts {
				follow(a.to)
			}
		}
	}
}

// into returns for each node those that lead to it.
func (b *builder) into() [][]int {
	out := make([][]int, len(b.nodes))
	for i := range b.nodes {
		n := &b.nodes[i]
		if n.gone {
			continue
		}
		for _, to := range n.next {
			out[to] = append(out[to], i)
		}
		for _, a := range n.alts {
			if a.to != end {
				out[a.to] = append(out[a.to], i)
			}
		}
	}
	return out
}

// remove leads around node i, and reports whether that is possible.
func (b *builder) remove(i int, from []int) bool {
	n := &b.nodes[i]
	switch {
	case slices.Contains(from, i):
		return false
	case len(n.alts) == 0 && len(n.next) <= 1:
		to := end
		if len(n.next) == 1 {
			to = n.next[0]
		}
		if b.entry == i {
			if to == end {
				return false
			}
			b.entry = to
		}
		for _, f := range from {
			b.nodes[f].replace(i, []way{{to, 1}})
		}
		return true
	case b.entry == i || len(from) != 1:
		return false
	}
	f := &b.nodes[from[0]]
	if len(n.alts) > 0 {
		if len(f.next) > 1 {
			return false // the others of the fork would be chosen among, too
		}
		if len(f.next) == 1 {
			f.next, f.alts = nil, []way{{i, 1}}
		}
		f.replace(i, n.alts)
		return true
	}
	if len(f.alts) > 0 {
		return false
	}
	k := slices.Index(f.next, i)
	f.next = dedupe(slices.Replace(slices.Clone(f.next), k, k+1, n.next...))
	return true
}

// replace leads to ways in place of node i.
func (n *node) replace(i int, ways []way) {
	var next []int
	for _, to := range n.next {
		switch {
		case to != i:
			next = append(next, to)
		case ways[0].to != end:
			next = append(next, ways[0].to)
		}
	}
	n.next = dedupe(next)
	var alts []way
	for _, a := range n.alts {
		if a.to != i {
			alts = append(alts, a)
			continue
		}
		for _, w := range ways {
			alts = append(alts, way{w.to, a.p * w.p})
		}
	}
	n.choose(alts)
}

// choose leads to one of several ways; those to one node are one.
func (n *node) choose(alts []way) {
	n.alts = nil
	for _, a := range alts {
		if k := slices.IndexFunc(n.alts, func(o way) bool { return o.to == a.to }); k >= 0 {
			n.alts[k].p += a.p
		} else {
			n.alts = append(n.alts, a)
		}
	}
	if len(n.alts) == 1 { // all lead to one node
		if n.alts[0].to != end {
			n.next = []int{n.alts[0].to}
		}
		n.alts = nil
	}
}

// dedupe returns x with the first of equal numbers only.
func dedupe(x []int) []int {
	seen := make(map[int]bool, len(x))
	var out []int
	for _, v := range x {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// graph writes the nodes that are left. An edge that leads back is a loop edge.
func (b *builder) graph(out *Flow) {
	order, back := b.walk()
	out.Graph.Name = b.name
	out.Graph.Entry = b.nodes[b.entry].name
	seen := map[string]bool{}
	for _, i := range order {
		n := &b.nodes[i]
		f := Function{Name: b.functions[n.state.Name], Resource: n.state.Resource, Lambda: n.state.Function}
		switch n.state.Type {
		case Task:
		case Wait:
			f.Fixed, f.Seconds = true, n.state.Seconds
			if s, ok := b.o.Facts.Waits[n.state.Name]; ok {
				f.Seconds = s
			}
		default:
			f.Fixed = true
		}
		g := workflow.Node{Name: n.name}
		if f.Name != n.name {
			g.Function = f.Name
		}
		out.Graph.Nodes = append(out.Graph.Nodes, g)
		if !seen[f.Name] {
			seen[f.Name] = true
			out.Functions = append(out.Functions, f)
		}
		for _, to := range n.next {
			e := workflow.Edge{From: n.name, To: b.nodes[to].name, Kind: workflow.Next}
			if back[[2]int{i, to}] {
				e.Kind, e.Probability = workflow.Loop, 1
			}
			out.Graph.Edges = append(out.Graph.Edges, e)
		}
		for _, a := range n.alts {
			e := workflow.Edge{From: n.name, To: workflow.End, Kind: workflow.Branch, Probability: a.p}
			if a.to != end {
				e.To = b.nodes[a.to].name
			}
			if back[[2]int{i, a.to}] {
				e.Kind = workflow.Loop
			}
			out.Graph.Edges = append(out.Graph.Edges, e)
		}
	}
}

// walk returns the nodes that are left, in the order in which they were placed, and the edges that lead back to a node
// on the way to their own: those by which a walk in depth closes a cycle.
func (b *builder) walk() (order []int, back map[[2]int]bool) {
	back = map[[2]int]bool{}
	state := make([]int8, len(b.nodes)) // 1 on the way, 2 done
	type step struct{ node, at int }
	way := []step{{b.entry, 0}}
	state[b.entry] = 1
	for len(way) > 0 {
		top := &way[len(way)-1]
		n := &b.nodes[top.node]
		if k := top.at; k < len(n.next)+len(n.alts) {
			top.at++
			var to int
			if k < len(n.next) {
				to = n.next[k]
			} else {
				to = n.alts[k-len(n.next)].to
			}
			switch {
			case to == end:
			case state[to] == 1:
				back[[2]int{top.node, to}] = true
			case state[to] == 0:
				state[to] = 1
				way = append(way, step{to, 0})
			}
			continue
		}
		state[top.node] = 2
		order = append(order, top.node)
		way = way[:len(way)-1]
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(x, y) })
	return order, back
}
