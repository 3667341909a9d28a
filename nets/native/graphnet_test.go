package native

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/proof"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/netstest"
	"github.com/stoker-rl/stoker/rng"
)

func mustGraph(t testing.TB, e nets.Engine, c netstest.GraphCase, seed uint64) *netstest.GraphSubject {
	t.Helper()
	x, err := netstest.NewGraphSubject(e, c, seed)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// graphNames lists the cases in a fixed order.
func graphNames() []string { return slices.Sorted(maps.Keys(netstest.Graphs())) }

func TestGraphGradients(t *testing.T) {
	all, err := netstest.GraphGradients(New(Options{DType: nets.Float64}))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, g := range all {
		n += g.N
	}
	worst := netstest.Worst(all)
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: fmt.Sprintf("native: gradients of %d networks over graphs against finite differences in float64, %d numbers", len(all), n),
		Bound: "1e-9 of the largest", Measured: worst.String(), Holds: worst.Error <= 1e-9, Command: graphCommand("Gradients"),
	})
}

// graphCommand shows a claim again.
func graphCommand(test string) string {
	return "go test ./nets/native -run '^TestGraph" + test + "$' -v"
}

// float32, with and without kernels, gives float64's numbers to its own precision.
func TestGraphFloat32(t *testing.T) {
	for _, kernels := range graphFamilies() {
		var values, grads, params float64
		for _, name := range graphNames() {
			c := netstest.Graphs()[name]
			got, err := netstest.RunGraph(New(Options{Kernels: kernels}), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			want, err := netstest.RunGraph(New(Options{DType: nets.Float64}), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			v, g, p := got.Apart(want)
			if !(v <= 3e-6 && g <= 1e-5 && p <= 0.2) {
				t.Errorf("%s, kernels %s: apart by %.2g, gradients by %.2g, parameters by %.2g steps", name, kernels, v, g, p)
			}
			values, grads, params = max(values, v), max(grads, g), max(params, p)
		}
		proof.Claim(t, proof.Row{
			Topic: "numerics", Claim: fmt.Sprintf("networks over graphs in float32, kernels %s, against float64, over %d whole updates", kernels, len(graphNames())),
			Bound:    "results 3e-6 and gradients 1e-5 of the largest, parameters 0.2 of a learning-rate step",
			Measured: fmt.Sprintf("%.2g, %.2g, %.2g", values, grads, params), Holds: values <= 3e-6 && grads <= 1e-5 && params <= 0.2,
			Command: graphCommand("Float32"),
		})
	}
}

// graphFamilies are the kernels to test here.
func graphFamilies() []string {
	names := []string{plain, goTiles}
	for _, k := range []string{"avx2", "avx512"} {
		if _, err := kernels(k); err == nil {
			names = append(names, k)
		}
	}
	return names
}

// graphEngines are plain Go in float64, and all families in float32 with a tolerance.
func graphEngines() map[string]nets.Engine {
	out := map[string]nets.Engine{"float64": New(Options{DType: nets.Float64})}
	for _, k := range graphFamilies() {
		out[k] = New(Options{Kernels: k})
	}
	return out
}

func tolerance(e nets.Engine) float64 {
	if e.Info().DType == nets.Float64.String() {
		return 1e-12
	}
	return 5e-6
}

// reordered is a batch of one graph whose nodes of each kind stand in another order: node i of kind k at place[k][i].
func reordered(t *testing.T, b *nets.GraphBatch, place [][]int) *nets.GraphBatch {
	t.Helper()
	p, a := nets.NewGraphBatch(b.Arch()), b.Arch()
	p.AddGraph()
	for k, n := range a.Nodes {
		f := make([]float32, len(b.Nodes[k].Features))
		for i, to := range place[k] {
			copy(f[to*n.Width:], b.Nodes[k].Features[i*n.Width:][:n.Width])
		}
		if err := p.AddNodes(k, f); err != nil {
			t.Fatal(err)
		}
	}
	for k, e := range a.Edges {
		from, to := []int32{}, []int32{}
		var f []float32
		for i := len(b.Edges[k].From) - 1; i >= 0; i-- { // in another order too
			from, to = append(from, int32(place[e.From][b.Edges[k].From[i]])), append(to, int32(place[e.To][b.Edges[k].To[i]]))
			f = append(f, b.Edges[k].Features[i*e.Width:][:e.Width]...)
		}
		if err := p.AddEdges(k, from, to, f); err != nil {
			t.Fatal(err)
		}
	}
	p.Seal()
	return p
}

// Nodes in another order have their embeddings and scores in that order, and graphs' vectors and values stay.
func TestGraphPermutation(t *testing.T) {
	c := netstest.Graphs()["kinds, all on"]
	c.Arch.Dropout, c.Drop = 0, false // whose masks go by place
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
		Bound: "1e-12 of the largest in float64, 5e-6 in float32", Measured: "within, on every family of kernels", Holds: !t.Failed(), Command: graphCommand("Permutation"),
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

// A graph without edges is an MLP over each node: with Own, the MLP that NewNet builds of the same parameters, with the unit matrix as its last
// layer, gives the embeddings. (An MLP normalises after its activation and the layers of graphs before it: so there is no norm here.)
func TestGraphWithoutEdgesIsMLP(t *testing.T) {
	const rows, width, hidden = 37, 3, 20
	a := nets.Graph{
		Nodes: []nets.GraphNodes{{Name: "a", Width: width}}, Edges: []nets.GraphEdges{{Name: "aa"}}, Hidden: hidden, Layers: 2, Own: true,
		Heads: []nets.GraphHead{{Name: "score", Per: 0, Out: 1}},
	}
	mlp := nets.MLP{
		Agents: 1, Shared: true, In: []nets.Port{{Name: "x", Width: width}}, Hidden: []int{hidden, hidden, hidden}, Out: hidden, Activation: nets.ReLU,
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
		params := slices.Concat(p["in.a.weight"], p["in.a.bias"], p["layer0.a.own"], p["layer0.a.bias"], p["layer1.a.own"], p["layer1.a.bias"])
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
		Bound: "1e-12 of the largest in float64, 5e-6 in float32", Measured: "within, on every family of kernels", Holds: !t.Failed(), Command: graphCommand("WithoutEdgesIsMLP"),
	})
}

// Graphs in one batch give what each gives alone.
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
					near(t, fmt.Sprintf("%s, %s: head %d of graph %d", name, family, h, g), got, heads[h][first*head.Out:last*head.Out], tolerance(e))
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
		if err := one.AddNodes(k, b.Nodes[k].Features[int(s[g])*n.Width:int(s[g+1])*n.Width]); err != nil {
			t.Fatal(err)
		}
	}
	for k, e := range a.Edges {
		starts, x := b.Nodes[e.To].Starts, &b.Edges[k]
		first, last := x.In[starts[g]], x.In[starts[g+1]]
		var from, to []int32
		for i := first; i < last; i++ {
			from, to = append(from, x.From[i]-b.Nodes[e.From].Starts[g]), append(to, x.To[i]-starts[g])
		}
		if err := one.AddEdges(k, from, to, x.Features[int(first)*e.Width:int(last)*e.Width]); err != nil {
			t.Fatal(err)
		}
	}
	one.Seal()
	return one
}

