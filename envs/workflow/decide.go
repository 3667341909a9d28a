package workflow

import "slices"

// A node starts when every edge into it is decided: taken or not taken. So it also waits for branches in parallel paths
// that turn out not to lead to it: for the run of the node that chooses. Where that can be later than what the node
// waits for anyway, the scenario has a link for it, as if the edge were taken.

// decisions adds these links to a scenario.
func (e *explorer) decisions(links []link) []link {
	parallel := false
	for i := 1; i < len(links); i++ {
		parallel = parallel || links[i].from == links[i-1].from
	}
	if !parallel {
		return links
	}
	var out []link
	for i, l := range links {
		out = append(out, l)
		if i+1 < len(links) && links[i+1].from == l.from {
			continue
		}
		for _, t := range e.undecided(links, l) {
			if !leads(links, l.from, t) && !slices.ContainsFunc(out, func(k link) bool { return k.from == l.from && k.to == t }) {
				out = append(out, link{l.from, t, l.span})
			}
		}
	}
	return out
}

// undecided returns the nodes of a scenario that could have followed a node by edges that were not taken; l is the last
// link that leaves the node.
func (e *explorer) undecided(links []link, l link) []int32 {
	w := e.c.w
	inPart := !e.plain && e.s.part[l.from] >= 0
	if len(w.alts[l.from]) < 2 && !inPart || l.span >= 0 && w.spans[l.span].fork { // of the latter the fork's links follow
		return nil
	}
	var out, open []int32
	seen := map[int32]bool{}
	reach := func(t int32) {
		if t != exit && t != e.to && !seen[t] {
			seen[t] = true
			open = append(open, t)
		}
	}
	around := func(n int32) { // what follows a cyclic part
		for _, x := range e.s.parts[e.s.part[n]].nodes {
			for _, t := range w.onward(nil, x) {
				if e.s.part[t] != e.s.part[n] {
					reach(t)
				}
			}
		}
	}
	if inPart {
		around(l.from)
	}
	if l.span < 0 {
		for _, a := range w.alts[l.from] {
			if a.loop < 0 {
				reach(a.to)
			}
		}
	}
	for len(open) > 0 {
		t := open[len(open)-1]
		open = open[:len(open)-1]
		if e.live[t] > 0 {
			out = append(out, t)
			continue
		}
		if e.plain || e.s.part[t] < 0 {
			for _, next := range w.onward(nil, t) {
				reach(next)
			}
			continue
		}
		entry := exit
		for _, x := range e.s.parts[e.s.part[t]].nodes {
			if e.live[x] > 0 {
				entry = x
			}
		}
		if entry == exit {
			around(t)
		} else if !seen[entry] {
			seen[entry] = true
			out = append(out, entry)
		}
	}
	slices.Sort(out)
	return out
}

// leads says whether a path of links leads from one node to another.
func leads(links []link, from, to int32) bool {
	reached := map[int32]bool{from: true}
	for _, l := range links {
		if reached[l.from] {
			reached[l.to] = true
		}
	}
	return reached[to]
}
