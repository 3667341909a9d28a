//go:build libtorch

package torch

import (
	"fmt"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/netstest"
)

// BenchmarkGraph is inference (a score for each invocation) and a whole training step of a policy over graphs, with the
// CPU's loops over segments and with libtorch's operations, which a GPU uses.
func BenchmarkGraph(b *testing.B) {
	for _, edges := range []int{1_000, 10_000, 100_000} {
		for _, composed := range []bool{false, true} {
			name := fmt.Sprintf("edges=%d/composed=%v/", edges, composed)
			e := newEngine(b, nets.Float32)
			x := benchGraph(b, e, edges)
			composedSegments(composed)
			b.Run(name+"infer", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					x.Net.Forward(x.Work, x.Batch, nil)
					x.Net.Head(x.Work, 0, nil, nil)
				}
			})
			x.Work = x.Net.NewWork()
			adam := must.Get(e.NewAdam(x.Net, nets.Adam{Rate: 1e-4}))(b)
			by := random(e, "by", 1, x.Batch.Nodes[2].Rows(), 1)
			b.Run(name+"step", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					x.Net.Forward(x.Work, x.Batch, nil)
					x.Net.Head(x.Work, 0, nil, nil)
					e.Copy(x.Work.GradOut(0), by)
					x.Net.ZeroGrads()
					x.Net.Backward(x.Work)
					adam.Advance()
					adam.Step()
				}
			})
			composedSegments(false)
			ok(b, e)
		}
	}
}

// benchGraph is one graph with edges of four kinds and, for each eight edges, one node of three kinds.
func benchGraph(b *testing.B, e nets.Engine, edges int) *netstest.GraphSubject {
	b.Helper()
	n := edges / 8
	x := must.Get(netstest.NewGraphSubject(e, netstest.GraphCase{
		Arch: nets.Graph{
			Nodes: []nets.GraphNodes{{Name: "function", Width: 16}, {Name: "resource", Width: 16},
				{Name: "invocation", Width: 16}},
			Edges: []nets.GraphEdges{
				{Name: "dependency", From: 0, To: 0}, {Name: "allocation", From: 2, To: 1},
				{Name: "temporal", From: 2, To: 2}, {Name: "sharing", From: 1, To: 2},
			},
			Hidden: 64, Layers: 2, Skip: true, Norm: nets.LayerNorm,
			Heads: []nets.GraphHead{{Name: "score", Per: 2, Out: 1}},
		},
		Nodes: [][]int{{n / 4, n / 16, n - n/4 - n/16}}, Edges: [][]int{{edges / 4, edges / 4, edges / 4, edges / 4}},
	}, 1))(b)
	return x
}
