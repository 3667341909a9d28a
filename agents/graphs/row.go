package graphs

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// AppendRow appends a graph as a row of numbers: for each kind of node their count and features, for each kind of edge its count, where the edges
// begin, where they end, and their features. Rows differ in length.
func (p *Problem) AppendRow(dst []float32, g *envs.GraphValue) []float32 {
	for k, n := range p.Space.Nodes {
		s := &g.Nodes[k]
		dst = append(append(dst, float32(s.Len)), s.Features[:s.Len*n.Width]...)
	}
	for k, e := range p.Space.Edges {
		s := &g.Edges[k]
		dst = append(dst, float32(s.Len))
		for _, ends := range [2][]int32{s.From[:s.Len], s.To[:s.Len]} {
			for _, x := range ends {
				dst = append(dst, float32(x))
			}
		}
		dst = append(dst, s.Features[:s.Len*e.Width]...)
	}
	return dst
}

// Rows adds rows as graphs to batches. It keeps its memory.
type Rows struct {
	p        *Problem
	from, to []int32
}

// NewRows returns a reader of the problem's rows.
func NewRows(p *Problem) *Rows { return &Rows{p: p} }

// Add adds a row to the batch. A row that is none of the problem's is an error, and the batch is then of no use.
func (r *Rows) Add(b *nets.GraphBatch, row []float32) error {
	b.AddGraph()
	err := r.read(row, func(kind int, features []float32) error { return b.AddNodes(kind, features) },
		func(kind int, features []float32) error { return r.p.addEdges(b, kind, r.from, r.to, features) })
	if err != nil {
		return fmt.Errorf("a graph's row: %w", err)
	}
	return nil
}

// Check says what is wrong with a row that comes from a file.
func (r *Rows) Check(row []float32) error {
	count := make([]int, len(r.p.Space.Nodes))
	finite := func(features []float32) error {
		if i := check.NotFinite(features); i >= 0 {
			return fmt.Errorf("feature %d is %g, want a finite number", i, features[i])
		}
		return nil
	}
	return r.read(row, func(kind int, features []float32) error {
		count[kind] = len(features) / r.p.Space.Nodes[kind].Width
		return finite(features)
	}, func(kind int, features []float32) error {
		e := r.p.Space.Edges[kind]
		for i := range r.from {
			if int(r.from[i]) >= count[e.From] || int(r.to[i]) >= count[e.To] {
				return fmt.Errorf("edge %d of kind %q, %d→%d, dangles", i, e.Name, r.from[i], r.to[i])
			}
		}
		return finite(features)
	})
}

func (r *Rows) read(row []float32, nodes, edges func(kind int, features []float32) error) error {
	take := func(n int) []float32 {
		x := row[:n]
		row = row[n:]
		return x
	}
	count := func(name string, capacity, width int) (int, error) {
		if len(row) == 0 {
			return 0, fmt.Errorf("it ends before %s", name)
		}
		n := row[0]
		if !(n >= 0 && n <= float32(capacity)) || n != float32(int(n)) || len(row)-1 < int(n)*width {
			return 0, fmt.Errorf("%g of %s with %d numbers to follow, want at most %d of %d numbers each", n, name, len(row)-1, capacity, width)
		}
		row = row[1:]
		return int(n), nil
	}
	for k, kind := range r.p.Space.Nodes {
		n, err := count(kind.Name, kind.Capacity, kind.Width)
		if err != nil {
			return err
		}
		if err := nodes(k, take(n*kind.Width)); err != nil {
			return err
		}
	}
	for k, kind := range r.p.Space.Edges {
		n, err := count(kind.Name, kind.Capacity, kind.Width+2)
		if err != nil {
			return err
		}
		if r.from, err = whole(r.from[:0], take(n)); err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
		if r.to, err = whole(r.to[:0], take(n)); err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
		if err := edges(k, take(n*kind.Width)); err != nil {
			return err
		}
	}
	if len(row) > 0 {
		return fmt.Errorf("%d numbers too many", len(row))
	}
	return nil
}

// whole appends numbers that must be those of nodes.
func whole(dst []int32, x []float32) ([]int32, error) {
	for _, v := range x {
		if !(v >= 0 && v < 1<<24) || v != float32(int32(v)) {
			return nil, fmt.Errorf("an edge ends at %g, want the number of a node", v)
		}
		dst = append(dst, int32(v))
	}
	return dst, nil
}
