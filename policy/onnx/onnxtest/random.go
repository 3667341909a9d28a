package onnxtest

import (
	"slices"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// Ranges are the least and the greatest value met of every feature, in the order of an observation's kinds: of vectors,
// then of the nodes and edges of graphs.
type Ranges struct {
	spec *envs.Spec
	ends [][][2]float32
}

// NewRanges returns ranges of which nothing was met yet.
func NewRanges(s *envs.Spec) *Ranges {
	r := &Ranges{spec: s}
	for _, k := range s.Kinds {
		for _, w := range widths(&k) {
			r.ends = append(r.ends, make([][2]float32, w))
		}
	}
	return r
}

// widths are the numbers of features of what agents of a kind see.
func widths(k *envs.Kind) []int {
	g, ok := k.Observation.(envs.Graph)
	if !ok {
		return []int{k.Observation.Width()}
	}
	var out []int
	for _, n := range g.Nodes {
		out = append(out, n.Width)
	}
	for _, e := range g.Edges {
		out = append(out, e.Width)
	}
	return out
}

// Add takes an observation in.
func (r *Ranges) Add(o *envs.Observation) {
	at := 0
	add := func(rows []float32) {
		ends := r.ends[at]
		for i, x := range rows {
			e := &ends[i%len(ends)]
			e[0], e[1] = min(e[0], x), max(e[1], x)
		}
		at++
	}
	for i := range o.Kinds {
		k := &o.Kinds[i]
		if len(k.Graphs) == 0 {
			add(k.Values)
			continue
		}
		g := k.Graphs[0]
		for n, kind := range g.Space.Nodes {
			add(g.Nodes[n].Features[:g.Nodes[n].Len*kind.Width])
		}
		for e, kind := range g.Space.Edges {
			add(g.Edges[e].Features[:g.Edges[e].Len*kind.Width])
		}
	}
}

// Draw writes a random observation: features uniform over the ranges widened by half on each side, one agent in eight
// absent, one choice in three forbidden, and graphs with any number of nodes and edges, none included.
func (r *Ranges) Draw(s *rng.Stream, o *envs.Observation) {
	at := 0
	fill := func(rows []float32) {
		ends := r.ends[at]
		for i := range rows {
			e := ends[i%len(ends)]
			reach := max(e[1]-e[0], 1e-3)
			rows[i] = e[0] - reach/2 + 2*reach*float32(s.Float64())
		}
		at++
	}
	for i := range o.Kinds {
		k, kind := &o.Kinds[i], &r.spec.Kinds[i]
		if g, ok := kind.Observation.(envs.Graph); ok {
			k.Active[0] = true
			drawGraph(s, kind, &g, k.Graphs[0], fill)
			if kind.Legal > 0 {
				drawLegal(s, kind, k)
			} else {
				drawSeen(s, kind, k)
			}
			continue
		}
		w := kind.Observation.Width()
		fill(k.Values)
		for j := range k.Active {
			if k.Active[j] = kind.Agents == 1 || s.IntN(8) > 0; !k.Active[j] {
				clear(k.Values[j*w : (j+1)*w])
			}
		}
		drawMask(s, kind, k)
	}
}

// drawMask forbids a third of the choices, but never all of a component.
func drawMask(s *rng.Stream, kind *envs.Kind, k *envs.KindObservation) {
	rest := k.Mask
	for j := range kind.Agents {
		for _, n := range envs.Choices(kind.Action) {
			part := rest[:n]
			for i := range part {
				part[i] = k.Active[j] && s.IntN(3) > 0
			}
			if k.Active[j] && n > 0 && !slices.Contains(part, true) {
				part[s.IntN(n)] = true
			}
			rest = rest[n:]
		}
	}
}

func drawGraph(s *rng.Stream, k *envs.Kind, space *envs.Graph, g *envs.GraphValue, fill func([]float32)) {
	for n, kind := range space.Nodes {
		least := 0
		if i := slices.Index(k.Points, n); i > 0 || i == 0 && k.Legal == 0 {
			least = 1 // one is chosen: after every choice before, or always where there is no table of what is legal
		}
		g.Nodes[n].Len = least + s.IntN(min(kind.Capacity, 24)+1-least)
		fill(g.Nodes[n].Features[:g.Nodes[n].Len*kind.Width])
	}
	for e, kind := range space.Edges {
		set := &g.Edges[e]
		if set.Len = s.IntN(min(kind.Capacity, 64) + 1); g.Nodes[kind.From].Len*g.Nodes[kind.To].Len == 0 || s.IntN(4) == 0 {
			set.Len = 0
		}
		for i := range set.Len {
			set.From[i], set.To[i] = int32(s.IntN(g.Nodes[kind.From].Len)), int32(s.IntN(g.Nodes[kind.To].Len))
		}
		fill(set.Features[:set.Len*kind.Width])
	}
}

// drawSeen forbids a third of the choices and all that are no node of the graph, but never all of a component.
func drawSeen(s *rng.Stream, kind *envs.Kind, k *envs.KindObservation) {
	rest := k.Mask
	for c, n := range envs.Choices(kind.Action) {
		part := rest[:n]
		clear(part)
		seen := n
		if c < len(kind.Points) && kind.Points[c] >= 0 {
			seen = k.Graphs[0].Nodes[kind.Points[c]].Len
		}
		for i := range seen {
			part[i] = s.IntN(3) > 0
		}
		if seen > 0 && !slices.Contains(part, true) {
			part[s.IntN(seen)] = true
		}
		rest = rest[n:]
	}
}

// drawLegal draws placement's legality table: how many of the amounts of each waiting invocation fit each node that is
// there. The first feature of an invocation says whether it waits: it is 1 up to the last one that may be started, as
// placement wants it.
func drawLegal(s *rng.Stream, kind *envs.Kind, k *envs.KindObservation) {
	g := kind.Observation.(envs.Graph)
	amounts, columns := envs.Choices(kind.Action)[1], g.Nodes[kind.Points[2]].Capacity
	invocations, nodes := k.Graphs[0].Nodes[kind.Points[0]], k.Graphs[0].Nodes[kind.Points[2]].Len
	width, waiting := g.Nodes[kind.Points[0]].Width, 0
	clear(k.Legal)
	for i := range min(invocations.Len, kind.Legal/columns) {
		if s.IntN(4) == 0 { // it runs, or fits nowhere
			continue
		}
		for n := range nodes {
			k.Legal[i*columns+n] = int8(s.IntN(amounts + 1))
		}
		waiting = i + 1
	}
	for i := range waiting {
		invocations.Features[i*width] = 1
	}
}
