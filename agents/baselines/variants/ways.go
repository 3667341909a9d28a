package variants

import (
	"slices"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// way is a way through the workflow, without its loops.
type way struct {
	nodes       []int
	functions   []int // of the nodes, each once
	probability float64
}

func waysOf(m *variants.Model) []way {
	g := m.Flow.Graph()
	index := map[string]int{}
	for i, n := range g.Nodes {
		index[n.Name] = i
	}
	var out []way
	var walk func(path []int, p float64)
	walk = func(path []int, p float64) {
		n := path[len(path)-1]
		name := g.Nodes[n].Name
		loops := 0.0
		any := false
		for _, e := range g.Edges {
			if e.From == name && e.Kind == workflow.Loop {
				loops += e.Probability
			}
		}
		for _, e := range g.Edges {
			if e.From != name || e.Kind == workflow.Loop || e.Kind == workflow.Call {
				continue
			}
			q := 1.0
			if e.Kind == workflow.Branch {
				q = e.Probability / (1 - loops)
			}
			if e.To == workflow.End {
				out = append(out, way{nodes: slices.Clone(path), probability: p * q})
				any = true
				continue
			}
			any = true
			walk(append(path, index[e.To]), p*q)
		}
		if !any {
			out = append(out, way{nodes: slices.Clone(path), probability: p})
		}
	}
	walk([]int{m.Flow.Entry()}, 1)
	for i := range out {
		for _, n := range out[i].nodes {
			if f := m.Flow.Function(n); !slices.Contains(out[i].functions, f) {
				out[i].functions = append(out[i].functions, f)
			}
		}
	}
	return out
}

// rank sorts the ways by their weight W = P·Σ ET·NI (eq. 4.6), ascending, at the present choice.
func (l *Planner) rank() {
	runs := l.m.Flow.Executions()
	for i, w := range l.ways {
		var sum float64
		for _, n := range w.nodes {
			f := l.m.Flow.Function(n)
			sum += float64(l.m.Options[f][l.choice[f]].Seconds * runs[n])
		}
		l.ranking[i], l.weight[i] = i, float64(w.probability*sum)
	}
	slices.SortStableFunc(l.ranking, func(a, b int) int {
		switch x, y := l.weight[a], l.weight[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
}

// critical returns the functions of the way of an order: 0 is the heaviest way, or the lightest.
func (l *Planner) critical(order int, lightest bool) []int {
	l.rank()
	if lightest {
		return l.ways[l.ranking[order]].functions
	}
	return l.ways[l.ranking[len(l.ranking)-1-order]].functions
}
