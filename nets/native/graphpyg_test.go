package native_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Embeddings, scores, value and the gradient w.r.t. every parameter agree with PyTorch Geometric's from the same
// parameters and graph (recorded by testdata/graph_pyg.py).
func TestGraphIsPyTorchGeometrics(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/graph_pyg.json"))(t)
	var golden struct {
		Versions                      map[string]string
		Features, Embeddings          [][]float64
		From, To                      [][]int32
		Parameters, Gradients, Scores []float64
		Value                         float64
	}
	must.Do(t, json.Unmarshal(text, &golden))
	a := nets.Graph{
		Nodes: []nets.GraphNodes{{Name: "function", Width: 3}, {Name: "resource", Width: 3}, {Name: "invocation", Width: 3}},
		Edges: []nets.GraphEdges{
			{Name: "dependency", From: 0, To: 0}, {Name: "allocation", From: 2, To: 1},
			{Name: "temporal", From: 2, To: 2}, {Name: "sharing", From: 1, To: 2},
		},
		Hidden: 4, Layers: 2, Skip: true, Norm: nets.LayerNorm,
		Heads: []nets.GraphHead{{Name: "score", Per: 2, Out: 1}, {Name: "value", Per: nets.WholeGraph, Out: 1}},
	}
	b := nets.NewGraphBatch(a)
	b.AddGraph()
	for k, x := range golden.Features {
		f := make([]float32, len(x))
		for i, v := range x {
			f[i] = float32(v)
		}
		must.Do(t, b.AddNodes(k, f))
	}
	for k := range a.Edges {
		must.Do(t, b.AddEdges(k, golden.From[k], golden.To[k], nil))
	}
	b.Seal()
	for name, e := range graphEngines() {
		n := must.Get(e.NewGraphNet(a))(t)
		tol := 2e-5 // float32; PyTorch ran in double precision
		if e.Info().DType == nets.Float64.String() {
			tol = 1e-12
		}
		n.Params().Set64(golden.Parameters)
		w := n.NewWork()
		n.Forward(w, b, nil)
		scores, v := values(n.Head(w, 0, nil, nil)), values(n.Head(w, 1, nil, nil))
		for k, x := range golden.Embeddings {
			near(t, name+": embedding", values(w.Embedding(k)), x, tol)
		}
		near(t, name+": scores", scores, golden.Scores, tol)
		near(t, name+": value", v, []float64{golden.Value}, tol)
		sum := 0.0
		for _, x := range scores {
			sum += math.Exp(x)
		}
		for i, x := range scores {
			scores[i] = math.Exp(x) / sum
		}
		scores[2]--
		w.GradOut(0).Set64(scores)
		w.GradOut(1).Set64([]float64{2 * (v[0] - 1)})
		n.Backward(w)
		near(t, name+": gradient", values(n.Grads()), golden.Gradients, tol)
		noError(t, e)
	}
	proof.Claim(t, proof.Row{
		Topic: "numerics", Claim: "a graph policy against PyTorch Geometric " + golden.Versions["torch_geometric"] + ": embeddings, scores, value and gradients by all parameters",
		Bound: "1e-12 of the largest in float64, 2e-5 in float32", Measured: "within, on every family of kernels",
		Holds:   !t.Failed(),
		Command: "go test ./nets/native -run GraphIsPyTorchGeometrics -v",
	})
}
