package nets

import (
	"errors"
	"fmt"
	"slices"
)

// GraphBatch is graphs side by side, without padding: the nodes of a kind stand one after another, graph by
// graph, and so do the edges until [GraphBatch.Seal] sorts them. Its memory is used again by the next batch.
type GraphBatch struct {
	// Nodes and Edges hold a set for each kind of the architecture.
	Nodes []BatchNodes
	Edges []BatchEdges

	arch   Graph
	graphs int
	sealed bool
}

// BatchNodes is all nodes of a kind: Features is [rows, width], and graph i has rows [Starts[i], Starts[i+1]).
type BatchNodes struct {
	Starts   []int32
	Features []float32
}

// Rows is the number of nodes.
func (n *BatchNodes) Rows() int { return int(n.Starts[len(n.Starts)-1]) }

// BatchEdges is all edges of a kind, in rows of their kinds of nodes, sorted by To and, among equal ones, in
// the order in which they were added: the edges into row v are [In[v], In[v+1]).
type BatchEdges struct {
	From, To []int32
	Features []float32 // [edges, width]
	In       []int32
	// Out[OutStarts[u]:OutStarts[u+1]] are the numbers of the edges that leave row u, ascending.
	Out, OutStarts []int32

	unsorted
}

// unsorted is edges as they were added.
type unsorted struct {
	from, to []int32
	features []float32
}

// NewGraphBatch returns an empty batch for networks of an architecture.
func NewGraphBatch(a Graph) *GraphBatch {
	b := &GraphBatch{arch: a, Nodes: make([]BatchNodes, len(a.Nodes)), Edges: make([]BatchEdges, len(a.Edges))}
	b.Reset()
	return b
}

// Arch returns the architecture for which the batch was made.
func (b *GraphBatch) Arch() Graph { return b.arch }

// Graphs is the number of graphs.
func (b *GraphBatch) Graphs() int { return b.graphs }

// Reset removes all graphs; the memory is used again.
func (b *GraphBatch) Reset() {
	b.graphs, b.sealed = 0, false
	for k := range b.Nodes {
		n := &b.Nodes[k]
		n.Starts, n.Features = append(n.Starts[:0], 0), n.Features[:0]
	}
	for k := range b.Edges {
		u := &b.Edges[k].unsorted
		u.from, u.to, u.features = u.from[:0], u.to[:0], u.features[:0]
	}
}

// AddGraph begins the next graph, without nodes and edges.
func (b *GraphBatch) AddGraph() {
	b.graphs++
	b.sealed = false
	for k := range b.Nodes {
		n := &b.Nodes[k]
		n.Starts = append(n.Starts, n.Starts[len(n.Starts)-1])
	}
}

// AddNodes adds nodes of a kind to the last graph: features is [nodes, width].
func (b *GraphBatch) AddNodes(kind int, features []float32) error {
	w := b.arch.Nodes[kind].Width
	if b.graphs == 0 {
		return fmt.Errorf("nets: graph batch: nodes of kind %q before the first graph", b.arch.Nodes[kind].Name)
	}
	if len(features)%w != 0 {
		return fmt.Errorf("nets: graph batch: %d features for nodes of kind %q, want a multiple of %d",
			len(features), b.arch.Nodes[kind].Name, w)
	}
	n := &b.Nodes[kind]
	n.Features = append(n.Features, features...)
	n.Starts[b.graphs] += int32(len(features) / w)
	return nil
}

// AddEdges adds edges of a kind to the last graph, after its nodes: from and to count the nodes within the
// graph, features is [edges, width]. An edge to a node that does not exist is an error, and then no edge is added.
func (b *GraphBatch) AddEdges(kind int, from, to []int32, features []float32) error {
	k, e := b.arch.Edges[kind], &b.Edges[kind]
	if b.graphs == 0 {
		return fmt.Errorf("nets: graph batch: edges of kind %q before the first graph", k.Name)
	}
	if len(from) != len(to) || len(features) != len(from)*k.Width {
		return fmt.Errorf("nets: graph batch: edges of kind %q: %d from, %d to, %d features, want as many from as to and "+
			"%d features each",
			k.Name, len(from), len(to), len(features), k.Width)
	}
	first, last := b.Nodes[k.From].Starts[b.graphs-1:], b.Nodes[k.To].Starts[b.graphs-1:]
	froms, tos := first[1]-first[0], last[1]-last[0]
	for i := range from {
		if from[i] < 0 || from[i] >= froms || to[i] < 0 || to[i] >= tos {
			return fmt.Errorf("nets: graph batch: graph %d: edge %d of kind %q, %d→%d, dangles: %d nodes of kind %q, "+
				"%d of kind %q", b.graphs-1, i, k.Name,
				from[i], to[i], froms, b.arch.Nodes[k.From].Name, tos, b.arch.Nodes[k.To].Name)
		}
	}
	for i := range from {
		e.from, e.to = append(e.from, first[0]+from[i]), append(e.to, last[0]+to[i])
	}
	e.features = append(e.features, features...)
	b.sealed = false
	return nil
}

