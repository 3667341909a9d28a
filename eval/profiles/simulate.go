package profiles

import (
	"container/heap"
	"slices"

	"github.com/stoker-rl/stoker/envs/workflow"
	"github.com/stoker-rl/stoker/rng"
)

// simulate draws response times in seconds of so many requests that wait in no queue, ascending. Draws are keyed by seed,
// request, node and number of the run, so that two subjects with one seed differ by their laws and delays alone.
func (s *Subject) simulate(requests int, seed uint64) ([]float64, error) {
	if err := s.Flow.Walkable(); err != nil {
		return nil, err
	}
	t := workflow.NewTracker(s.Flow, seed)
	key := rng.New(seed, "profiles/check")
	ends := make([]bool, s.Flow.NumNodes())
	g := s.Flow.Graph()
	for _, e := range g.Edges {
		if e.To == workflow.End {
			ends[slices.IndexFunc(g.Nodes, func(n workflow.Node) bool { return n.Name == e.From })] = true
		}
	}
	out := make([]float64, requests)
	var step workflow.Step
	var queue events
	for r := range requests {
		draws := key.With(uint64(r))
		start := func(now float64) {
			for _, v := range step.Start {
				u := draws.With(uint64(v.Node)).With(uint64(v.Number)).Float64()
				f := &s.Functions[s.Flow.Function(int(v.Node))]
				heap.Push(&queue, event{now + f.Law.Quantile(u) + s.Delays.Node, v.Node})
			}
		}
		run := t.Begin(0, uint64(r), &step)
		queue = queue[:0]
		start(0)
		var last float64
		for len(queue) > 0 {
			e := heap.Pop(&queue).(event)
			if err := t.Done(run, e.node, &step); err != nil {
				return nil, err
			}
			done := e.at
			if len(step.Start) == 0 && ends[e.node] {
				done += s.Delays.Edge
			}
			last = max(last, done)
			start(e.at + s.Delays.Edge)
		}
		out[r] = last
	}
	slices.Sort(out)
	return out, nil
}

// event is the end of a node's own work.
type event struct {
	at   float64
	node int32
}

// events is a heap by time, then node.
type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].node < e[j].node
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	*e = old[:len(old)-1]
	return x
}
