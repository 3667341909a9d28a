package native_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native"
	"github.com/stoker-rl/stoker/rng"
)

// A network that scores jobs and, for the job that was chosen, the nodes that it may run on.
func Example_graph() {
	a := nets.Graph{
		Nodes:  []nets.GraphNodes{{Name: "job", Width: 1}, {Name: "node", Width: 2}},
		Edges:  []nets.GraphEdges{{Name: "after", From: 0, To: 0}, {Name: "fits", From: 0, To: 1}},
		Hidden: 8, Layers: 2, Skip: true, Norm: nets.LayerNorm,
		Heads: []nets.GraphHead{{Name: "which", Per: 0, Out: 1}, {Name: "where", Per: 1, Given: []int{0}, Out: 1}},
	}
	b := nets.NewGraphBatch(a)
	b.AddGraph()
	if err := b.AddNodes(0, []float32{3, 1, 2}); err != nil {
		fmt.Println(err)
	}
	if err := b.AddNodes(1, []float32{4, 16, 8, 8}); err != nil {
		fmt.Println(err)
	}
	if err := b.AddEdges(0, []int32{0}, []int32{2}, nil); err != nil {
		fmt.Println(err)
	}
	if err := b.AddEdges(1, []int32{0, 1, 1}, []int32{0, 0, 1}, nil); err != nil {
		fmt.Println(err)
	}
	b.Seal()

	e := native.New(native.Options{})
	n, err := e.NewGraphNet(a)
	if err != nil {
		fmt.Println(err)
		return
	}
	n.Params().Set(nets.InitialParams(a, rng.New(1, "example")))
	w := n.NewWork()
	n.Forward(w, b, nil)
	which := n.Head(w, 0, nil, nil)
	where := n.Head(w, 1, [][]int32{{1}}, nil) // given job 1
	fmt.Println("scores of jobs", which.Shape(), "and of nodes", where.Shape(), e.Err())
	// Output: scores of jobs [1 3 1] and of nodes [1 2 1] <nil>
}
