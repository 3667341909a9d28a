package workflow

import (
	"maps"
	"slices"
)

// partGraph is a block while it is reduced: an acyclic graph of parts from a start (-1) to a finish (len(parts)), whose
// edges are each taken in some of the ways. Chains become Series, parts with equal neighbours become Parallel, and
// sections with one way in and one out are reduced on their own. What is left is an Other.
type partGraph struct {
	parts       []Part
	gone        []bool
	in, out     []map[int]waySet // per part, and for start and finish at len(parts) and len(parts)+1
	probability []float64
}

// waySet is a set of ways, as the bytes of a bit set, so that sets are comparable.
type waySet string

func newPartGraph(nodes, ways int) *partGraph {
	g := &partGraph{parts: make([]Part, nodes), gone: make([]bool, nodes), probability: make([]float64, ways)}
	for range nodes + 2 {
		g.in, g.out = append(g.in, map[int]waySet{}), append(g.out, map[int]waySet{})
	}
	return g
}

// at is the place of a part in the lists of edges; the start is -1, the finish len(parts).
func (g *partGraph) at(n int) int {
	if n < 0 {
		return len(g.parts)
	}
	if n == len(g.parts) {
		return len(g.parts) + 1
	}
	return n
}

// link adds an edge in a way.
func (g *partGraph) link(from, to, way int) {
	f, t := g.at(from), g.at(to)
	bits := []byte(g.out[f][t])
	if len(bits) == 0 {
		bits = make([]byte, (len(g.probability)+7)/8)
	}
	bits[way/8] |= 1 << (way % 8)
	g.join(f, t, waySet(bits))
}

func (g *partGraph) join(f, t int, s waySet) { g.out[f][t], g.in[t][f] = s, s }

func (g *partGraph) cut(f, t int) { delete(g.out[f], t); delete(g.in[t], f) }

func (s waySet) within(t waySet) bool {
	for i := range len(s) {
		if s[i]&^t[i] != 0 {
			return false
		}
	}
	return true
}

// present is the set of ways in which a part runs.
func (g *partGraph) present(n int) waySet {
	edges := g.in[n]
	if n == len(g.parts) {
		edges = g.out[n]
	}
	var bits []byte
	for _, s := range edges {
		if bits == nil {
			bits = []byte(s)
			continue
		}
		for i := range bits {
			bits[i] |= s[i]
		}
	}
	return waySet(bits)
}

// reduce returns the block as one part.
func (g *partGraph) reduce() Part {
	for g.shorten() || g.chains() || g.twins() || g.sections() {
		continue
	}
	return g.rest()
}

// live lists the parts that are left.
func (g *partGraph) live() []int {
	var out []int
	for n := range g.parts {
		if !g.gone[n] {
			out = append(out, n)
		}
	}
	return out
}

// shorten removes an edge beside which a longer way always leads to the same part: the longest path never takes it.
func (g *partGraph) shorten() bool {
	changed := false
	for f := range g.out {
		for _, t := range slices.Sorted(maps.Keys(g.out[f])) {
			s := g.out[f][t]
			if len(g.out[f]) > 1 && len(g.in[t]) > 1 && g.leads(f, t, s) {
				g.cut(f, t)
				changed = true
			}
		}
	}
	return changed
}

// leads reports whether edges that are all taken in the ways s lead from f to t over another part.
func (g *partGraph) leads(f, t int, s waySet) bool {
	seen := map[int]bool{f: true}
	stack := []int{f}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for m, with := range g.out[n] {
			if n == f && m == t || seen[m] || !s.within(with) {
				continue
			}
			if m == t {
				return true
			}
			seen[m] = true
			stack = append(stack, m)
		}
	}
	return false
}

// chains joins a part with its only successor, where that has no other predecessor and runs in the same ways.
func (g *partGraph) chains() bool {
	changed := false
	for _, n := range g.live() {
		for len(g.out[n]) == 1 {
			var m int
			for m = range g.out[n] {
			}
			if m >= len(g.parts) || len(g.in[m]) != 1 || g.present(n) != g.out[n][m] {
				break
			}
			g.parts[n] = join(Series, g.parts[n], g.parts[m])
			g.cut(n, m)
			for t, s := range g.out[m] {
				g.cut(m, t)
				g.join(n, t, s)
			}
			g.gone[m] = true
			changed = true
		}
	}
	return changed
}

// join returns two parts as one of a kind, without nesting parts of that kind.
func join(kind PartKind, a, b Part) Part {
	out := Part{Kind: kind}
	for _, p := range []Part{a, b} {
		if p.Kind == kind && (kind == Series || p.Delay == 0) {
			out.Parts = append(out.Parts, p.Parts...)
			out.Delay += p.Delay
		} else {
			out.Parts = append(out.Parts, p)
		}
	}
	return out
}

