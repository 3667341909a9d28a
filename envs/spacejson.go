package envs

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// maxCells is the most numbers, marks and edges that one observation and action of a decoded spec may take: a text of a
// few bytes can describe gigabytes. maxDepth is the deepest nesting of tuples.
const (
	maxCells = 1 << 24
	maxDepth = 8
)

// Types of spaces in JSON.
const (
	boxType           = "box"
	discreteType      = "discrete"
	multiDiscreteType = "multi-discrete"
	tupleType         = "tuple"
	dictType          = "dict"
	graphType         = "graph"
)

// spaceJSON is a space as JSON; what belongs to other types is left out.
type spaceJSON struct {
	Type string `json:"type"`
	// Width, Low, High and Integer are a box's. One entry in place of Width stands for all; null is no bound.
	Width   int        `json:"width,omitempty"`
	Low     []*float32 `json:"low,omitempty"`
	High    []*float32 `json:"high,omitempty"`
	Integer []bool     `json:"integer,omitempty"`
	// N is the number of choices of each component.
	N []int `json:"n,omitempty"`
	// Spaces are the parts of a tuple or a dict, Keys the names of a dict's.
	Spaces []spaceJSON `json:"spaces,omitempty"`
	Keys   []string    `json:"keys,omitempty"`
	// Nodes and Edges are a graph's.
	Nodes []nodeKindJSON `json:"nodes,omitempty"`
	Edges []edgeKindJSON `json:"edges,omitempty"`
}

type nodeKindJSON struct {
	Name     string          `json:"name"`
	Width    int             `json:"width"`
	Capacity int             `json:"capacity"`
	Features []componentJSON `json:"features,omitempty"`
}

type edgeKindJSON struct {
	nodeKindJSON
	// From and To are kinds of nodes.
	From int `json:"from"`
	To   int `json:"to"`
}

type componentJSON struct {
	Name string `json:"name"`
	Unit string `json:"unit,omitempty"`
	Doc  string `json:"doc,omitempty"`
}

func encodeSpace(s Space) (spaceJSON, error) {
	switch s := s.(type) {
	case Box:
		j := spaceJSON{Type: boxType, Width: s.Width(), Low: short1(bound(s.Low)), High: short1(bound(s.High))}
		j.Integer = s.Integer
		if len(j.Integer) > 1 && !slices.Contains(j.Integer, !j.Integer[0]) {
			j.Integer = j.Integer[:1]
		}
		return j, nil
	case Discrete:
		return spaceJSON{Type: discreteType, N: []int{s.N}}, nil
	case MultiDiscrete:
		return spaceJSON{Type: multiDiscreteType, N: s.N}, nil
	case Tuple:
		parts, err := encodeSpaces(s.Spaces)
		return spaceJSON{Type: tupleType, Spaces: parts}, err
	case Dict:
		parts, err := encodeSpaces(s.Spaces)
		return spaceJSON{Type: dictType, Spaces: parts, Keys: s.Keys}, err
	case Graph:
		j := spaceJSON{Type: graphType}
		for _, n := range s.Nodes {
			j.Nodes = append(j.Nodes, nodeKindJSON{n.Name, n.Width, n.Capacity, encodeComponents(n.Features)})
		}
		for _, e := range s.Edges {
			j.Edges = append(j.Edges, edgeKindJSON{nodeKindJSON{e.Name, e.Width, e.Capacity, encodeComponents(e.Features)},
				e.From, e.To})
		}
		return j, nil
	}
	return spaceJSON{}, fmt.Errorf("a space of type %T has no JSON", s)
}

func encodeSpaces(spaces []Space) (out []spaceJSON, err error) {
	for i, s := range spaces {
		j, err := encodeSpace(s)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		out = append(out, j)
	}
	return out, nil
}

func encodeComponents(in []Component) (out []componentJSON) {
	for _, c := range in {
		out = append(out, componentJSON(c))
	}
	return out
}

// bound writes bounds as numbers, nil where there is none.
func bound(in []float32) []*float32 {
	out := make([]*float32, len(in))
	for i := range in {
		if x := in[i]; !math.IsInf(float64(x), 0) {
			out[i] = &x
		}
	}
	return out
}

// short1 writes equal bounds once.
func short1(in []*float32) []*float32 {
	for _, x := range in {
		if (x == nil) != (in[0] == nil) || x != nil && *x != *in[0] {
			return in
		}
	}
	return in[:min(1, len(in))]
}

// space makes a space and adds the cells that a value takes to *cells. Observations may be graphs.
func (j *spaceJSON) space(cells *int, graph bool) (Space, error) { return j.nested(cells, graph, 0) }

