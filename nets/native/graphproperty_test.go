package native_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/tools/proof"
)

// reordered is a batch of one graph with permuted nodes: node i of kind k becomes node place[k][i].
func reordered(t *testing.T, b *nets.GraphBatch, place [][]int) *nets.GraphBatch {
	t.Helper()
	p, a := nets.NewGraphBatch(b.Arch()), b.Arch()
	p.AddGraph()
	for k, n := range a.Nodes {
		f := make([]float32, len(b.Nodes[k].Features))
		for i, to := range place[k] {
			copy(f[to*n.Width:], b.Nodes[k].Features[i*n.Width:][:n.Width])
		}
		must.Do(t, p.AddNodes(k, f))
	}
	for k, e := range a.Edges {
		from, to := []int32{}, []int32{}
		var f []float32
		for i := len(b.Edges[k].From) - 1; i >= 0; i-- { // in another order too
			from, to = append(from, int32(place[e.From][b.Edges[k].From[i]])), append(to, int32(place[e.To][b.Edges[k].To[i]]))
			f = append(f, b.Edges[k].Features[i*e.Width:][:e.Width]...)
		}
		must.Do(t, p.AddEdges(k, from, to, f))
	}
	p.Seal()
	return p
}

// Permuted nodes have permuted embeddings and scores; the graphs' vectors and values are unchanged.
func TestGraphPermutation(t *testing.T) {
	c := netstest.Graphs()["kinds, all on"]
	c.Arch.Dropout, c.Drop = 0, false // dropout masks depend on the order
	c.Nodes, c.Edges = [][]int{{13, 6, 31}}, [][]int{{20, 50, 40, 33}}
	for name, e := range graphEngines() {
		x := mustGraph(t, e, c, 3)
		heads := x.Forward()
		pooled, s := values(x.Work.Pooled()), rng.NewStream(5, "places")
		var embeddings [][]float64
		var place [][]int
		for k, n := range c.Nodes[0] {
			embeddings = append(embeddings, values(x.Work.Embedding(k)))
			place = append(place, shuffled(s, n))
		}
		x.Batch = reordered(t, x.Batch, place)
		for i, kind := range c.Arch.Heads[1].Given {
			if r := &x.In[1].Given[i][0]; *r >= 0 {
				*r = int32(place[kind][*r])
			}
		}
		again := x.Forward()
		for k := range place {
			near(t, name+": embedding", values(x.Work.Embedding(k)), moved(embeddings[k], place[k], c.Arch.Hidden), tolerance(e))
		}
		near(t, name+": which", again[0], moved(heads[0], place[2], 1), tolerance(e))
		near(t, name+": where", again[1], moved(heads[1], place[1], 2), tolerance(e))
		near(t, name+": value", again[2], heads[2], tolerance(e))
		near(t, name+": pooled", values(x.Work.Pooled()), pooled, tolerance(e))
		noError(t, e)
	}
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: "networks over graphs: nodes in another order have their embeddings and scores in that order, and graphs' vectors and values stay",
		Bound: "1e-12 of the largest in float64, 5e-6 in float32", Measured: "within, on every family of kernels",
		Holds: !t.Failed(), Command: graphCommand("Permutation"),
	})
}

func shuffled(s *rng.Stream, n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := s.IntN(i + 1)
		p[i], p[j] = p[j], p[i]
	}
	return p
}

func moved(x []float64, place []int, width int) []float64 {
	out := make([]float64, len(x))
	for i, to := range place {
		copy(out[to*width:], x[i*width:][:width])
	}
	return out
}

// Without edges, a graph network with Own is an MLP over each node: NewNet's MLP with the same parameters, and the unit
// matrix as its last layer, gives the embeddings. (There is no norm here, because an MLP normalises after its
// activation and graph layers before it.)
func TestGraphWithoutEdgesIsMLP(t *testing.T) {
	const rows, width, hidden = 37, 3, 20
	a := nets.Graph{
		Nodes: []nets.GraphNodes{{Name: "a", Width: width}}, Edges: []nets.GraphEdges{{Name: "aa"}}, Hidden: hidden,
		Layers: 2, Own: true,
		Heads: []nets.GraphHead{{Name: "score", Per: 0, Out: 1}},
	}
	mlp := nets.MLP{
		Agents: 1, Shared: true, In: []nets.Port{{Name: "x", Width: width}}, Hidden: []int{hidden, hidden, hidden},
		Out: hidden, Activation: nets.ReLU,
	}
	c := netstest.GraphCase{Arch: a, Nodes: [][]int{{rows}}, Edges: [][]int{{0}}}
	for name, e := range graphEngines() {
		x := mustGraph(t, e, c, 1)
		x.Forward()
		p, all := map[string][]float64{}, values(x.Net.Params())
		slots, _ := nets.Layout(a)
		for _, s := range slots {
			p[s.Name] = all[s.Offset:][:s.Size()]
		}
		params := slices.Concat(p["in.a.weight"], p["in.a.bias"], p["layer0.a.own"], p["layer0.a.bias"],
			p["layer1.a.own"], p["layer1.a.bias"])
		for i := range hidden * hidden {
			params = append(params, map[bool]float64{true: 1}[i%(hidden+1) == 0])
		}
		n, in := mustNet(t, e, mlp), e.NewTensor(1, rows, width)
		n.Params().Set64(append(params, make([]float64, hidden)...))
		in.Set(x.Batch.Nodes[0].Features)
		near(t, name, values(x.Work.Embedding(0)), values(n.Forward(n.NewWork(rows), in)), tolerance(e))
		noError(t, e)
	}
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: "a network over a graph without edges is the MLP of the same parameters",
		Bound: "1e-12 of the largest in float64, 5e-6 in float32", Measured: "within, on every family of kernels",
		Holds: !t.Failed(), Command: graphCommand("WithoutEdgesIsMLP"),
	})
}

