package workflow

import "slices"

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