func (j *spaceJSON) nested(cells *int, graph bool, depth int) (Space, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf(": more than %d spaces within each other", maxDepth)
	}
	switch j.Type {
	case boxType:
		if err := add(cells, j.Width, 1); err != nil {
			return nil, fmt.Errorf(".width: %w", err)
		}
		return j.box()
	case discreteType, multiDiscreteType:
		for i, n := range j.N {
			if n < 1 {
				return nil, fmt.Errorf(".n[%d] is %d, want at least 1 choice", i, n)
			}
			if err := add(cells, n+1, 1); err != nil {
				return nil, fmt.Errorf(".n[%d]: %w", i, err)
			}
		}
		if j.Type == multiDiscreteType {
			return MultiDiscrete{N: j.N}, nil
		}
		if len(j.N) != 1 {
			return nil, fmt.Errorf(".n has %d numbers, want one number of choices", len(j.N))
		}
		return Discrete{N: j.N[0]}, nil
	case tupleType, dictType:
		var t Tuple
		for i := range j.Spaces {
			s, err := j.Spaces[i].nested(cells, false, depth+1)
			if err != nil {
				return nil, fmt.Errorf(".spaces[%d]%w", i, err)
			}
			t.Spaces = append(t.Spaces, s)
		}
		if j.Type == tupleType {
			return t, nil
		}
		if len(j.Keys) != len(j.Spaces) {
			return nil, fmt.Errorf(".keys has %d entries, want %d", len(j.Keys), len(j.Spaces))
		}
		return Dict{Keys: j.Keys, Tuple: t}, nil
	case graphType:
		if graph {
			return j.graph(cells)
		}
	}
	return nil, fmt.Errorf(".type is %q, want box, discrete, multi-discrete, tuple or dict; graph for what is seen", j.Type)
}

func (j *spaceJSON) box() (Space, error) {
	b := NewBox(j.Width, float32(math.Inf(-1)), float32(math.Inf(1)))
	for _, side := range []struct {
		key string
		in  []*float32
		out []float32
	}{{"low", j.Low, b.Low}, {"high", j.High, b.High}} {
		if n := len(side.in); n != j.Width && n != min(1, j.Width) {
			return nil, fmt.Errorf(".%s has %d numbers, want %d, or 1 for all", side.key, n, j.Width)
		}
		for i := range side.out {
			if x := side.in[min(i, len(side.in)-1)]; x != nil {
				side.out[i] = *x
			}
		}
	}
	for i := range b.Low {
		if b.Low[i] > b.High[i] {
			return nil, fmt.Errorf(".low[%d] is %g, want at most high, %g", i, b.Low[i], b.High[i])
		}
	}
	if n := len(j.Integer); n > 0 {
		if n != j.Width && n != 1 {
			return nil, fmt.Errorf(".integer has %d marks, want %d, or 1 for all", n, j.Width)
		}
		b.Integer = make([]bool, j.Width)
		for i := range b.Integer {
			b.Integer[i] = j.Integer[min(i, n-1)]
		}
	}
	return b, nil
}

func (j *spaceJSON) graph(cells *int) (Space, error) {
	var g Graph
	for i, n := range j.Nodes {
		features, err := n.decode(cells, 1)
		if err != nil {
			return nil, fmt.Errorf(".nodes[%d]: %w", i, err)
		}
		g.Nodes = append(g.Nodes, NodeKind{Name: n.Name, Width: n.Width, Capacity: n.Capacity, Features: features})
	}
	for i, e := range j.Edges {
		features, err := e.decode(cells, 3)
		if err != nil {
			return nil, fmt.Errorf(".edges[%d]: %w", i, err)
		}
		if e.From < 0 || e.To < 0 || e.From >= len(g.Nodes) || e.To >= len(g.Nodes) {
			return nil, fmt.Errorf(".edges[%d]: from %d to %d, want kinds of nodes from 0 to %d", i, e.From, e.To, len(g.Nodes)-1)
		}
		g.Edges = append(g.Edges, EdgeKind{Name: e.Name, From: e.From, To: e.To, Width: e.Width, Capacity: e.Capacity,
			Features: features})
	}
	return g, nil
}

// decode checks a kind of nodes or edges. Each node or edge takes more cells beside its features.
func (j *nodeKindJSON) decode(cells *int, more int) ([]Component, error) {
	if j.Width < 0 || j.Width > maxCells {
		return nil, fmt.Errorf("width is %d, want 0 to %d", j.Width, maxCells)
	}
	if err := add(cells, j.Capacity, j.Width+more); err != nil {
		return nil, fmt.Errorf("capacity: %w", err)
	}
	if n := len(j.Features); n != 0 && n != j.Width {
		return nil, fmt.Errorf("features has %d entries, want %d", n, j.Width)
	}
	var out []Component
	for _, c := range j.Features {
		out = append(out, Component(c))
	}
	return out, nil
}

// add adds n times each to *cells.
func add(cells *int, n, each int) error {
	switch {
	case n < 0:
		return errors.New("is negative")
	case n > maxCells || n*each > maxCells-min(*cells, maxCells):
		return fmt.Errorf("what is seen and done takes more than %d numbers", maxCells)
	}
	*cells += n * each
	return nil
}
