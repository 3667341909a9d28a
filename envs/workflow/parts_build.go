package workflow

import (
	"fmt"
	"slices"
)

// partBuilder finds the blocks below forks and writes the workflow's response time as a sum of parts.
type partBuilder struct {
	w    *Workflow
	d    Delays
	out  [][]int32 // per node: where its next and branch edges lead; exit for the end
	in   [][]int32
	rank []int   // place of each node in the topological order
	dom  []int32 // immediate dominator; none at the entry
	post []int32 // immediate postdominator, exit for the end
}

// none stands for a node that is not there; exit is -1.
const none int32 = -2

// maxWays is the most combinations of branches of a block.
const maxWays = 4096

func (b *partBuilder) build() (Part, error) {
	b.connect()
	w := b.w
	top := Part{Kind: Series}
	inside := make([]bool, w.NumNodes())
	for _, o := range w.order {
		x := int32(o)
		if w.caller[x] >= 0 || inside[x] {
			continue
		}
		if b.forks(x) {
			from, to, nodes, err := b.closed(x)
			if err != nil {
				return Part{}, err
			}
			if from != x {
				// The block starts before this node: the nodes between are in it, and no longer terms of their own.
				top.Parts = slices.DeleteFunc(top.Parts, func(p Part) bool {
					return p.Kind == Single && slices.Contains(nodes, int32(p.Node)) ||
						p.Kind != Single && slices.ContainsFunc(nodes, func(n int32) bool { return p.has(int(n)) })
				})
			}
			block, err := b.block(from, to, nodes)
			if err != nil {
				return Part{}, err
			}
			for _, n := range nodes {
				inside[n] = true
			}
			top.Parts = append(top.Parts, block)
			if from != x {
				continue // from has its own term, and x lies in the block
			}
		}
		top.Parts = append(top.Parts, b.run(x, w.execs[x]))
	}
	return top, nil
}

// has reports whether a node is in a part.
func (p *Part) has(n int) bool {
	return p.Kind == Single && p.Node == n || slices.ContainsFunc(p.Parts, func(q Part) bool { return q.has(n) })
}

// connect fills in the edges without loops, the dominators and the postdominators (Cooper, Harvey and Kennedy; one pass
// is enough without cycles).
func (b *partBuilder) connect() {
	w := b.w
	n := len(w.function)
	b.out, b.in = make([][]int32, n), make([][]int32, n)
	b.rank, b.dom, b.post = make([]int, n), slices.Repeat([]int32{none}, n), slices.Repeat([]int32{none}, n)
	for i, m := range w.order {
		b.rank[m] = i
	}
	for m := range n {
		if w.caller[m] >= 0 {
			continue
		}
		b.out[m] = append(b.out[m], w.next[m]...)
		for _, a := range w.alts[m] {
			if a.loop < 0 {
				b.out[m] = append(b.out[m], a.to)
			}
		}
		if len(b.out[m]) == 0 {
			b.out[m] = []int32{exit}
		}
		for _, t := range b.out[m] {
			if t != exit {
				b.in[t] = append(b.in[t], int32(m))
			}
		}
	}
	for _, m := range w.order {
		for _, p := range b.in[m] {
			if b.dom[m] == none {
				b.dom[m] = p
			} else {
				b.dom[m] = b.meetBefore(b.dom[m], p)
			}
		}
	}
	for _, m := range slices.Backward(w.order) {
		for i, t := range b.out[m] {
			if i == 0 {
				b.post[m] = t
			} else {
				b.post[m] = b.meetAfter(b.post[m], t)
			}
		}
	}
}

func (b *partBuilder) meetBefore(x, y int32) int32 {
	for x != y {
		if b.rank[x] > b.rank[y] {
			x = b.dom[x]
		} else {
			y = b.dom[y]
		}
	}
	return x
}

func (b *partBuilder) meetAfter(x, y int32) int32 {
	for x != y {
		switch {
		case x == exit || y == exit:
			return exit
		case b.rank[x] < b.rank[y]:
			x = b.post[x]
		default:
			y = b.post[y]
		}
	}
	return x
}

// forks reports whether several paths leave a node at the same time.
func (b *partBuilder) forks(x int32) bool {
	branches := slices.ContainsFunc(b.w.alts[x], func(a alt) bool { return a.loop < 0 })
	return len(b.w.next[x]) > 1 || len(b.w.next[x]) == 1 && branches
}

// closed returns the smallest block around the paths from a fork that is entered at one node only: its first node, the
// node that all its paths pass next (neither is inside), and the nodes inside in topological order.
func (b *partBuilder) closed(from int32) (int32, int32, []int32, error) {
	to := b.post[from]
	for {
		nodes := b.between(from, to)
		open := slices.ContainsFunc(nodes, func(n int32) bool {
			return slices.ContainsFunc(b.in[n], func(p int32) bool { return p != from && !slices.Contains(nodes, p) })
		})
		if !open {
			return from, to, nodes, nil
		}
		if b.dom[from] == none {
			return 0, 0, nil, fmt.Errorf("the paths from %q do not form a block", b.w.NodeName(int(from)))
		}
		from = b.dom[from]
		to = b.meetAfter(to, b.post[from])
	}
}

