package workflow

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// place is a node of a scenario: what leads to it, and the time from the end of the last node that every path to it
// passes, its dominator.
type place struct {
	node     int32
	span     int32 // that starts there, -1 for none
	from     []int // places that lead to it
	dom      int   // place of its dominator, -1 for the first
	ancestor []uint64
	body     []complex128 // time of the node's run, or of the span that starts there
	wait     []complex128 // time from the end of the dominator to the start of this; nil for none
}

// scenario returns the spectrum of the time from the start of a scenario's first node to its end, or with first unset
// from the end of that node's run.
func (t *transform) scenario(from int32, s *scenario, first bool) []complex128 {
	places := t.places(from, s)
	words := (len(places) + 63) / 64
	for i := range places {
		p := &places[i]
		p.waitFor(places)
		p.ancestor = make([]uint64, words)
		p.dom = -1
		for k, f := range p.from {
			for w, x := range places[f].ancestor {
				p.ancestor[w] |= x
			}
			p.ancestor[f/64] |= 1 << (f % 64)
			if k == 0 {
				p.dom = f
				continue
			}
			for a := f; p.dom != a; { // dominators come before what they dominate
				if p.dom > a {
					p.dom = places[p.dom].dom
				} else {
					a = places[a].dom
				}
			}
		}
		if i > 0 {
			t.join(places, i)
		}
	}
	last := len(places) - 1
	out := t.always()
	places[last].waited(out)
	for d := places[last].dom; d >= 0; d = places[d].dom {
		if d > 0 {
			multiply(out, places[d].body)
			places[d].waited(out)
		} else if first {
			multiply(out, places[0].body)
		}
	}
	return out
}

// waitFor leaves out the places that end before others that this one waits for: those that lead to them.
func (p *place) waitFor(places []place) {
	if len(p.from) < 2 {
		return
	}
	p.from = slices.DeleteFunc(slices.Clone(p.from), func(f int) bool {
		return slices.ContainsFunc(p.from, func(g int) bool { return places[g].ancestor[f/64]&(1<<(f%64)) != 0 })
	})
}

// places lists a scenario's nodes in topological order; the last place is its end.
func (t *transform) places(from int32, s *scenario) []place {
	places := []place{{node: from, span: -1, body: t.own[from]}}
	at := map[int32]int{from: 0}
	var ends []int
	for _, l := range s.links {
		i := at[l.from]
		if l.span >= 0 {
			places[i].body, places[i].span = t.spans[l.span], l.span
			if l.to == l.from {
				places[i].body = slices.Clone(places[i].body)
				multiply(places[i].body, t.own[l.from])
				continue
			}
		}
		if l.to == s.to {
			ends = append(ends, i)
			continue
		}
		if l.to == exit {
			continue
		}
		j, ok := at[l.to]
		if !ok {
			j = len(places)
			at[l.to] = j
			places = append(places, place{node: l.to, span: -1, body: t.own[l.to]})
		}
		places[j].from = append(places[j].from, i)
	}
	return order(append(places, place{node: exit, span: -1, from: ends}))
}

// order sorts places topologically: a link may lead to a node that was reached before.
func order(places []place) []place {
	left := make([]int, len(places))
	next := make([][]int, len(places))
	for i := range places {
		left[i] = len(places[i].from)
		for _, f := range places[i].from {
			next[f] = append(next[f], i)
		}
	}
	rank := make([]int, len(places))
	out := make([]place, 0, len(places))
	ready := []int{0}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		rank[i] = len(out)
		out = append(out, places[i])
		for _, j := range next[i] {
			if left[j]--; left[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	for i := range out {
		for k, f := range out[i].from {
			out[i].from[k] = rank[f]
		}
	}
	return out
}

// join computes the time from the end of a place's dominator to its start.
func (t *transform) join(places []place, i int) {
	p := &places[i]
	if len(p.from) == 1 {
		return // that is the dominator
	}
	seen, dependent := between(places, i)
	t.crossing = t.crossing || dependent
	key := joinKey(places, i, seen)
	if p.wait = t.joins[key]; p.wait != nil {
		return
	}
	for len(t.paths) < len(p.from) {
		t.paths = append(t.paths, make([]complex128, t.g.Points/2+1))
	}
	for k, f := range p.from {
		path := t.paths[k]
		copy(path, places[f].body)
		places[f].waited(path)
		for x := places[f].dom; x != p.dom; x = places[x].dom {
			multiply(path, places[x].body)
			places[x].waited(path)
		}
	}
	p.wait = t.latest(t.paths[:len(p.from)], dependent)
	if len(t.joins) < maxJoins {
		t.joins[key] = p.wait
	}
}

// waited adds a place's wait to a time.
func (p *place) waited(to []complex128) {
	if p.wait != nil {
		multiply(to, p.wait)
	}
}

// between returns the places between a place and its dominator, and whether several paths pass one of them.
func between(places []place, i int) (seen []uint64, dependent bool) {
	p := &places[i]
	dom := &places[p.dom]
	seen = make([]uint64, len(p.ancestor))
	for _, f := range p.from {
		if f == p.dom {
			continue
		}
		for w := range seen {
			own := places[f].ancestor[w] &^ dom.ancestor[w]
			if w == p.dom/64 {
				own &^= 1 << (p.dom % 64)
			}
			if w == f/64 {
				own |= 1 << (f % 64)
			}
			dependent = dependent || seen[w]&own != 0
			seen[w] |= own
		}
	}
	return seen, dependent
}

// maxJoins is the most joins that a transform remembers: about 64 MB at 4,096 points.
const maxJoins = 2000

// joinKey describes all that the time of a join depends on: what lies between its dominator and it.
func joinKey(places []place, i int, between []uint64) string {
	var key []byte
	add := func(x *place) {
		key = binary.AppendVarint(key, int64(x.node))
		key = binary.AppendVarint(key, int64(x.span))
		key = binary.AppendVarint(key, int64(len(x.from)))
		for _, f := range x.from {
			key = binary.AppendVarint(key, int64(places[f].node))
		}
	}
	for w, set := range between {
		for ; set != 0; set &= set - 1 {
			add(&places[64*w+bits.TrailingZeros64(set)])
		}
	}
	add(&places[i])
	return string(key)
}
