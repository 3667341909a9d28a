package netstest

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// GraphPermutation runs a case, and again with each graph's nodes in another order and its edges in another
// order still. Embeddings and results by nodes must move with them, graphs' vectors and results, and the
// gradients of all together, must stay. It says how far they are from that, in parts of the largest number of
// their kind. Dropout is off: its masks go by place.
func GraphPermutation(e nets.Engine, c GraphCase, seed uint64) (apart float64, err error) {
	c.Drop = false
	x, err := NewGraphSubject(e, c, seed)
	if err != nil {
		return 0, err
	}
	want := x.law()
	place := x.shuffle(seed)
	if x.Batch, err = permuted(x.Batch, place); err != nil {
		return 0, err
	}
	for h, head := range c.Arch.Heads {
		for i, kind := range head.Given {
			for g, r := range x.In[h].Given[i] {
				if r >= 0 {
					x.In[h].Given[i][g] = int32(place[kind][r])
				}
			}
		}
		if head.Per != nets.WholeGraph {
			x.By[h] = moved(x.By[h], place[head.Per], head.Out)
			want.Heads[h] = moved(want.Heads[h], place[head.Per], head.Out)
		}
	}
	for k := range want.Embeddings {
		want.Embeddings[k] = moved(want.Embeddings[k], place[k], c.Arch.Hidden)
	}
	values, grads, _ := x.law().Apart(want)
	return max(values, grads), e.Err()
}

// law is all that a permutation must leave or move.
func (x *GraphSubject) law() (r GraphResult) {
	r.Heads = x.Forward()
	for k := range x.Batch.Nodes {
		r.Embeddings = append(r.Embeddings, numbers(x.Work.Embedding(k)))
	}
	r.Pooled = numbers(x.Work.Pooled())
	r.Grads = x.Backward()
	return r
}

// shuffle draws where each row of each kind goes, within its graph.
func (x *GraphSubject) shuffle(seed uint64) [][]int {
	s := rng.NewStream(seed, "graph places")
	var place [][]int
	for k := range x.Batch.Nodes {
		n := &x.Batch.Nodes[k]
		to := make([]int, n.Rows())
		for i := range to {
			to[i] = i
		}
		for g := range x.Batch.Graphs() {
			rows := to[n.Starts[g]:n.Starts[g+1]]
			for i := len(rows) - 1; i > 0; i-- {
				j := s.IntN(i + 1)
				rows[i], rows[j] = rows[j], rows[i]
			}
		}
		place = append(place, to)
	}
	return place
}

// permuted is a batch whose row i of kind k goes to place[k][i], and whose edges are added from the last to the first.
func permuted(b *nets.GraphBatch, place [][]int) (*nets.GraphBatch, error) {
	a := b.Arch()
	p := nets.NewGraphBatch(a)
	for g := range b.Graphs() {
		p.AddGraph()
		for k, n := range a.Nodes {
			first, last := b.Nodes[k].Starts[g], b.Nodes[k].Starts[g+1]
			f := make([]float32, int(last-first)*n.Width)
			for i := first; i < last; i++ {
				copy(f[(place[k][i]-int(first))*n.Width:], b.Nodes[k].Features[int(i)*n.Width:][:n.Width])
			}
			if err := p.AddNodes(k, f); err != nil {
				return nil, err
			}
		}
		for k, e := range a.Edges {
			x, froms, tos := &b.Edges[k], int(b.Nodes[e.From].Starts[g]), b.Nodes[e.To].Starts
			var from, to []int32
			var f []float32
			for i := x.In[tos[g+1]] - 1; i >= x.In[tos[g]]; i-- {
				from = append(from, int32(place[e.From][x.From[i]]-froms))
				to = append(to, int32(place[e.To][x.To[i]]-int(tos[g])))
				f = append(f, x.Features[int(i)*e.Width:][:e.Width]...)
			}
			if err := p.AddEdges(k, from, to, f); err != nil {
				return nil, err
			}
		}
	}
	p.Seal()
	return p, nil
}

func moved(x []float64, place []int, width int) []float64 {
	out := make([]float64, len(x))
	for i, to := range place {
		copy(out[to*width:], x[i*width:][:width])
	}
	return out
}