// Without a key nothing is dropped; with one, the part that is zeroed is about the rate.
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

// NaN and infinity in a node's features reach what depends on it and nothing else.
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
				if err := b.AddNodes(0, f); err != nil {
					t.Fatal(err)
				}
				if err := b.AddEdges(0, []int32{0, 2}, []int32{1, 3}, nil); err != nil {
					t.Fatal(err)
				}
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

// What was computed before leaves no trace in a Work: results are those of a new one, bit for bit.
func TestGraphNoHiddenState(t *testing.T) {
	for _, name := range []string{"kinds, all on", "wide 20", "given"} {
		c := netstest.Graphs()[name]
		for family, e := range graphEngines() {
			x := mustGraph(t, e, c, 1)
			heads := slices.Concat(x.Forward()...)
			grads := x.Backward()
			if name != "given" { // another batch between
				other := c
				other.Nodes, other.Edges = [][]int{{50, 3, 20}}, [][]int{{30, 60, 9, 70}}
				y := mustGraph(t, e, other, 2)
				x.Net.Forward(x.Work, y.Batch, nil)
				x.Net.Head(x.Work, 2, nil, nil)
				x.Net.Backward(x.Work)
			}
			near(t, name+" "+family+" heads", slices.Concat(x.Forward()...), heads, 0)
			near(t, name+" "+family+" gradient", x.Backward(), grads, 0)
			noError(t, e)
		}
	}
}

