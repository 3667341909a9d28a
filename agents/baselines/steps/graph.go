package steps

import "github.com/stoker-rl/stoker/envs/workflow"

// graph is the order of a workflow's steps. Steps are numbered as the workflow's nodes.
type graph struct {
	next, prev [][]int
	order      []int // topological
}

func newGraph(w *workflow.Workflow) graph {
	n := w.NumNodes()
	g := graph{next: make([][]int, n), prev: make([][]int, n), order: w.Order()}
	number := make(map[string]int, n)
	for i := range n {
		number[w.NodeName(i)] = i
	}
	for _, e := range w.Graph().Edges {
		from, ok := number[e.From]
		to, also := number[e.To]
		if ok && also {
			g.next[from], g.prev[to] = append(g.next[from], to), append(g.prev[to], from)
		}
	}
	return g
}

// chain reports whether each step has at most one step before and one after it.
func (g *graph) chain() bool {
	for i := range g.next {
		if len(g.next[i]) > 1 || len(g.prev[i]) > 1 {
			return false
		}
	}
	return true
}

// after writes for each step the time of the longest path from its start to the end, and returns the longest one.
func (g *graph) after(dst, times []float64) float64 {
	longest := 0.0
	for k := len(g.order) - 1; k >= 0; k-- {
		v := g.order[k]
		rest := 0.0
		for _, w := range g.next[v] {
			rest = max(rest, dst[w])
		}
		dst[v] = times[v] + rest
		longest = max(longest, dst[v])
	}
	return longest
}