// GraphWithoutEdges says how far a graph without edges is from an MLP over each of its nodes: from the network
// that NewNet builds of the same parameters, with the unit matrix as its last layer, in parts of the
// embeddings' largest number. There is no norm in it, as an MLP's comes after the activation and a graph's
// layers' before it.
func GraphWithoutEdges(e nets.Engine) (apart float64, err error) {
	const rows, width, hidden = 37, 3, 20
	a := nets.Graph{
		Nodes: []nets.GraphNodes{{Name: "a", Width: width}}, Edges: []nets.GraphEdges{{Name: "aa"}}, Hidden: hidden,
		Layers: 2, Own: true,
		Heads: []nets.GraphHead{{Name: "score", Per: 0, Out: 1}},
	}
	x, err := NewGraphSubject(e, GraphCase{Arch: a, Nodes: [][]int{{rows}}, Edges: [][]int{{0}}}, 1)
	if err != nil {
		return 0, err
	}
	x.Forward()
	got, p, all := numbers(x.Work.Embedding(0)), map[string][]float64{}, numbers(x.Net.Params())
	slots, _ := nets.Layout(a)
	for _, s := range slots {
		p[s.Name] = all[s.Offset:][:s.Size()]
	}
	params := slices.Concat(p["in.a.weight"], p["in.a.bias"], p["layer0.a.own"], p["layer0.a.bias"],
		p["layer1.a.own"], p["layer1.a.bias"])
	unit := make([]float64, hidden*hidden+hidden)
	for i := range hidden {
		unit[i*hidden+i] = 1
	}
	n, err := e.NewNet(nets.MLP{
		Agents: 1, Shared: true, In: []nets.Port{{Name: "x", Width: width}}, Hidden: []int{hidden, hidden, hidden},
		Out: hidden, Activation: nets.ReLU,
	})
	if err != nil {
		return 0, err
	}
	in := e.NewTensor(1, rows, width)
	n.Params().Set64(append(params, unit...))
	in.Set(x.Batch.Nodes[0].Features)
	largest := 0.0
	for i, v := range numbers(n.Forward(n.NewWork(rows), in)) {
		apart, largest = max(apart, math.Abs(got[i]-v)), max(largest, math.Abs(v))
	}
	return apart / largest, e.Err()
}

// GraphMisuses are wrong uses of a network over graphs, by what the engine's error must say of each. x is of
// the case "kinds", other another network of the same engine.
func GraphMisuses(x, other *GraphSubject) map[string]func() {
	w := x.Work
	forward := func() { x.Net.Forward(w, x.Batch, nil) }
	head := func(head int, given [][]int32, extra int) func() {
		return func() { forward(); x.Net.Head(w, head, given, make([]float32, extra)) }
	}
	return map[string]func(){
		"Forward: the Work is not one of graph": func() {
			x.Net.Forward(other.Work,
				x.Batch, nil)
		},
		"no batch, want a sealed one": func() { x.Net.Forward(w, nil, nil) },
		"is not sealed, want Seal": func() {
			x.Net.Forward(w,
				nets.NewGraphBatch(x.Net.Arch().(nets.Graph)), nil)
		},
		"the batch is for nodes [{a 3}]": func() { x.Net.Forward(w, other.Batch, nil) },
		"Head: graph": func() {
			x.Net.Head(x.Net.NewWork(), 0,
				nil, nil)
		},
		"head 3, want one of 3":                                            head(3, nil, 0),
		"head \"where\" with 0 lists":                                      head(1, nil, 0),
		"list 0 of given nodes has 2":                                      head(1, [][]int32{{0, 0}}, 6),
		"graph 1 is given node 9 of kind \"invocation\", want one below 9": head(1, [][]int32{{0, 9, 0}}, 6),
		"want 1 and 2 for each of 3 graphs":                                head(1, [][]int32{{0, 0, 0}}, 5),
		"the parameters of graph":                                          func() { forward(); x.Engine.Add(x.Net.Params(), 1, x.Net.Params()); x.Net.Backward(w) },
		"Backward: graph":                                                  func() { x.Net.Backward(x.Net.NewWork()) },
		"GradOut: head -1":                                                 func() { w.GradOut(-1) },
		"Embedding: kind 3":                                                func() { w.Embedding(3) },
	}
}

// EmptyGraphs runs every case of [Graphs] with a batch without graphs, and with one graph without nodes:
// results without rows are wanted, but for a row a graph from the heads of whole graphs, and gradients of zero.
func EmptyGraphs(e nets.Engine) error {
	for name, c := range Graphs() {
		for graphs := range 2 {
			x, err := NewGraphSubject(e, c, 1)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			x.Batch.Reset()
			for range graphs {
				x.Batch.AddGraph()
			}
			x.Batch.Seal()
			x.In = c.Inputs(x.Batch, 1)
			for h, out := range x.Forward() {
				rows := graphs
				if c.Arch.Heads[h].Per != nets.WholeGraph {
					rows = 0
				}
				if len(out) != rows*c.Arch.Heads[h].Out {
					return fmt.Errorf("%s: head %d gives %d numbers for %d graphs without nodes", name, h, len(out), graphs)
				}
				x.Work.GradOut(h).Set64(make([]float64, len(out)))
			}
			x.Net.Backward(x.Work)
			if slices.ContainsFunc(numbers(x.Net.Grads()), func(g float64) bool { return g != 0 }) {
				return fmt.Errorf("%s: %d graphs without nodes have a gradient", name, graphs)
			}
			if err := e.Err(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}