// Seal sorts the edges by where they end, in time linear in their number. Forward wants a sealed batch.
func (b *GraphBatch) Seal() {
	for k := range b.Edges {
		b.Edges[k].sort(b.arch.Edges[k].Width, b.Nodes[b.arch.Edges[k].From].Rows(), b.Nodes[b.arch.Edges[k].To].Rows())
	}
	b.sealed = true
}

// Sealed reports whether the batch can be run.
func (b *GraphBatch) Sealed() bool { return b.sealed }

func (e *BatchEdges) sort(width, froms, tos int) {
	n := len(e.from)
	e.From, e.To, e.Out = resize(e.From, n), resize(e.To, n), resize(e.Out, n)
	e.Features = resize(e.Features, n*width)
	e.In, e.OutStarts = counts(e.In, e.to, tos), counts(e.OutStarts, e.from, froms)
	for i, to := range e.to {
		at := e.In[to]
		e.In[to]++
		e.From[at], e.To[at] = e.from[i], to
		copy(e.Features[int(at)*width:], e.features[i*width:(i+1)*width])
	}
	for at, from := range e.From {
		e.Out[e.OutStarts[from]] = int32(at)
		e.OutStarts[from]++
	}
	shift(e.In)
	shift(e.OutStarts)
}

// counts returns where the values 0 … n−1 of x begin once x is sorted, and len(x) after them.
func counts(dst, x []int32, n int) []int32 {
	dst = resize(dst, n+1)
	clear(dst)
	for _, v := range x {
		dst[v+1]++
	}
	for i := range n {
		dst[i+1] += dst[i]
	}
	return dst
}

// shift moves each value's beginning back: sorting has moved it to that of the next value.
func shift(starts []int32) {
	copy(starts[1:], starts[:len(starts)-1])
	starts[0] = 0
}

func resize[E any](s []E, n int) []E { return slices.Grow(s[:0], n)[:n] }

// CheckBatch says why a network of this architecture cannot run a batch; nil where it can.
func (g Graph) CheckBatch(b *GraphBatch) error {
	switch {
	case b == nil:
		return errors.New("no batch, want a sealed one")
	case !b.Sealed():
		return errors.New("the batch is not sealed, want Seal after its last edge")
	case !slices.Equal(b.arch.Nodes, g.Nodes) || !slices.Equal(b.arch.Edges, g.Edges):
		return fmt.Errorf("the batch is for nodes %v and edges %v, want those of the network: %v and %v",
			b.arch.Nodes, b.arch.Edges, g.Nodes, g.Edges)
	}
	return nil
}

// CheckHead says why a head cannot run for a batch with the arguments of [GraphNet].Head; nil where it can.
func (g Graph) CheckHead(b *GraphBatch, head int, given [][]int32, extra []float32) error {
	if head < 0 || head >= len(g.Heads) {
		return fmt.Errorf("head %d, want one of %d", head, len(g.Heads))
	}
	spec, graphs := &g.Heads[head], b.Graphs()
	if len(given) != len(spec.Given) || len(extra) != graphs*spec.Extra {
		return fmt.Errorf("head %q with %d lists of given nodes and %d extra numbers, want %d and %d for each of %d graphs",
			spec.Name, len(given), len(extra), len(spec.Given), spec.Extra, graphs)
	}
	for i, rows := range given {
		if len(rows) != graphs {
			return fmt.Errorf("head %q: list %d of given nodes has %d, want one for each of %d graphs", spec.Name, i,
				len(rows), graphs)
		}
		kind := spec.Given[i]
		most := b.Nodes[kind].Rows()
		if bad := slices.IndexFunc(rows, func(r int32) bool { return r < -1 || int(r) >= most }); bad >= 0 {
			return fmt.Errorf("head %q: graph %d is given node %d of kind %q, want one below %d, or -1 for none",
				spec.Name, bad, rows[bad], g.Nodes[kind].Name, most)
		}
	}
	return nil
}
