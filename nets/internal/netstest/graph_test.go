package netstest_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
	"github.com/stoker-rl/stoker/nets/native"
)

// defectiveGraph is the native engine with one number of a gradient a little wrong.
type defectiveGraph struct{ nets.Engine }

func (d defectiveGraph) NewGraphNet(a nets.Graph) (nets.GraphNet, error) {
	n, err := d.Engine.NewGraphNet(a)
	return defectiveGraphNet{n, d.Engine}, err
}

type defectiveGraphNet struct {
	nets.GraphNet
	e nets.Engine
}

func (n defectiveGraphNet) Backward(w nets.GraphWork) {
	n.GraphNet.Backward(w)
	g := make([]float64, nets.Size(n.Grads()))
	n.Grads().Get64(g)
	largest := slices.MaxFunc(g, func(a, b float64) int { return int(math.Copysign(1, math.Abs(a)-math.Abs(b))) })
	g[len(g)/3] += defect * math.Abs(largest)
	n.Grads().Set64(g)
}

// A gradient wrong by a millionth is found, though shorter steps are tried where ReLU bends.
func TestGraphDefectsAreFound(t *testing.T) {
	all := must.Get(netstest.GraphGradients(defectiveGraph{newNative(nets.Float64)}))(t)
	for _, g := range all {
		if !(g.Error > 0.9*defect && g.Error < 1.1*defect) {
			t.Errorf("%v, want %g of the largest", g, defect)
		}
	}
	if _, err := netstest.GraphGradients(newNative(nets.Float32)); err == nil || !strings.Contains(err.Error(), "want float64") {
		t.Errorf("float32: error %v", err)
	}
}

// The cases have what they are there for.
func TestGraphs(t *testing.T) {
	var noEdges, lonely, emptyKind, features, given, none bool
	for name, c := range netstest.Graphs() {
		if err := c.Arch.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		b, err := c.Batch(1)
		if err != nil || b.Graphs() != len(c.Nodes) || !b.Sealed() {
			t.Errorf("%s: %d graphs, %v", name, b.Graphs(), err)
			continue
		}
		for k, e := range c.Arch.Edges {
			x := b.Edges[k]
			noEdges = noEdges || len(x.From) == 0
			features = features || len(x.Features) > 0
			for v := range len(x.In) - 1 {
				lonely = lonely || len(x.From) > 0 && x.In[v] == x.In[v+1]
			}
			if len(x.Features) != len(x.From)*e.Width {
				t.Errorf("%s: %d features of %d edges", name, len(x.Features), len(x.From))
			}
		}
		for _, nodes := range c.Nodes {
			emptyKind = emptyKind || slices.Contains(nodes, 0)
		}
		for _, in := range c.Inputs(b, 1) {
			for _, rows := range in.Given {
				given = given || slices.Max(rows) >= 0
				none = none || slices.Min(rows) == -1
			}
		}
	}
	if !noEdges || !lonely || !emptyKind || !features || !given || !none {
		t.Errorf("no edges %t, nodes without %t, kinds without nodes %t, features %t, given %t and not %t: want all",
			noEdges, lonely, emptyKind, features, given, none)
	}
}

func TestApart(t *testing.T) {
	r := func(x float64) netstest.GraphResult {
		return netstest.GraphResult{
			Heads: [][]float64{{x, 2}}, Embeddings: [][]float64{{4}}, Pooled: []float64{1},
			Grads: []float64{1, 1e-6 * x}, Params: []float64{3, 3 + 100*x},
		}
	}
	if v, g, p := r(1).Apart(r(1.5)); v != 0.25 || math.Abs(g-0.5e-6) > 1e-12 || p != 0 {
		t.Errorf("apart by %g, %g, %g, want 0.25, 5e-7 and nothing where the gradient is all but zero", v, g, p)
	}
	if v, _, _ := r(1).Apart(netstest.GraphResult{}); !math.IsInf(v, 1) {
		t.Errorf("apart from nothing by %g", v)
	}
}

func ExampleGraphGradients() {
	all, err := netstest.GraphGradients(native.New(native.Options{DType: nets.Float64}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(netstest.Worst(all).Error < 1e-8)
	// Output: true
}