// Backward adds; heads that have not run don't count, and have no gradient to set.
func TestGraphBackwardAdds(t *testing.T) {
	c := netstest.Graphs()["kinds, all on"]
	for name, e := range graphEngines() {
		x := mustGraph(t, e, c, 1)
		x.Forward()
		g := x.Backward()
		x.Net.Backward(x.Work)
		for i := range g {
			g[i] *= 2
		}
		near(t, name+" twice", values(x.Net.Grads()), g, tolerance(e))
		x.Net.Forward(x.Work, x.Batch, x.Drop)
		if x.Work.GradOut(2) != nil {
			t.Errorf("%s: GradOut of a head that has not run is not nil", name)
		}
		x.Net.ZeroGrads()
		x.Net.Backward(x.Work)
		near(t, name+" without heads", values(x.Net.Grads()), make([]float64, len(g)), 0)
		x.Net.Head(x.Work, 2, nil, nil)
		x.Net.Backward(x.Work)
		near(t, name+" before GradOut is set", values(x.Net.Grads()), make([]float64, len(g)), 0)
		for range 2 { // the last run counts
			x.Net.Head(x.Work, 2, nil, nil)
			x.Work.GradOut(2).Set64(x.By[2])
		}
		x.Net.Backward(x.Work)
		once := values(x.Net.Grads())
		clear(x.By[0])
		clear(x.By[1])
		x.Forward()
		near(t, name+" one head", once, x.Backward(), tolerance(e))
		noError(t, e)
	}
}

func TestGraphErrors(t *testing.T) {
	for _, kernels := range graphFamilies() {
		e := New(Options{Kernels: kernels})
		c := netstest.Graphs()["kinds"]
		x, y := mustGraph(t, e, c, 1), mustGraph(t, e, netstest.Graphs()["one kind"], 1)
		unsealed := nets.NewGraphBatch(c.Arch)
		unsealed.AddGraph()
		forward := func() { x.Net.Forward(x.Work, x.Batch, nil) }
		given, extra := x.In[1].Given, x.In[1].Extra
		for i, c := range []struct {
			do   func()
			want []string
		}{
			{func() { x.Net.Forward(x.Work, nil, nil) }, []string{"Forward", "no batch"}},
			{func() { x.Net.Forward(x.Work, unsealed, nil) }, []string{"Forward", "1 graphs", "not sealed"}},
			{func() { x.Net.Forward(x.Work, y.Batch, nil) }, []string{"Forward", "batch was made for nodes [{a 3}]", "want those of graph"}},
			{func() { x.Net.Forward(y.Work, x.Batch, nil) }, []string{"Forward", "Work is not one of graph"}},
			{func() { x.Net.Forward(nil, x.Batch, nil) }, []string{"Forward", "Work"}},
			{func() { x.Net.Head(x.Net.NewWork(), 0, nil, nil) }, []string{"Head", `"which"`, "without a Forward"}},
			{func() { x.Net.Backward(x.Net.NewWork()) }, []string{"Backward", "without a Forward"}},
			{func() { forward(); x.Net.Head(x.Work, 3, nil, nil) }, []string{"Head", "head 3", "one of 3"}},
			{func() { forward(); x.Net.Head(x.Work, 1, nil, extra) }, []string{"Head", `"where"`, "0 lists of given nodes, want 1"}},
			{func() { forward(); x.Net.Head(x.Work, 1, [][]int32{{1}}, extra) }, []string{"Head", `given[0] ("invocation") has 1 rows`, "3 graphs"}},
			{func() { forward(); x.Net.Head(x.Work, 1, [][]int32{{1, 9, 1}}, extra) }, []string{"Head", "names row 9 for graph 1", "[0, 9)"}},
			{func() { forward(); x.Net.Head(x.Work, 1, [][]int32{{1, -2, 1}}, extra) }, []string{"Head", "names row -2"}},
			{func() { forward(); x.Net.Head(x.Work, 1, given, extra[1:]) }, []string{"Head", "5 extra numbers, want 2 for each of 3 graphs"}},
			{func() { x.Work.GradOut(-1) }, []string{"GradOut", "head -1"}},
			{func() { x.Work.Embedding(3) }, []string{"Embedding", "kind 3"}},
			{func() { x.Net.Forward(x.Work, unsealed, nil); e.Err(); x.Net.Backward(x.Work) }, []string{"Backward", "without a Forward"}},
		} {
			c.do()
			wantError(t, e.Err(), append(c.want, "nets/native: ")...)
			if err := e.Err(); err != nil {
				t.Fatalf("case %d: %v", i, err)
			}
		}
		if _, err := e.NewGraphNet(nets.Graph{}); err == nil {
			t.Error("NewGraphNet accepted an empty architecture")
		}
		_, err := New(Options{}).NewAdam(x.Net, nets.Adam{})
		wantError(t, err, "NewAdam", "one of this engine")
		_, err = e.NewAdam((*graphNet[float32])(nil), nets.Adam{})
		wantError(t, err, "NewAdam", "one of this engine")
		if kernels != plain { // plain Go calls the function each time
			wantError(t, e.Record("graph", forward).Run(), "Forward", "within a recorded update")
		}
		debug := New(Options{Kernels: kernels, Debug: true})
		z := mustGraph(t, debug, c, 1)
		wantError(t, debug.Record("graph", func() { z.Net.Forward(z.Work, z.Batch, nil) }).Run(), "Forward", "within a recorded update")
	}
}

