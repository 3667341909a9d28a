package workflow

import (
	"cmp"
	"slices"
)

// SLApp's code knows loops that are nested, each repeating the section from its header to its source, which is left from
// its source alone. It reduces the inner ones first and adds all that repeats to the source's time: x_s becomes
//
//	(x_s + p·(L + edge)) / (1 - p),
//
// with L the section's delays from the header to the source without the source and, unless the header is a fork, without
// the first edge; a node that repeats itself has (x_s + node + edge) / (1 - p). The source's own delay comes on top, once.

// publishedCount counts the delays of a cyclic part so.
type publishedCount struct {
	w      *Workflow
	s      *scope
	y      *cycle
	states []int32 // in topological order
	x      []tally // per state
}

// published returns the delays of a cyclic part as published, less the entry's first. If the part does not consist of
// nested loops it returns false.
func (c *composer) published(s *scope, y *cycle, entry int32) (tally, bool) {
	k := publishedCount{w: c.w, s: s, y: y, x: make([]tally, len(y.index))}
	for _, m := range y.nodes {
		if _, ok := y.index[m]; ok {
			k.states = append(k.states, m)
		}
	}
	last := k.last()
	if last < 0 || !k.repeat() {
		return tally{}, false
	}
	t, _, ok := k.walk(entry, last)
	if !ok {
		return tally{}, false
	}
	t.nodes += k.x[y.index[last]].nodes // its own delay is in place of the entry's, which is counted elsewhere
	t.edges += k.x[y.index[last]].edges
	if !k.w.forks(last) {
		t.edges++
	}
	return t, true
}

// walk adds up delays from one state to another, loops left out, and lists the states passed. It fails if some way does
// not lead there.
func (k *publishedCount) walk(from, to int32) (t tally, passed []int32, ok bool) {
	reach := make([]float64, len(k.states))
	reach[k.y.index[from]] = 1
	for _, m := range k.states {
		i := k.y.index[m]
		p := reach[i]
		if p == 0 {
			continue
		}
		passed = append(passed, m)
		if m == to {
			return t, passed, p > 1-1e-9
		}
		t.nodes += float64(p * (k.x[i].nodes + 1))
		t.edges += float64(p * k.x[i].edges)
		if j := k.y.join[i]; j >= 0 {
			reach[j] += p
			continue
		}
		t.edges += p
		for _, e := range k.w.on[m] {
			if e.to != exit && k.s.part[e.to] == k.s.part[m] {
				reach[k.y.index[e.to]] += float64(p * e.p)
			}
		}
	}
	return t, passed, false
}

// last returns the only state from which the part is left, -1 if there are several.
func (k *publishedCount) last() int32 {
	last := int32(-1)
	for _, m := range k.states {
		leaves := k.y.join[k.y.index[m]] < 0
		if !k.w.forks(m) {
			leaves = slices.ContainsFunc(k.w.on[m], func(e edge) bool { return e.to == exit || k.s.part[e.to] != k.s.part[m] })
		}
		if leaves && last >= 0 {
			return -1
		}
		if leaves {
			last = m
		}
	}
	return last
}

// loops returns the loop edges that leave the states, in the order of the graph's list.
func (k *publishedCount) loops() (out []int32) {
	for _, m := range k.states {
		for _, a := range k.w.alts[m] {
			if a.loop >= 0 {
				out = append(out, a.loop)
			}
		}
	}
	slices.Sort(out)
	return out
}

// repeat adds what the loops repeat to the times of their sources, the inner loops first. It fails if they do not nest.
func (k *publishedCount) repeat() bool {
	type section struct {
		loop int32
		size int
	}
	var sections []section
	for _, i := range k.loops() {
		l := &k.w.loops[i]
		if _, ok := k.y.index[l.header]; !ok {
			return false
		}
		size := 0
		if l.header != l.source {
			_, passed, ok := k.walk(l.header, l.source)
			for _, m := range passed {
				for _, a := range k.w.alts[m] {
					ok = ok && (m == l.source || a.loop < 0 || slices.Contains(passed, a.to))
				}
			}
			if !ok {
				return false
			}
			size = len(passed)
		}
		sections = append(sections, section{i, size})
	}
	slices.SortStableFunc(sections, func(a, b section) int { return cmp.Compare(a.size, b.size) })
	rest := map[int32]float64{}
	for _, sec := range sections {
		l := &k.w.loops[sec.loop]
		left, ok := rest[l.source]
		if !ok {
			left = 1
		}
		p := l.p / left
		rest[l.source] = left - l.p
		source := k.y.index[l.source]
		t := k.x[source]
		if sec.size == 0 {
			k.x[source] = tally{(t.nodes + 1) / (1 - p), (t.edges + 1) / (1 - p)}
			continue
		}
		again, _, _ := k.walk(l.header, l.source)
		if k.y.join[k.y.index[l.header]] >= 0 && len(k.w.on[l.header]) == len(k.w.next[l.header]) {
			again.edges++
		}
		k.x[source] = tally{(t.nodes + float64(p*again.nodes)) / (1 - p), (t.edges + float64(p*again.edges)) / (1 - p)}
	}
	return true
}