// between returns the nodes on paths from one node to another, without both, in topological order.
func (b *partBuilder) between(from, to int32) []int32 {
	seen := make([]bool, len(b.out))
	seen[from] = true
	var nodes []int32
	for _, o := range b.w.order[b.rank[from]:] {
		n := int32(o)
		if !seen[n] || n == to {
			continue
		}
		if n != from {
			nodes = append(nodes, n)
		}
		for _, t := range b.out[n] {
			if t != exit && t != to {
				seen[t] = true
			}
		}
	}
	return nodes
}

// stay is the probability that a node's run is not followed by a loop.
func (b *partBuilder) stay(n int32) float64 {
	stay := 1.0
	for _, a := range b.w.alts[n] {
		if a.loop >= 0 {
			stay -= a.p
		}
	}
	return stay
}

// run returns the part of a node with its calls, for so many runs, with the delays of its runs.
func (b *partBuilder) run(n int32, runs float64) Part {
	w := b.w
	p := Part{Kind: Single, Node: int(n), Runs: runs, Delay: float64(runs * b.d.Node)}
	if len(w.calls[n]) == 0 {
		return p
	}
	calls := Part{Kind: Series}
	if w.mode[n] == Together {
		calls.Kind = Parallel
	}
	for _, m := range w.calls[n] {
		c := b.run(m, runs)
		c.Delay += float64(runs * b.d.Edge)
		calls.Parts = append(calls.Parts, c)
	}
	return Part{Kind: Series, Parts: []Part{p, calls}}
}

// block returns the part of the paths from a node to the next that all of them pass, as often as they are taken.
func (b *partBuilder) block(from, to int32, nodes []int32) (Part, error) {
	w := b.w
	e := brancher{b: b, to: to, nodes: nodes, run: map[int32]int{}}
	e.leave(from, func() { e.explore(0) }, 1)
	if len(e.ways) > maxWays {
		return Part{}, fmt.Errorf("between node %q and the next node that all paths pass there are more than %d "+
			"combinations of branches", w.NodeName(int(from)), maxWays)
	}
	entries := float64(w.execs[from] * b.stay(from))
	index := map[int32]int{from: -1, to: len(nodes)}
	for i, n := range nodes {
		index[n] = i
	}
	reach := make([]float64, len(nodes))
	g := newPartGraph(len(nodes), len(e.ways))
	for s, way := range e.ways {
		g.probability[s] = way.p
		seen := map[int32]bool{}
		for _, l := range way.links {
			g.link(index[l.from], index[l.to], s)
			if i := index[l.to]; i < len(nodes) && !seen[l.to] {
				seen[l.to] = true
				reach[i] += way.p
			}
		}
	}
	for i, n := range nodes {
		// Runs of the node each time that it is reached: the loops around it within the block.
		runs := w.execs[n] / float64(entries*reach[i])
		p := b.run(n, runs)
		edges := runs * (1 - b.stay(n)) // loop edges
		if slices.Contains(w.next[n], exit) || slices.ContainsFunc(w.alts[n], func(a alt) bool { return a.to == exit }) ||
			!slices.Equal(b.out[n], []int32{exit}) {
			edges = runs
		}
		p.Delay += float64(edges * b.d.Edge)
		g.parts[i] = p
	}
	return g.reduce().scaled(entries), nil
}

// brancher lists the combinations of branches in a block.
type brancher struct {
	b     *partBuilder
	to    int32
	nodes []int32
	run   map[int32]int // per node: edges taken into it
	links []link
	p     float64
	ways  []struct {
		p     float64
		links []link
	}
}

// leave takes the edges that leave a node, once for each of its branches, and calls then for each.
func (e *brancher) leave(n int32, then func(), p float64) {
	if len(e.ways) > maxWays {
		return
	}
	w := e.b.w
	before := len(e.links)
	for _, t := range w.next[n] {
		e.take(n, t)
	}
	branches := false
	for _, a := range w.alts[n] {
		if a.loop >= 0 {
			continue
		}
		branches = true
		with := len(e.links)
		e.take(n, a.to)
		e.p = p * (a.p / e.b.stay(n))
		then()
		e.undo(with)
	}
	if !branches {
		if len(w.next[n]) == 0 {
			e.take(n, exit)
		}
		e.p = p
		then()
	}
	e.undo(before)
}

func (e *brancher) explore(at int) {
	for at < len(e.nodes) && e.run[e.nodes[at]] == 0 {
		at++
	}
	if at < len(e.nodes) {
		e.leave(e.nodes[at], func() { e.explore(at + 1) }, e.p)
		return
	}
	e.ways = append(e.ways, struct {
		p     float64
		links []link
	}{e.p, slices.Clone(e.links)})
}

func (e *brancher) take(from, to int32) {
	e.links = append(e.links, link{from, to, -1})
	e.run[to]++
}

func (e *brancher) undo(to int) {
	for _, l := range e.links[to:] {
		e.run[l.to]--
	}
	e.links = e.links[:to]
}
