package netstest

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

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
