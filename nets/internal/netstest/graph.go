package netstest

import (
	"fmt"
	"maps"
	"math"
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

// GraphSubject is a network over graphs with drawn parameters, batch, heads' inputs and gradients w.r.t. their outputs.
type GraphSubject struct {
	Engine nets.Engine
	Net    nets.GraphNet
	Work   nets.GraphWork
	Batch  *nets.GraphBatch
	In     []HeadInput
	// By holds for each head the objective's gradient w.r.t. its output: the objective is Σ by·out over all heads.
	By   [][]float64
	Drop *rng.Key
}

// NewGraphSubject draws a case on an engine, the same for the same seed: all drawn numbers are float32.
func NewGraphSubject(e nets.Engine, c GraphCase, seed uint64) (*GraphSubject, error) {
	n, err := e.NewGraphNet(c.Arch)
	if err != nil {
		return nil, err
	}
	x := &GraphSubject{Engine: e, Net: n, Work: n.NewWork()}
	if x.Batch, err = c.Batch(seed); err != nil {
		return nil, err
	}
	x.In = c.Inputs(x.Batch, seed)
	key := rng.New(seed, "graph subject")
	if c.Drop {
		x.Drop = new(key.With(1))
	}
	// A little more than what learning begins with, so that LayerNorm's gain and offset are not all alike.
	s, p := key.With(2).Stream(), nets.InitialParams(c.Arch, key)
	for i := range p {
		p[i] += float32(0.2 * s.Norm())
	}
	n.Params().Set(p)
	for h, head := range c.Arch.Heads {
		rows := x.Batch.Graphs()
		if head.Per != nets.WholeGraph {
			rows = x.Batch.Nodes[head.Per].Rows()
		}
		by := make([]float64, rows*head.Out)
		s := key.With(3).With(uint64(h)).Stream()
		for i := range by {
			by[i] = float64(float32(s.Norm()))
		}
		x.By = append(x.By, by)
	}
	return x, e.Err()
}

// Forward runs the net and all its heads and returns their results.
func (x *GraphSubject) Forward() [][]float64 {
	x.Net.Forward(x.Work, x.Batch, x.Drop)
	var out [][]float64
	for h, in := range x.In {
		out = append(out, numbers(x.Net.Head(x.Work, h, in.Given, in.Extra)))
	}
	return out
}

// Objective is Σ by·out over all heads.
func (x *GraphSubject) Objective() float64 {
	sum := 0.0
	for h, out := range x.Forward() {
		for i, v := range out {
			sum += v * x.By[h][i]
		}
	}
	return sum
}

// Backward sets the gradients w.r.t. the heads' results, as they stand after Forward, and returns those w.r.t. the
// parameters.
func (x *GraphSubject) Backward() []float64 {
	for h, by := range x.By {
		x.Work.GradOut(h).Set64(by)
	}
	x.Net.ZeroGrads()
	x.Net.Backward(x.Work)
	return numbers(x.Net.Grads())
}

// GraphResult is what a network over graphs gives for a case, for agreement between engines.
type GraphResult struct {
	Heads, Embeddings [][]float64
	Pooled            []float64
	Grads             []float64
	// Params are those after one step of Adam at rate 1e-4.
	Params []float64
}

// RunGraph runs a case forward and backward on an engine and makes a step of Adam.
func RunGraph(e nets.Engine, c GraphCase, seed uint64) (r GraphResult, err error) {
	x, err := NewGraphSubject(e, c, seed)
	if err != nil {
		return r, err
	}
	r.Heads = x.Forward()
	for k := range c.Arch.Nodes {
		r.Embeddings = append(r.Embeddings, numbers(x.Work.Embedding(k)))
	}
	r.Pooled = numbers(x.Work.Pooled())
	r.Grads = x.Backward()
	o, err := e.NewAdam(x.Net, nets.Adam{Rate: GraphRate})
	if err != nil {
		return r, err
	}
	o.Advance()
	o.Step()
	r.Params = numbers(x.Net.Params())
	return r, e.Err()
}

// GraphRate is RunGraph's learning rate.
const GraphRate = 1e-4

// Apart says how far two results are from each other: what was computed and its gradients in parts of the
// largest number of their kind, parameters in steps of the learning rate. Where a gradient is nothing but
// rounding, Adam still makes a step: those parameters don't count.
func (r GraphResult) Apart(from GraphResult) (values, grads, params float64) {
	largest := func(x []float64) float64 {
		m := 1e-3
		for _, v := range x {
			m = max(m, math.Abs(v))
		}
		return m
	}
	far := func(x, y []float64) float64 {
		if len(x) != len(y) {
			return math.Inf(1)
		}
		d := 0.0
		for i := range x {
			d = max(d, math.Abs(x[i]-y[i]))
		}
		return d / largest(y)
	}
	lists := func(x, y [][]float64) {
		if len(x) != len(y) {
			values = math.Inf(1)
			return
		}
		for i := range x {
			values = max(values, far(x[i], y[i]))
		}
	}
	lists(r.Heads, from.Heads)
	lists(r.Embeddings, from.Embeddings)
	values = max(values, far(r.Pooled, from.Pooled))
	grads = far(r.Grads, from.Grads)
	floor := 1e-5 * largest(from.Grads)
	for i, p := range from.Params {
		if math.Abs(from.Grads[i]) > floor {
			params = max(params, math.Abs(r.Params[i]-p)/GraphRate)
		}
	}
	return values, grads, params
}

// GraphGradients is [Gradients] for networks over graphs: by all parameters of all cases of [Graphs] that are
// not large, through all heads at once and through the last alone. ReLU bends at 0: where a difference and the
// gradient are apart, shorter steps are tried, since a bend that the longer ones crossed then lies outside; a
// wrong gradient is wrong at all of them.
func GraphGradients(e nets.Engine) ([]Gradient, error) {
	if d := e.Info().DType; d != nets.Float64.String() {
		return nil, fmt.Errorf("netstest: the engine computes in %s, want %v", d, nets.Float64)
	}
	var all []Gradient
	cases := Graphs()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		if cases[name].Large {
			continue
		}
		for seed := range uint64(2) {
			x, err := NewGraphSubject(e, cases[name], seed)
			if err != nil {
				return nil, fmt.Errorf("netstest: %s: %w", name, err)
			}
			if seed == 1 { // the last head alone
				for h := range x.By[:len(x.By)-1] {
					clear(x.By[h])
				}
			}
			x.Forward()
			g := x.Backward()
			all = append(all, bent(fmt.Sprintf("graph: %s, seed %d", name, seed), g, x.Net.Params(), x.Objective))
			if err := e.Err(); err != nil {
				return nil, fmt.Errorf("netstest: %s: %w", name, err)
			}
		}
	}
	return all, nil
}

// bent compares a gradient with differences of a function that has bends.
func bent(of string, got []float64, t nets.Tensor, f func() float64) Gradient {
	g := Gradient{Of: of, By: "parameters", N: len(got)}
	scale := 1e-3
	for _, v := range got {
		scale = max(scale, math.Abs(v)) // NaN stays
	}
	x := numbers(t)
	for i, v := range got {
		off := math.Inf(1)
		for h := 5e-5; h > 1e-7 && !(off <= 1e-9); h /= 10 {
			off = min(off, math.Abs(differenceAt(t, x, i, h, f)-v)/scale)
		}
		g.Error = max(g.Error, off)
	}
	t.Set64(x)
	return g
}
