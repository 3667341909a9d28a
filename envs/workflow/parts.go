package workflow

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// PartKind says how the time of a [Part] follows from those of its parts.
type PartKind int

const (
	// Single is one node. Its time is Runs times the node's.
	Single PartKind = iota
	// Series adds its parts up.
	Series
	// Parallel waits for the longest of its parts.
	Parallel
	// Other is any other part: edges that cross, or a branch below a fork. Its time is the expected longest path, over
	// Ways.
	Other
)

// String returns the kind's name.
func (k PartKind) String() string { return [...]string{"single", "series", "parallel", "crossing"}[k] }

// Part is a term of a workflow's response time. Branches and loops have no kinds of their own: a part that a request
// runs with probability p, or x times in expectation, has its Runs and Delay multiplied by p or x, because the expected
// time of a branch is the mixture of its arms' and that of a loop a multiple of its section's.
type Part struct {
	Kind PartKind
	// Node is the node of a Single.
	Node int
	// Runs is how many runs of a Single's node count, in expectation.
	Runs float64
	// Delay in seconds is added: the platform's delays of the part's nodes and edges.
	Delay float64
	// Parts are what a Series adds, a Parallel waits for, or the nodes of an Other's ways.
	Parts []Part
	// Ways are the combinations of branches of an Other.
	Ways []PartWay
}

// PartWay is a combination of branches in an Other part.
type PartWay struct {
	Probability float64
	// Links lead from one part to the next, as indices into the Other's Parts, in topological order of their sources.
	// Start and Finish of the way are -1 and len(Parts).
	Links [][2]int
}

// Seconds returns the part's time for given node times in seconds.
func (p *Part) Seconds(times []float64) float64 {
	t := p.Delay
	switch p.Kind {
	case Single:
		t += float64(p.Runs * times[p.Node])
	case Series:
		for i := range p.Parts {
			t += p.Parts[i].Seconds(times)
		}
	case Parallel:
		var longest float64
		for i := range p.Parts {
			longest = max(longest, p.Parts[i].Seconds(times))
		}
		t += longest
	case Other:
		own := make([]float64, len(p.Parts))
		for i := range p.Parts {
			own[i] = p.Parts[i].Seconds(times)
		}
		at := make([]float64, len(p.Parts)+1)
		for _, way := range p.Ways {
			clear(at)
			for _, l := range way.Links {
				end := 0.0
				if l[0] >= 0 {
					end = at[l[0]] + own[l[0]]
				}
				at[l[1]] = max(at[l[1]], end)
			}
			t += float64(way.Probability * at[len(p.Parts)])
		}
	}
	return t
}

// scaled returns the part with all its times multiplied by x.
func (p Part) scaled(x float64) Part {
	p.Runs *= x
	p.Delay *= x
	parts := p.Parts
	p.Parts = make([]Part, len(parts))
	for i := range parts {
		p.Parts[i] = parts[i].scaled(x)
	}
	return p
}

// Parts returns the terms of which [Workflow.Response] consists, with series-parallel parts found as far as the graph
// has them. A node can be in several of them, and the functions of some nodes are at several nodes.
//
// In each combination of branches the nodes that all paths pass add up, and so do the blocks of parallel paths between
// two of them: a block is a part as often as it is passed. Where branches lie within a block, its time is an
// expectation over their combinations, each with its longest path; see [Other].
//
// The parts are compared with Response at a few points, and it is an error if they differ there.
func (w *Workflow) Parts(d Delays) (Part, error) {
	top := w.newPartBuilder(d).whole()
	// Delays that no part has are the same for all times: they are what is left.
	times := make([]float64, w.NumNodes())
	draw := rng.NewStream(1, "workflow/parts")
	for probe := range 4 {
		for n := range times {
			times[n] = math.Exp(float64(4 * (float64(draw.Float64()) - 0.5)))
		}
		rest := w.Response(times, d) - top.Seconds(times)
		if probe == 0 {
			top.Delay += rest
		} else if math.Abs(rest) > 1e-9*(1+w.Response(times, d)) {
			return Part{}, fmt.Errorf("workflow %q: its parts differ from its response time by %.3g s", w.Name(), rest)
		}
	}
	return top, nil
}

// partBuilder writes a workflow's regions and spans as parts.
type partBuilder struct {
	w     *Workflow
	d     Delays
	inner []*Part // by index; nil until it is built
	spans []*Part
}