// twins joins parts that start after the same parts and are waited for by the same ones.
func (g *partGraph) twins() bool {
	changed := false
	live := g.live()
	for i, n := range live {
		for _, m := range live[i+1:] {
			if g.gone[n] || g.gone[m] || !maps.Equal(g.in[n], g.in[m]) || !maps.Equal(g.out[n], g.out[m]) {
				continue
			}
			g.parts[n] = join(Parallel, g.parts[n], g.parts[m])
			g.remove(m)
			changed = true
		}
	}
	return changed
}

func (g *partGraph) remove(n int) {
	for f := range g.in[n] {
		g.cut(f, n)
	}
	for t := range g.out[n] {
		g.cut(n, t)
	}
	g.gone[n] = true
}

// sections finds parts that hang together between two others and with no third, and reduces them on their own.
func (g *partGraph) sections() bool {
	live := g.live()
	from := append([]int{len(g.parts)}, live...)
	for _, x := range from {
		for _, y := range append(slices.Clone(live), len(g.parts)+1) {
			if x == y {
				continue
			}
			for _, section := range g.enclosed(x, y) {
				if len(section) > 1 && len(section) < len(live) && g.contract(x, y, section) {
					return true
				}
			}
		}
	}
	return false
}

// enclosed returns the parts after x that lead to nothing but y, in groups that hang together.
func (g *partGraph) enclosed(x, y int) [][]int {
	inside := make([]bool, len(g.in))
	var reach func(n int)
	reach = func(n int) {
		for m := range g.out[n] {
			if m < len(g.parts) && m != y && !inside[m] {
				inside[m] = true
				reach(m)
			}
		}
	}
	reach(x)
	open := func(n int) bool {
		for f := range g.in[n] {
			if f != x && !inside[f] {
				return true
			}
		}
		for t := range g.out[n] {
			if t != y && (t >= len(g.parts) || !inside[t]) {
				return true
			}
		}
		return false
	}
	for again := true; again; {
		again = false
		for n := range g.parts {
			if inside[n] && open(n) {
				inside[n], again = false, true
			}
		}
	}
	var groups [][]int
	for n := range g.parts {
		if !inside[n] {
			continue
		}
		var group []int
		var gather func(m int)
		gather = func(m int) {
			inside[m] = false
			group = append(group, m)
			for f := range g.in[m] {
				if f < len(g.parts) && inside[f] {
					gather(f)
				}
			}
			for t := range g.out[m] {
				if t < len(g.parts) && inside[t] {
					gather(t)
				}
			}
		}
		gather(n)
		slices.Sort(group)
		groups = append(groups, group)
	}
	return groups
}

// contract replaces a section between x and y by one part. It leaves sections with branches alone: there the longest
// path depends on what runs beside them.
func (g *partGraph) contract(x, y int, section []int) bool {
	all := g.present(section[0])
	index := map[int]int{x: -1, y: len(section)}
	for i, n := range section {
		index[n] = i
	}
	sub := newPartGraph(len(section), 1)
	sub.probability[0] = 1
	for _, n := range section {
		for f, s := range g.in[n] {
			if s != all {
				return false
			}
			sub.link(index[f], index[n], 0)
		}
		for t, s := range g.out[n] {
			if s != all {
				return false
			}
			if t == y {
				sub.link(index[n], len(section), 0)
			}
		}
		sub.parts[index[n]] = g.parts[n]
	}
	part := sub.reduce()
	for _, n := range section {
		g.remove(n)
	}
	n := section[0]
	g.gone[n] = false
	g.parts[n] = part
	g.join(x, n, all)
	g.join(n, y, all)
	return true
}

// rest returns what is left as one part.
func (g *partGraph) rest() Part {
	live := g.live()
	start, finish := len(g.parts), len(g.parts)+1
	whole := make([]byte, (len(g.probability)+7)/8)
	for s := range g.probability {
		whole[s/8] |= 1 << (s % 8)
	}
	if len(live) == 0 {
		return Part{Kind: Series}
	}
	if n := live[0]; len(live) == 1 && g.in[n][start] == waySet(whole) && g.out[n][finish] == waySet(whole) {
		return g.parts[n]
	}
	p := Part{Kind: Other}
	index := map[int]int{start: -1, finish: len(live)}
	order := append([]int{start}, g.sorted(live)...)
	for i, n := range order[1:] {
		index[n] = i
		p.Parts = append(p.Parts, g.parts[n])
	}
	for s, probability := range g.probability {
		way := PartWay{Probability: probability}
		for _, f := range order {
			for _, t := range slices.Sorted(maps.Keys(g.out[f])) {
				if g.out[f][t][s/8]>>(s%8)&1 != 0 {
					way.Links = append(way.Links, [2]int{index[f], index[t]})
				}
			}
		}
		p.Ways = append(p.Ways, way)
	}
	return p
}

// sorted returns parts in a topological order.
func (g *partGraph) sorted(live []int) []int {
	var out []int
	placed := map[int]bool{len(g.parts): true}
	for len(out) < len(live) {
		for _, n := range live {
			if placed[n] {
				continue
			}
			ready := true
			for f := range g.in[n] {
				ready = ready && placed[f]
			}
			if ready {
				placed[n] = true
				out = append(out, n)
			}
		}
	}
	return out
}
