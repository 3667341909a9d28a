package netstest

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// GraphCase is a network over graphs with a batch to draw for it.
type GraphCase struct {
	Arch nets.Graph
	// Nodes and Edges are numbers by graph and kind. A graph without nodes at an edge's ends gets none of those edges.
	Nodes, Edges [][]int
	// Drop passes a key to Forward, as in training.
	Drop bool
	// Large cases are for agreement between engines: finite differences by each of their parameters would take long.
	Large bool
}

// HeadInput is what a head takes beside the embeddings.
type HeadInput struct {
	Given [][]int32
	Extra []float32
}

// Graphs are networks over graphs in all their forms, by name: few and many kinds, with and without edges and
// their features, nodes that no edge reaches and kinds without nodes, all switches on and off.
func Graphs() map[string]GraphCase {
	one := nets.Graph{
		Nodes: []nets.GraphNodes{{Name: "a", Width: 3}}, Edges: []nets.GraphEdges{{Name: "aa"}}, Hidden: 4, Layers: 1,
		Heads: []nets.GraphHead{{Name: "score", Per: 0, Out: 1}, {Name: "value", Per: nets.WholeGraph, Out: 1}},
	}
	out := map[string]GraphCase{}
	add := func(name string, nodes, edges [][]int, change func(*nets.Graph)) {
		c := GraphCase{Arch: one, Nodes: nodes, Edges: edges}
		c.Arch.Nodes, c.Arch.Edges, c.Arch.Heads = slices.Clone(one.Nodes), slices.Clone(one.Edges), slices.Clone(one.Heads)
		if change != nil {
			change(&c.Arch)
		}
		c.Drop, c.Large = c.Arch.Dropout > 0, c.Arch.Hidden > 8
		out[name] = c
	}
	five, nine := [][]int{{5}}, [][]int{{9}}
	add("one kind", five, nine, nil)
	add("no kinds of edges", five, [][]int{{}}, func(g *nets.Graph) { g.Edges = nil })
	add("no kinds of edges, own", five, [][]int{{}}, func(g *nets.Graph) { g.Edges, g.Own, g.Layers = nil, true, 2 })
	add("no edges", five, [][]int{{0}}, nil)
	add("no edges, own norm", five, [][]int{{0}}, func(g *nets.Graph) { g.Own, g.Norm = true, nets.LayerNorm })
	add("no layers", five, nine, func(g *nets.Graph) { g.Layers = 0 })
	add("three layers", five, nine, func(g *nets.Graph) { g.Layers = 3 })
	add("own", five, nine, func(g *nets.Graph) { g.Own = true })
	add("skip", five, nine, func(g *nets.Graph) { g.Skip = true })
	add("norm", five, nine, func(g *nets.Graph) { g.Norm = nets.LayerNorm })
	add("dropout", five, nine, func(g *nets.Graph) { g.Dropout, g.Layers = 0.3, 2 })
	add("edge features", five, nine, func(g *nets.Graph) { g.Edges[0].Width = 2 })
	add("one node", [][]int{{1}}, [][]int{{3}}, func(g *nets.Graph) { g.Edges[0].Width = 1 })
	add("whole graph only", five, nine, func(g *nets.Graph) { g.Heads = g.Heads[1:] })
	add("extra", [][]int{{5}, {2}}, [][]int{{9}, {3}}, func(g *nets.Graph) {
		g.Heads[0].Extra, g.Heads[0].Out, g.Heads[1].Extra = 2, 3, 1
	})
	add("given", [][]int{{5}, {2}, {3}}, [][]int{{9}, {3}, {0}}, func(g *nets.Graph) {
		g.Heads[0].Given, g.Heads[1].Given = []int{0, 0}, []int{0}
	})
	kinds := func(own, skip bool, norm string, dropout float64, width int) func(*nets.Graph) {
		return func(g *nets.Graph) {
			*g = nets.Graph{
				Nodes: []nets.GraphNodes{{Name: "function", Width: 2}, {Name: "node", Width: 3}, {Name: "invocation", Width: 1}},
				Edges: []nets.GraphEdges{
					{Name: "dependency", From: 0, To: 0, Width: width}, {Name: "allocation", From: 2, To: 1},
					{Name: "temporal", From: 2, To: 2}, {Name: "sharing", From: 1, To: 2, Width: width},
				},
				Hidden: 4, Layers: 2, Own: own, Skip: skip, Norm: norm, Dropout: dropout,
				Heads: []nets.GraphHead{
					{Name: "which", Per: 2, Out: 1},
					{Name: "where", Per: 1, Given: []int{2}, Extra: 2, Out: 2, FinalBound: 0.01},
					{Name: "value", Per: nets.WholeGraph, Out: 1},
				},
			}
		}
	}
	// Three graphs side by side: a whole one, one without functions, one with nothing but a node.
	nodes, edges := [][]int{{3, 2, 5}, {0, 3, 4}, {0, 1, 0}}, [][]int{{4, 6, 7, 5}, {0, 5, 3, 6}, {0, 0, 0, 0}}
	add("kinds", nodes, edges, kinds(false, true, nets.LayerNorm, 0, 0))
	add("kinds, all on", nodes, edges, kinds(true, true, nets.LayerNorm, 0.25, 2))
	add("kinds, all off", nodes, edges, kinds(false, false, nets.NoNorm, 0, 0))
	add("kinds, nobody's target", nodes, [][]int{{4, 6}, {0, 5}, {0, 0}}, func(g *nets.Graph) {
		kinds(false, true, nets.LayerNorm, 0.25, 3)(g)
		g.Edges = g.Edges[:2] // invocations keep their x
	})
	// Widths around that of registers.
	for name, hidden := range map[string]int{"wide 20": 20, "wide 64": 64, "wide 80": 80} {
		wide := func(g *nets.Graph) {
			kinds(hidden == 20, true, nets.LayerNorm, 0, 5)(g)
			g.Hidden = hidden
		}
		add(name, [][]int{{40, 3, 70}, {0, 7, 33}, {2, 5, 150}, {1, 0, 0}},
			[][]int{{90, 120, 200, 150}, {0, 60, 40, 100}, {1, 160, 10, 400}, {1, 0, 0, 0}}, wide)
	}
	add("many graphs", slices.Repeat([][]int{{2, 3, 6}}, 60), slices.Repeat([][]int{{2, 5, 6, 7}}, 60),
		func(g *nets.Graph) {
			kinds(true, true, nets.LayerNorm, 0.1, 2)(g)
			g.Hidden = 32
		})
	return out
}