func (w *Workflow) newPartBuilder(d Delays) *partBuilder {
	return &partBuilder{w: w, d: d, inner: make([]*Part, len(w.inner)), spans: make([]*Part, len(w.spans))}
}

// whole returns the parts of the whole workflow.
func (b *partBuilder) whole() Part {
	top := Part{Kind: Series}
	for i := range b.w.regions {
		r := &b.w.regions[i]
		top.Parts = append(top.Parts, b.region(r, true).scaled(r.weight))
	}
	return top
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

// own is what a node takes each time that a region passes it.
func (b *partBuilder) own(n int32) Part {
	if b.w.overlap != nil {
		return b.run(n, b.w.factor[n])
	}
	return b.run(n, 1)
}

// span returns what a cyclic part takes after its entry's first run. Where it is left by a fork that is its entry, the
// last run counts here: the number of runs in between is below zero where the fork hardly ever repeats, and a part has none.
func (b *partBuilder) span(i int32) Part {
	if b.spans[i] != nil {
		return *b.spans[i]
	}
	s := &b.w.spans[i]
	count := s.once
	p := Part{Kind: Series}
	if b.d.Count == Published {
		count = s.published
		p.Delay = float64((count.nodes - s.once.nodes) * b.d.Node)
	}
	p.Delay += float64(count.edges * b.d.Edge)
	last := 0.0 // of a fork that is the entry, too
	if s.fork && s.cycle.index[s.to] == s.from {
		last = 1
	}
	for _, r := range s.runs {
		if r.what == s.to {
			r.n, last = r.n+last, 0
		}
		p.Parts = append(p.Parts, b.own(r.what).scaled(r.n))
	}
	if last > 0 {
		p.Parts = append(p.Parts, b.own(s.to))
	}
	for _, f := range s.forks {
		if b.inner[f.what] == nil {
			inner := b.region(&b.w.inner[f.what], false)
			b.inner[f.what] = &inner
		}
		p.Parts = append(p.Parts, b.inner[f.what].scaled(f.n))
	}
	b.spans[i] = &p
	return p
}

// stop is a place in a region's scenarios: a node, or an edge that takes time of its own.
type stop struct {
	node int32
	span int32 // of an edge: its span, noSpan for none
	to   int32 // of an edge: where it leads
	edge bool
}

const noSpan int32 = -1

func nodeStop(n int32) stop { return stop{node: n, span: noSpan} }

// delay is what the platform adds for a link without a span.
func (b *partBuilder) delay(l link) float64 {
	if b.d.Edge == 0 || l.to == exit && b.d.Count != Published && !b.w.ends(l.from) {
		return 0
	}
	if b.w.overlap != nil {
		return float64(b.w.factor[l.from] * b.d.Edge)
	}
	return b.d.Edge
}

// uniform reports for each node whether all links from it in a region take the same time, which then belongs to the node.
func (b *partBuilder) uniform(r *region) map[int32]bool {
	first, same := map[int32]float64{}, map[int32]bool{}
	for _, s := range r.scenarios {
		for _, l := range s.links {
			d, seen := first[l.from]
			if !seen {
				first[l.from], same[l.from] = b.delay(l), true
			}
			if l.span >= 0 || seen && d != b.delay(l) {
				same[l.from] = false
			}
		}
	}
	return same
}

// segment is the paths of scenarios between two stops that all paths of the scenario pass.
type segment struct {
	from, to stop
	ways     map[string]*segmentWay
}

type segmentWay struct {
	p     float64
	links [][2]stop
}

// region returns a region as one part: the stops that all paths of a scenario pass add up, and between two of them there
// is a block of parallel paths. own says whether the first node's own time counts.
func (b *partBuilder) region(r *region, own bool) Part {
	uniform := b.uniform(r)
	alone := map[stop]float64{} // probability with which nothing runs beside the stop
	var stops []stop
	segments := map[[2]stop]*segment{}
	var order [][2]stop
	for i := range r.scenarios {
		s := &r.scenarios[i]
		links := b.extend(s, uniform)
		cuts, between := cutStops(nodeStop(r.from), links)
		for _, c := range cuts {
			if _, ok := alone[c]; !ok {
				stops = append(stops, c)
			}
			alone[c] += s.p
		}
		for k, part := range between {
			if len(part) < 2 {
				continue
			}
			to := nodeStop(s.to)
			if k+1 < len(cuts) {
				to = cuts[k+1]
			}
			at := [2]stop{cuts[k], to}
			g := segments[at]
			if g == nil {
				g = &segment{from: cuts[k], to: to, ways: map[string]*segmentWay{}}
				segments[at] = g
				order = append(order, at)
			}
			key := fmt.Sprint(part)
			if g.ways[key] == nil {
				g.ways[key] = &segmentWay{links: part}
			}
			g.ways[key].p += s.p
		}
	}
	out := Part{Kind: Series}
	for _, c := range stops {
		p := b.stop(c, uniform, own || c != nodeStop(r.from))
		out.Parts = append(out.Parts, p.scaled(alone[c]))
	}
	for _, at := range order {
		out.Parts = append(out.Parts, b.block(segments[at], uniform))
	}
	return out
}

// extend returns a scenario's links between stops.
func (b *partBuilder) extend(s *scenario, uniform map[int32]bool) [][2]stop {
	var out, on [][2]stop
	from := nodeStop(none)
	for i, l := range s.links {
		if i == 0 || s.links[i-1].from != l.from {
			from = nodeStop(l.from)
		}
		switch edge := (stop{node: l.from, span: l.span, to: l.to, edge: true}); {
		case l.to == exit && s.to != exit:
		case uniform[l.from]:
			out = append(out, [2]stop{from, nodeStop(l.to)})
		case l.to == l.from: // a span to the last run of its own fork, whose other links leave from there
			out = append(out, [2]stop{from, edge})
			from = edge
		default:
			out = append(out, [2]stop{from, edge})
			on = append(on, [2]stop{edge, nodeStop(l.to)})
		}
		if i+1 == len(s.links) || s.links[i+1].from != l.from { // edges come after all that leave their node
			out = append(out, on...)
			on = on[:0]
		}
	}
	return out
}

// cutStops returns the stops that all paths from one to another pass, the last not included, and the links from each of
// them to the next. Links are in topological order of their sources.
func cutStops(from stop, links [][2]stop) (cuts []stop, between [][][2]stop) {
	pending := map[stop]bool{from: true} // where the links so far lead
	last := stop{node: none}
	for _, l := range links {
		if l[0] != last {
			if len(pending) == 1 && pending[l[0]] {
				cuts, between = append(cuts, l[0]), append(between, nil)
			}
			delete(pending, l[0])
			last = l[0]
		}
		pending[l[1]] = true
		between[len(between)-1] = append(between[len(between)-1], l)
	}
	return cuts, between
}

// none stands for a node that is not there; exit is -1.
const none int32 = -2

// stop returns the part of a stop.
func (b *partBuilder) stop(s stop, uniform map[int32]bool, own bool) Part {
	l := link{s.node, s.to, s.span}
	if s.edge {
		if s.span >= 0 {
			return b.span(s.span)
		}
		return Part{Kind: Series, Delay: b.delay(l)}
	}
	p := Part{Kind: Series}
	if own {
		p = b.own(s.node)
	}
	if uniform[s.node] {
		l.to = s.node // any that is not the end by default
		if len(b.w.next[s.node])+len(b.w.alts[s.node]) == 0 {
			l.to = exit
		}
		p.Delay += b.delay(l)
	}
	return p
}

// block returns the part of a segment, as often as it is passed.
func (b *partBuilder) block(s *segment, uniform map[int32]bool) Part {
	index := map[stop]int{}
	var nodes []stop
	ways := slices.Sorted(maps.Keys(s.ways))
	var total float64
	for _, key := range ways {
		total += s.ways[key].p
		for _, l := range s.ways[key].links {
			if _, ok := index[l[0]]; !ok && l[0] != s.from {
				index[l[0]] = len(nodes)
				nodes = append(nodes, l[0])
			}
		}
	}
	index[s.from], index[s.to] = -1, len(nodes)
	g := newPartGraph(len(nodes), len(ways))
	for k, key := range ways {
		way := s.ways[key]
		g.probability[k] = way.p / total
		for _, l := range way.links {
			g.link(index[l[0]], index[l[1]], k)
		}
	}
	for i, n := range nodes {
		g.parts[i] = b.stop(n, uniform, true)
	}
	return g.reduce().scaled(total)
}