// Graphs in one batch give the same results as each graph alone.
func TestGraphsAlone(t *testing.T) {
	for _, name := range []string{"kinds, all on", "wide 64", "given", "extra"} {
		c := netstest.Graphs()[name]
		c.Arch.Dropout, c.Drop = 0, false
		for family, e := range graphEngines() {
			x := mustGraph(t, e, c, 2)
			heads, pooled, b := x.Forward(), values(x.Work.Pooled()), x.Batch
			in := x.In
			vector := c.Arch.Output().Width
			for g := range b.Graphs() {
				x.Batch, x.In = onlyGraph(t, b, g), nil
				for h, head := range c.Arch.Heads {
					var one netstest.HeadInput
					for i, kind := range head.Given {
						r := in[h].Given[i][g]
						if r >= 0 {
							r -= b.Nodes[kind].Starts[g]
						}
						one.Given = append(one.Given, []int32{r})
					}
					one.Extra = in[h].Extra[g*head.Extra:][:head.Extra]
					x.In = append(x.In, one)
				}
				for h, got := range x.Forward() {
					head, first, last := c.Arch.Heads[h], g, g+1
					if head.Per != nets.WholeGraph {
						first, last = int(b.Nodes[head.Per].Starts[g]), int(b.Nodes[head.Per].Starts[g+1])
					}
					near(t, fmt.Sprintf("%s, %s: head %d of graph %d", name, family, h, g), got,
						heads[h][first*head.Out:last*head.Out], tolerance(e))
				}
				near(t, name+" pooled", values(x.Work.Pooled()), pooled[g*vector:][:vector], tolerance(e))
			}
			noError(t, e)
		}
	}
}

// onlyGraph is a batch of one of the graphs of b.
func onlyGraph(t *testing.T, b *nets.GraphBatch, g int) *nets.GraphBatch {
	t.Helper()
	one, a := nets.NewGraphBatch(b.Arch()), b.Arch()
	one.AddGraph()
	for k, n := range a.Nodes {
		s := b.Nodes[k].Starts
		must.Do(t, one.AddNodes(k, b.Nodes[k].Features[int(s[g])*n.Width:int(s[g+1])*n.Width]))
	}
	for k, e := range a.Edges {
		starts, x := b.Nodes[e.To].Starts, &b.Edges[k]
		first, last := x.In[starts[g]], x.In[starts[g+1]]
		var from, to []int32
		for i := first; i < last; i++ {
			from, to = append(from, x.From[i]-b.Nodes[e.From].Starts[g]), append(to, x.To[i]-starts[g])
		}
		must.Do(t, one.AddEdges(k, from, to, x.Features[int(first)*e.Width:int(last)*e.Width]))
	}
	one.Seal()
	return one
}

// Without a key there is no dropout; with one, about the rate of the values is zero.
func TestGraphDropout(t *testing.T) {
	c := netstest.Graphs()["wide 64"]
	off := c
	c.Arch.Dropout = 0.25
	for name, e := range graphEngines() {
		x, y := mustGraph(t, e, c, 1), mustGraph(t, e, off, 1)
		near(t, name, slices.Concat(x.Forward()...), slices.Concat(y.Forward()...), 0)
		zeros := func() (n int) {
			for _, v := range values(x.Work.Embedding(2)) {
				if v == 0 {
					n++
				}
			}
			return n
		}
		before := zeros()
		x.Drop = new(rng.New(1, "drop"))
		x.Forward()
		n := len(values(x.Work.Embedding(2)))
		if got, want := zeros(), float64(before)+0.25*float64(n-before); math.Abs(float64(got)-want) > 0.06*float64(n) {
			t.Errorf("%s: %d zeros of %d, want about %g", name, got, n, want)
		}
	}
}

// NaN and infinity in a node's features reach the results that depend on them, and no others.
func TestGraphNaN(t *testing.T) {
	c := netstest.Graphs()["three layers"]
	c.Nodes, c.Edges, c.Arch.Layers = [][]int{{4}, {4}}, [][]int{{0}, {0}}, 1
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1))} {
		for name, e := range graphEngines() {
			x := mustGraph(t, e, c, 1)
			b := nets.NewGraphBatch(c.Arch)
			for g := range 2 {
				b.AddGraph()
				f := make([]float32, 12)
				for i := range f {
					f[i] = float32(i%5) - 2
				}
				if g == 0 {
					f[0] = bad // of node 0
				}
				// 0 → 1 and 2 → 3
				must.Do(t, b.AddNodes(0, f))
				must.Do(t, b.AddEdges(0, []int32{0, 2}, []int32{1, 3}, nil))
			}
			b.Seal()
			x.Batch = b
			heads := x.Forward()
			emb := values(x.Work.Embedding(0))
			finite := func(v []float64) bool {
				return !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
			}
			if finite(emb[4:8]) {
				t.Errorf("%s: %g is not passed on: %v", name, bad, emb[4:8])
			}
			if !finite(emb[8:]) {
				t.Errorf("%s: %g reaches nodes that don't see it: %v", name, bad, emb[8:])
			}
			if finite(heads[1][:1]) || !finite(heads[1][1:]) {
				t.Errorf("%s: %g: values %v, want only the first spoilt", name, bad, heads[1])
			}
			noError(t, e)
		}
	}
}