// Batch draws the case's graphs, sealed: the same for the same seed.
func (c GraphCase) Batch(seed uint64) (*nets.GraphBatch, error) {
	b := nets.NewGraphBatch(c.Arch)
	err := c.Fill(b, seed)
	b.Seal()
	return b, err
}

// Fill adds the graphs that Batch draws.
func (c GraphCase) Fill(b *nets.GraphBatch, seed uint64) error {
	s := rng.NewStream(seed, "graph batch")
	normal := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(s.Norm())
		}
		return x
	}
	for i, nodes := range c.Nodes {
		b.AddGraph()
		for k, n := range nodes {
			if err := b.AddNodes(k, normal(n*c.Arch.Nodes[k].Width)); err != nil {
				return err
			}
		}
		for k, e := range c.Arch.Edges {
			froms, tos := nodes[e.From], nodes[e.To]
			if froms == 0 || tos == 0 {
				continue
			}
			from, to := make([]int32, c.Edges[i][k]), make([]int32, c.Edges[i][k])
			for j := range from {
				from[j], to[j] = int32(s.IntN(froms)), int32(s.IntN(tos))
			}
			if err := b.AddEdges(k, from, to, normal(len(from)*e.Width)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Inputs draws what each head takes: some graphs name no node, those without nodes of the kind among them.
func (c GraphCase) Inputs(b *nets.GraphBatch, seed uint64) []HeadInput {
	s := rng.NewStream(seed, "graph heads")
	var out []HeadInput
	for _, h := range c.Arch.Heads {
		var in HeadInput
		for _, k := range h.Given {
			rows, starts := make([]int32, b.Graphs()), b.Nodes[k].Starts
			for g := range rows {
				rows[g] = -1
				if n := int(starts[g+1] - starts[g]); n > 0 && s.Float64() < 0.8 {
					rows[g] = starts[g] + int32(s.IntN(n))
				}
			}
			in.Given = append(in.Given, rows)
		}
		for range b.Graphs() * h.Extra {
			in.Extra = append(in.Extra, float32(s.Norm()))
		}
		out = append(out, in)
	}
	return out
}