// Neither acting nor learning allocates once the largest batch has been seen.
func TestGraphNoAllocation(t *testing.T) {
	for _, name := range []string{"kinds, all on", "wide 64", "many graphs"} {
		c := netstest.Graphs()[name]
		for _, kernels := range graphFamilies() {
			e := New(Options{Kernels: kernels, Threads: 2})
			x := mustGraph(t, e, c, 1)
			small := c
			small.Nodes, small.Edges = c.Nodes[:1], c.Edges[:1]
			y := mustGraph(t, e, small, 1)
			o, err := e.NewAdam(x.Net, nets.Adam{Rate: 1e-3, Clip: 1})
			if err != nil {
				t.Fatal(err)
			}
			once := func(b *nets.GraphBatch, in []netstest.HeadInput) {
				x.Net.Forward(x.Work, b, x.Drop)
				for h := range in {
					x.Net.Head(x.Work, h, in[h].Given, in[h].Extra)
				}
				x.Net.ZeroGrads()
				x.Net.Backward(x.Work)
				o.Advance()
				o.Step()
			}
			noAllocs(t, name+" "+kernels, func() {
				once(x.Batch, x.In)
				once(y.Batch, y.In)
			})
			noError(t, e)
		}
	}
}

// The assemblies give the same bits, on any number of threads.
func TestGraphSameBits(t *testing.T) {
	compared := 0
	for _, name := range graphNames() {
		c := netstest.Graphs()[name]
		var want *netstest.GraphResult
		for _, kernels := range graphFamilies() {
			if kernels == plain || kernels == goTiles {
				continue
			}
			for _, threads := range []int{1, 2, 5} {
				got, err := netstest.RunGraph(New(Options{Kernels: kernels, Threads: threads}), c, 1)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want = &got
				}
				if !reflect.DeepEqual(got, *want) {
					t.Errorf("%s: %s on %d threads gives other bits", name, kernels, threads)
				}
				compared++
			}
		}
	}
	if compared > 0 {
		proof.Claim(t, proof.Row{
			Topic: "numerics", Claim: "networks over graphs: AVX-512 and AVX2 on 1, 2 and 5 threads give the same bits of results, gradients and parameters",
			Bound: "equal", Measured: fmt.Sprintf("%d updates equal", compared), Holds: !t.Failed(), Command: graphCommand("SameBits"),
		})
	}
}
