package variants

import (
	"slices"

	"github.com/stoker-rl/stoker/envs/variants"
	"github.com/stoker-rl/stoker/envs/workflow"
)

// maxWays is the most ways that a search looks at. Of a workflow with more it takes the heaviest at the smallest sizes.
const maxWays = 1024

// way is a way through the workflow, without its loops.
type way struct {
	nodes       []int
	functions   []int // of the nodes and of what they call, each once
	probability float64
}

// waysOf returns a model's ways, depth first. choice says which are the heaviest where there are too many.
func waysOf(m *variants.Model, choice []int) []way {
	var out []way
	add := func(nodes []int, probability float64) {
		w := way{nodes: nodes, probability: probability}
		for _, n := range nodes {
			w.call(m.Flow, n)
		}
		out = append(out, w)
	}
	if paths, err := m.Flow.Paths(maxWays); err == nil {
		for _, p := range paths {
			add(p.Nodes, p.Probability)
		}
		return out
	}
	times := make([]float64, m.Flow.NumNodes())
	for n := range times {
		f := m.Flow.Function(n)
		times[n] = m.Options[f][choice[f]].Seconds
	}
	for i, w := range m.Flow.Ways(times, workflow.Delays{}) {
		if i == maxWays {
			break
		}
		add(w.Nodes, w.Probability)
	}
	return out
}

// call adds the function of a node and of what it calls.
func (w *way) call(flow *workflow.Workflow, n int) {
	if f := flow.Function(n); !slices.Contains(w.functions, f) {
		w.functions = append(w.functions, f)
	}
	for _, c := range flow.Callees(n) {
		w.call(flow, int(c))
	}
}

// rank sorts the ways by their weight W = P·Σ ET·NI (eq. 4.6), ascending, at the present choice. Platform delays do not
// count in W.
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
	slices.SortStableFunc(l.ranking, l.lighter)
}

// critical returns the functions of the way of an order: 0 is the heaviest way, or the lightest.
func (l *Planner) critical(order int, lightest bool) []int {
	l.rank()
	if lightest {
		return l.ways[l.ranking[order]].functions
	}
	return l.ways[l.ranking[len(l.ranking)-1-order]].functions
}
