package bench

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs/workflow"
)

// worstGraph is SLApp's worst case: each of n nodes leads back to itself and to every one before it, node i to each with
// probability 0.9/(i+1), rounded to four digits as SLApp does, and on.
func worstGraph(n int) workflow.Graph {
	g := workflow.Graph{Name: "worst", Entry: "1"}
	for i := 1; i <= n; i++ {
		name := fmt.Sprint(i)
		g.Nodes = append(g.Nodes, workflow.Node{Name: name})
		back := math.Round(0.9/float64(i+1)*1e4) / 1e4
		for j := 1; j <= i; j++ {
			g.Edges = append(g.Edges, workflow.Edge{From: name, To: fmt.Sprint(j), Kind: workflow.Loop, Probability: back})
		}
		to := fmt.Sprint(i + 1)
		if i == n {
			to = workflow.End
		}
		g.Edges = append(g.Edges, workflow.Edge{From: name, To: to, Kind: workflow.Branch, Probability: 1 - float64(i)*back})
	}
	return g
}

// planWorst measures the response time of that graph with 128 nodes, from the graph's description on.
func planWorst(o Options, emit func(Result)) error {
	const nodes = 128
	g := worstGraph(nodes)
	times := make([]float64, nodes)
	for i := range times {
		times[i] = 0.1
	}
	return o.planned("worst graph", 1, emit, func() error {
		w, err := g.Compile()
		if err != nil {
			return err
		}
		w.Response(times, workflow.StepFunctions(workflow.Published))
		return nil
	})
}
