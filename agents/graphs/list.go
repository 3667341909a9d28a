package graphs

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/nets"
)

// List is graphs of one problem, one after another, as they were seen. It keeps its memory.
type List struct {
	p        *Problem
	features []float32 // of each graph: of its nodes, kind by kind, then of its edges
	// Of each graph: how many nodes and edges it has of each kind, then for each kind of edge the nodes where its edges
	// begin, and those where they end.
	numbers []int32
	ends    []listEnd
}

// listEnd is where a graph ends in a list's features and numbers.
type listEnd struct{ features, numbers int }

// NewList returns an empty list.
func NewList(p *Problem) *List { return &List{p: p} }

// Len is the number of graphs.
func (l *List) Len() int { return len(l.ends) }

// Clear removes all graphs.
func (l *List) Clear() { l.features, l.numbers, l.ends = l.features[:0], l.numbers[:0], l.ends[:0] }

// Append adds a copy of a graph.
func (l *List) Append(g *envs.GraphValue) {
	for k := range g.Nodes {
		l.numbers = append(l.numbers, int32(g.Nodes[k].Len))
	}
	for k := range g.Edges {
		l.numbers = append(l.numbers, int32(g.Edges[k].Len))
	}
	for k, n := range l.p.Space.Nodes {
		l.features = append(l.features, g.Nodes[k].Features[:g.Nodes[k].Len*n.Width]...)
	}
	for k, e := range l.p.Space.Edges {
		s := &g.Edges[k]
		l.numbers = append(append(l.numbers, s.From[:s.Len]...), s.To[:s.Len]...)
		l.features = append(l.features, s.Features[:s.Len*e.Width]...)
	}
	l.ends = append(l.ends, listEnd{len(l.features), len(l.numbers)})
}

// AddTo adds graph i to a batch of a network that [Problem.Policy] or [Problem.Value] described.
func (l *List) AddTo(b *nets.GraphBatch, i int) error {
	b.AddGraph()
	return l.walk(i, b.AddNodes, func(kind int, from, to []int32, features []float32) error {
		return l.p.addEdges(b, kind, from, to, features)
	})
}

// walk goes through the nodes and then the edges of graph i, kind by kind. It fails where the graph has not the form
// that Append gives.
func (l *List) walk(i int, nodes func(kind int, features []float32) error,
	edges func(kind int, from, to []int32, features []float32) error) error {
	first := listEnd{}
	if i > 0 {
		first = l.ends[i-1]
	}
	features, numbers := l.features[first.features:l.ends[i].features], l.numbers[first.numbers:l.ends[i].numbers]
	kinds := len(l.p.Space.Nodes) + len(l.p.Space.Edges)
	if len(numbers) < kinds {
		return fmt.Errorf("it has %d numbers, want one for each of %d kinds of nodes and edges", len(numbers), kinds)
	}
	counts, numbers := numbers[:kinds], numbers[kinds:]
	for k, n := range l.p.Space.Nodes {
		count := int(counts[k])
		if count < 0 || count > n.Capacity || count*n.Width > len(features) {
			return fmt.Errorf("it has %d nodes of kind %q and %d features, want at most %d of %d features each", count, n.Name,
				len(features), n.Capacity, n.Width)
		}
		if err := nodes(k, features[:count*n.Width]); err != nil {
			return err
		}
		features = features[count*n.Width:]
	}
	for k, e := range l.p.Space.Edges {
		count := int(counts[len(l.p.Space.Nodes)+k])
		if count < 0 || count > e.Capacity || count*e.Width > len(features) || 2*count > len(numbers) {
			return fmt.Errorf("it has %d edges of kind %q, %d numbers and %d features, want at most %d edges of 2 and %d each",
				count, e.Name, len(numbers), len(features), e.Capacity, e.Width)
		}
		if err := edges(k, numbers[:count], numbers[count:2*count], features[:count*e.Width]); err != nil {
			return err
		}
		numbers, features = numbers[2*count:], features[count*e.Width:]
	}
	if len(numbers)+len(features) > 0 {
		return fmt.Errorf("it has %d numbers and %d features too many", len(numbers), len(features))
	}
	return nil
}

// State implements [state.Stater].
func (l *List) State(c *state.Codec) {
	state.Slice(c, &l.features)
	state.Slice(c, &l.numbers)
	state.Slice(c, &l.ends)
	if c.Loaded() {
		c.Fail(l.check())
	}
}

// check says what is wrong with graphs that were loaded: each must be one of the problem's, with finite features.
func (l *List) check() error {
	last := listEnd{}
	for i, end := range l.ends {
		if end.features < last.features || end.features > len(l.features) || end.numbers < last.numbers ||
			end.numbers > len(l.numbers) {
			return fmt.Errorf("graph %d ends at feature %d and number %d, of which there are %d and %d", i, end.features,
				end.numbers,
				len(l.features), len(l.numbers))
		}
		if err := l.checkGraph(i); err != nil {
			return fmt.Errorf("graph %d: %w", i, err)
		}
		last = end
	}
	if last.features < len(l.features) || last.numbers < len(l.numbers) {
		return fmt.Errorf("%d features and %d numbers follow the last graph", len(l.features)-last.features,
			len(l.numbers)-last.numbers)
	}
	return nil
}

func (l *List) checkGraph(i int) error {
	counts := make([]int, len(l.p.Space.Nodes))
	finite := func(features []float32) error {
		if i := check.NotFinite(features); i >= 0 {
			return fmt.Errorf("feature %d is %g, want a finite number", i, features[i])
		}
		return nil
	}
	return l.walk(i, func(kind int, features []float32) error {
		counts[kind] = len(features) / max(l.p.Space.Nodes[kind].Width, 1)
		return finite(features)
	}, func(kind int, from, to []int32, features []float32) error {
		e := l.p.Space.Edges[kind]
		for i := range from {
			if from[i] < 0 || to[i] < 0 || int(from[i]) >= counts[e.From] || int(to[i]) >= counts[e.To] {
				return fmt.Errorf("edge %d of kind %q, %d→%d, dangles", i, e.Name, from[i], to[i])
			}
		}
		return finite(features)
	})
}
