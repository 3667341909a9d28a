package workflow

import (
	"cmp"
	"slices"
)

// DelayCount says which nodes and edges the platform's delays are counted for.
type DelayCount string

const (
	// Once counts a delay for every run of a node and for every edge that is taken. Empty means once.
	Once DelayCount = "once"
	// Published counts as SLApp's code does, so that its figures come out: the start and the end of the workflow are nodes,
	// and an edge leads from the start and one to the end; a node that repeats itself has one delay more than it runs,
	// and one edge more; where a longer section repeats, its last node has one delay however often it runs, and
	// the repeats leave out the first edge, unless that leads into parallel paths.
	Published DelayCount = "published"
)

// Delays are the times in seconds that the platform adds for each run of a node and for each edge taken.
type Delays struct {
	Node  float64    `yaml:"node,omitempty" json:"node,omitempty"`
	Edge  float64    `yaml:"edge,omitempty" json:"edge,omitempty"`
	Count DelayCount `yaml:"count,omitempty" json:"count,omitempty"`
}

// StepFunctions are the delays of AWS Step Functions that SLApp's authors measured: 18.81 ms for each node, 1 ms for
// each edge.
func StepFunctions(count DelayCount) Delays { return Delays{Node: 0.01881, Edge: 0.001, Count: count} }

// Response returns the expected response time in seconds of a request that waits in no queue (O eqs. 3.7 to 3.10). times
// has each node's own time in seconds. Parallel paths count as the longest of them, branches by their expectation, and a
// part that repeats as often as it is expected to (a part below a fork by its expectation too, as the papers count it;
// [Workflow.Distribution] has the tail). Calls one by one add up; of calls together the longest counts.
func (w *Workflow) Response(times []float64, d Delays) float64 {
	var few [4][64]float64 // on the stack, for small workflows
	e := Evaluator{w: w, d: d, published: d.Count == Published, at: few[0][:], own: few[1][:], inner: few[2][:],
		spans: few[3][:]}
	if len(w.function) > len(few[0]) || len(w.inner) > len(few[0]) || len(w.spans) > len(few[0]) {
		return w.Evaluator(d).Response(times)
	}
	return e.Response(times)
}

// Evaluator evaluates one workflow's response time for many node times. It is not safe for concurrent use.
type Evaluator struct {
	w         *Workflow
	d         Delays
	published bool
	at        []float64 // per node: when it starts
	own       []float64 // per node: time of its runs, with calls and delays
	inner     []float64 // per inner region: time from the end of its fork's run
	spans     []float64 // per span: time from the end of its entry's first run
}

// Evaluator returns an evaluator of the response time with given delays.
func (w *Workflow) Evaluator(d Delays) *Evaluator {
	n := len(w.function)
	return &Evaluator{w: w, d: d, published: d.Count == Published, at: make([]float64, n), own: make([]float64, n),
		inner: make([]float64, len(w.inner)), spans: make([]float64, len(w.spans))}
}

// Response is [Workflow.Response]. It does not allocate.
func (e *Evaluator) Response(times []float64) float64 {
	w := e.w
	for n := range w.function {
		e.own[n] = w.runTime(int32(n), times, e.d)
		if w.overlap != nil {
			e.own[n] *= w.factor[n]
		}
	}
	for _, t := range w.terms {
		if t.region {
			e.inner[t.index] = e.region(&w.inner[t.index], -e.own[w.inner[t.index].from])
		} else {
			e.spans[t.index] = e.span(&w.spans[t.index])
		}
	}
	var total float64
	for i := range w.regions {
		r := &w.regions[i]
		if r.weight == 1 {
			total = e.sum(r, 0, total)
		} else {
			total += float64(r.weight * e.region(r, 0))
		}
	}
	if e.published {
		total += 2*e.d.Node + e.d.Edge // the start and the end, and the edge from the start
	}
	return total
}

// region returns a region's expected time from when its first node starts.
func (e *Evaluator) region(r *region, start float64) float64 { return e.sum(r, start, 0) }

// sum adds a region's expected time to a total.
func (e *Evaluator) sum(r *region, start, total float64) float64 {
	for j := range r.scenarios {
		s := &r.scenarios[j]
		total += float64(s.p * e.longest(r.from, start, s))
	}
	return total
}

// longest returns when a scenario of a region that starts at a time ends.
func (e *Evaluator) longest(from int32, start float64, s *scenario) float64 {
	for _, l := range s.links {
		if l.to != exit {
			e.at[l.to] = -1
		}
	}
	e.at[from] = start
	var length float64
	for _, l := range s.links {
		t := e.finish(l)
		if l.to == exit {
			length = max(length, t)
		} else {
			e.at[l.to] = max(e.at[l.to], t)
		}
	}
	if s.to != exit {
		length = e.at[s.to]
	}
	return length
}

// finish returns the time at which a request has passed a link.
func (e *Evaluator) finish(l link) float64 {
	t := e.at[l.from] + e.own[l.from]
	if l.span >= 0 {
		return t + e.spans[l.span]
	}
	if e.d.Edge == 0 || l.to == exit && !e.published && !e.w.ends(l.from) {
		return t
	}
	if e.w.overlap != nil {
		return t + float64(e.w.factor[l.from]*e.d.Edge)
	}
	return t + e.d.Edge
}

// span returns a span's expected time from the end of its entry's first run.
func (e *Evaluator) span(s *span) float64 {
	count := &s.once
	var t float64
	if e.published {
		count = &s.published
		t = float64((count.nodes - s.once.nodes) * e.d.Node)
	}
	t += float64(count.edges * e.d.Edge)
	for _, r := range s.runs {
		t += float64(r.n * e.own[r.what])
	}
	for _, f := range s.forks {
		t += float64(f.n * e.inner[f.what])
	}
	return t
}

// ends reports whether a node has an edge to [End].
func (w *Workflow) ends(n int32) bool {
	return slices.Contains(w.next[n], exit) || slices.ContainsFunc(w.alts[n], func(a alt) bool { return a.to == exit })
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
