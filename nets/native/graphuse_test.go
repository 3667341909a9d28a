package native_test

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/nets/native"
)

// A used Work gives the same bits as a new one.
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

// Backward adds to gradients. Heads that have not run are ignored, and their GradOut is nil.
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
		for range 2 { // Backward uses the last run
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
		e := native.New(native.Options{Kernels: kernels})
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
			{func() { x.Net.Forward(x.Work, unsealed, nil) }, []string{"Forward", "graph", "not sealed, want Seal"}},
			{func() { x.Net.Forward(x.Work, y.Batch, nil) },
				[]string{"Forward", "graph", "the batch is for nodes [{a 3}]", "want those of the network: [{"}},
			{func() { x.Net.Forward(y.Work, x.Batch, nil) }, []string{"Forward", "Work is not one of graph"}},
			{func() { x.Net.Forward(nil, x.Batch, nil) }, []string{"Forward", "Work"}},
			{func() { x.Net.Head(x.Net.NewWork(), 0, nil, nil) }, []string{"Head", `"which"`, "without a Forward"}},
			{func() { x.Net.Backward(x.Net.NewWork()) }, []string{"Backward", "without a Forward"}},
			{func() { forward(); x.Net.Head(x.Work, 3, nil, nil) }, []string{"Head", "head 3", "one of 3"}},
			{func() { forward(); x.Net.Head(x.Work, 1, nil, extra) },
				[]string{"Head", `"where" with 0 lists of given nodes`, "want 1"}},
			{func() { forward(); x.Net.Head(x.Work, 1, [][]int32{{1}}, extra) },
				[]string{"Head", `"where": list 0 of given nodes has 1`, "3 graphs"}},
			{func() { forward(); x.Net.Head(x.Work, 1, [][]int32{{1, 9, 1}}, extra) },
				[]string{"Head", `graph 1 is given node 9 of kind "invocation", want one below 9`}},
			{func() { forward(); x.Net.Head(x.Work, 1, [][]int32{{1, -2, 1}}, extra) }, []string{"Head", "is given node -2"}},
			{func() { forward(); x.Net.Head(x.Work, 1, given, extra[1:]) },
				[]string{"Head", "5 extra numbers, want 1 and 2 for each of 3 graphs"}},
			{func() { x.Work.GradOut(-1) }, []string{"GradOut", "head -1"}},
			{func() { x.Work.Embedding(3) }, []string{"Embedding", "kind 3"}},
			{func() { x.Net.Forward(x.Work, unsealed, nil); e.Err(); x.Net.Backward(x.Work) },
				[]string{"Backward", "without a Forward"}},
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
		_, err := native.New(native.Options{}).NewAdam(x.Net, nets.Adam{})
		wantError(t, err, "NewAdam", "one of this engine")
		_, err = e.NewAdam(nil, nets.Adam{})
		wantError(t, err, "NewAdam", "one of this engine")
		if kernels != native.Go { // plain Go calls the function each time
			wantError(t, e.Record("graph", forward).Run(), "Forward", "within a recorded update")
		}
		debug := native.New(native.Options{Kernels: kernels, Debug: true})
		z := mustGraph(t, debug, c, 1)
		wantError(t, debug.Record("graph", func() { z.Net.Forward(z.Work, z.Batch, nil) }).Run(), "Forward",
			"within a recorded update")
	}
}

// Neither acting nor learning allocates after the largest batch.
func TestGraphNoAllocation(t *testing.T) {
	for _, name := range []string{"kinds, all on", "wide 64", "many graphs"} {
		c := netstest.Graphs()[name]
		for _, kernels := range graphFamilies() {
			e := native.New(native.Options{Kernels: kernels, Threads: 2})
			x := mustGraph(t, e, c, 1)
			small := c
			small.Nodes, small.Edges = c.Nodes[:1], c.Edges[:1]
			y := mustGraph(t, e, small, 1)
			o := must.Get(e.NewAdam(x.Net, nets.Adam{Rate: 1e-3, Clip: 1}))(t)
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

// A batch without graphs has results without rows; graphs without nodes have finite values.
func TestGraphEmpty(t *testing.T) {
	c := netstest.Graphs()["kinds, all on"]
	for _, graphs := range []int{0, 2} {
		c.Nodes, c.Edges = make([][]int, graphs), make([][]int, graphs)
		for i := range graphs {
			c.Nodes[i], c.Edges[i] = make([]int, 3), make([]int, 4)
		}
		for name, e := range graphEngines() {
			x := mustGraph(t, e, c, 1)
			heads := x.Forward()
			if len(heads[0]) != 0 || len(heads[1]) != 0 || len(heads[2]) != graphs {
				t.Errorf("%s: %d graphs without nodes have results %v", name, graphs, heads)
			}
			for _, v := range x.Backward() {
				if math.IsNaN(v) {
					t.Fatalf("%s: a gradient of nothing is NaN", name)
				}
			}
			noError(t, e)
		}
	}
}

// Concurrent passes with a Work each give the same numbers.
func TestGraphConcurrentForward(t *testing.T) {
	c := netstest.Graphs()["wide 64"]
	for _, kernels := range graphFamilies() {
		e := native.New(native.Options{Kernels: kernels})
		x := mustGraph(t, e, c, 1)
		want := x.Forward()
		var wg sync.WaitGroup
		got := make([][][]float64, 4)
		for i := range got {
			wg.Go(func() {
				w := x.Net.NewWork()
				for range 5 {
					x.Net.Forward(w, x.Batch, x.Drop)
					got[i] = nil
					for h, in := range x.In {
						got[i] = append(got[i], values(x.Net.Head(w, h, in.Given, in.Extra)))
					}
				}
			})
		}
		wg.Wait()
		noError(t, e)
		for _, heads := range got {
			for h := range want {
				near(t, kernels, heads[h], want[h], 0)
			}
		}
	}
}
