package envs

import (
	"fmt"
	"strings"

	"github.com/stoker-rl/stoker/rng"
)

// Graph is the space of observations that are graphs with several kinds of nodes and edges. Its values are held in a
// [GraphValue], not in float32 rows, so its Width is 0.
type Graph struct {
	Nodes []NodeKind
	Edges []EdgeKind
}

// NodeKind says what nodes of one kind look like: Width features each, at most Capacity of them.
type NodeKind struct {
	Name            string
	Width, Capacity int
	// Features describes the features; nil where they have no names.
	Features []Component
}

// EdgeKind says what edges of one kind join: node kinds From and To (indices into Graph.Nodes), Width features each, at
// most Capacity of them.
type EdgeKind struct {
	Name            string
	From, To        int
	Width, Capacity int
	// Features describes the features; nil where they have no names.
	Features []Component
}

// Width implements [Space].
func (Graph) Width() int { return 0 }

// MaskWidth implements [Space].
func (Graph) MaskWidth() int { return 0 }

// Contains implements [Space] for the empty row; see [Graph.Check] for graphs.
func (g Graph) Contains(x []float32) error {
	if len(x) != 0 {
		return widthError(g, x)
	}
	return nil
}

// Sample implements [Space]: there is nothing in a row to draw.
func (Graph) Sample(*rng.Stream, []bool, []float32) {}

func (g Graph) String() string {
	var parts []string
	for _, n := range g.Nodes {
		parts = append(parts, fmt.Sprintf("%s: %d×%d", n.Name, n.Capacity, n.Width))
	}
	for _, e := range g.Edges {
		parts = append(parts, fmt.Sprintf("%s: %d edges", e.Name, e.Capacity))
	}
	return "Graph(" + strings.Join(parts, ", ") + ")"
}

// GraphValue is one graph: for each node kind the features of its nodes, for each edge kind where its edges start and
// end. It has the space's capacity from the start and never grows.
type GraphValue struct {
	Space Graph
	Nodes []NodeSet
	Edges []EdgeSet
}

// NodeSet is the nodes of one kind: Features is [Len, Width].
type NodeSet struct {
	Len      int
	Features []float32
}

// EdgeSet is the edges of one kind: edge e goes from node From[e] to node To[e], and Features is [Len, Width].
type EdgeSet struct {
	Len      int
	From, To []int32
	Features []float32
}

// NewGraphValue returns an empty graph with the space's capacity.
func NewGraphValue(s Graph) *GraphValue {
	g := &GraphValue{Space: s, Nodes: make([]NodeSet, len(s.Nodes)), Edges: make([]EdgeSet, len(s.Edges))}
	for i, n := range s.Nodes {
		g.Nodes[i].Features = make([]float32, n.Capacity*n.Width)
	}
	for i, e := range s.Edges {
		g.Edges[i] = EdgeSet{From: make([]int32, e.Capacity), To: make([]int32, e.Capacity),
			Features: make([]float32, e.Capacity*e.Width)}
	}
	return g
}

// Clear removes all nodes and edges.
func (g *GraphValue) Clear() {
	for i := range g.Nodes {
		g.Nodes[i].Len = 0
	}
	for i := range g.Edges {
		g.Edges[i].Len = 0
	}
}

// AddNode adds a node of a kind and returns its number and its features, all zero, to fill in.
func (g *GraphValue) AddNode(kind int) (int32, []float32, error) {
	k, s := g.Space.Nodes[kind], &g.Nodes[kind]
	if s.Len == k.Capacity {
		return 0, nil, fmt.Errorf("envs: graph is full: %d nodes of kind %q, its capacity", s.Len, k.Name)
	}
	s.Len++
	features := s.Features[(s.Len-1)*k.Width : s.Len*k.Width]
	clear(features)
	return int32(s.Len - 1), features, nil
}

// AddEdge adds an edge of a kind and returns its features, all zero, to fill in.
func (g *GraphValue) AddEdge(kind int, from, to int32) ([]float32, error) {
	k, s := g.Space.Edges[kind], &g.Edges[kind]
	if s.Len == k.Capacity {
		return nil, fmt.Errorf("envs: graph is full: %d edges of kind %q, its capacity", s.Len, k.Name)
	}
	if int(from) >= g.Nodes[k.From].Len || int(to) >= g.Nodes[k.To].Len || from < 0 || to < 0 {
		return nil, fmt.Errorf("envs: edge %d→%d of kind %q dangles: %d nodes of kind %q, %d of kind %q", from, to, k.Name,
			g.Nodes[k.From].Len, g.Space.Nodes[k.From].Name, g.Nodes[k.To].Len, g.Space.Nodes[k.To].Name)
	}
	s.From[s.Len], s.To[s.Len] = from, to
	s.Len++
	features := s.Features[(s.Len-1)*k.Width : s.Len*k.Width]
	clear(features)
	return features, nil
}

// CopyFrom makes g equal to src, which must be of the same space.
func (g *GraphValue) CopyFrom(src *GraphValue) {
	for i := range src.Nodes {
		n := src.Nodes[i].Len
		g.Nodes[i].Len = n
		copy(g.Nodes[i].Features[:n*g.Space.Nodes[i].Width], src.Nodes[i].Features)
	}
	for i := range src.Edges {
		n, d := src.Edges[i].Len, &g.Edges[i]
		d.Len = n
		copy(d.From[:n], src.Edges[i].From)
		copy(d.To[:n], src.Edges[i].To)
		copy(d.Features[:n*g.Space.Edges[i].Width], src.Edges[i].Features)
	}
}

// Check returns an error where the graph is not of the space or has a dangling edge.
func (g Graph) Check(v *GraphValue) error {
	if len(v.Nodes) != len(g.Nodes) || len(v.Edges) != len(g.Edges) {
		return fmt.Errorf("graph has %d kinds of nodes and %d of edges, want %d and %d", len(v.Nodes), len(v.Edges),
			len(g.Nodes), len(g.Edges))
	}
	for i, n := range g.Nodes {
		if v.Nodes[i].Len > n.Capacity || v.Nodes[i].Len < 0 {
			return fmt.Errorf("graph has %d nodes of kind %q, want at most %d", v.Nodes[i].Len, n.Name, n.Capacity)
		}
	}
	for i, k := range g.Edges {
		s := &v.Edges[i]
		if s.Len > k.Capacity || s.Len < 0 {
			return fmt.Errorf("graph has %d edges of kind %q, want at most %d", s.Len, k.Name, k.Capacity)
		}
		for e := range s.Len {
			if f, t := s.From[e], s.To[e]; f < 0 || t < 0 || int(f) >= v.Nodes[k.From].Len || int(t) >= v.Nodes[k.To].Len {
				return fmt.Errorf("edge %d of kind %q, %d→%d, dangles", e, k.Name, f, t)
			}
		}
	}
	return nil
}
