package workflow

import (
	"math"
	"slices"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

func compile(t testing.TB, g Graph) *Workflow {
	t.Helper()
	w := must.Get(g.Compile())(t)
	return w
}

func node(t testing.TB, w *Workflow, name string) int {
	t.Helper()
	for n := range w.NumNodes() {
		if w.NodeName(n) == name {
			return n
		}
	}
	t.Fatalf("workflow %q has no node %q", w.Name(), name)
	return -1
}

// simulate serves requests one after another on machines without queues, every visit taking its node's time, and
// returns the mean response time and the mean visits per node.
func simulate(t testing.TB, w *Workflow, times []float64, requests int) (response float64, visits []float64) {
	t.Helper()
	type event struct {
		at   float64
		node int32
	}
	visits = make([]float64, w.NumNodes())
	tr := NewTracker(w, 5)
	var step Step
	for k := range requests {
		var pending []event
		now := 0.0
		add := func() {
			for _, v := range step.Start {
				pending = append(pending, event{now + times[v.Node], v.Node})
				visits[v.Node]++
			}
		}
		run := tr.Begin(0, uint64(k), &step)
		for add(); !step.Finished; add() {
			if len(pending) == 0 {
				t.Fatalf("request %d waits for nothing", k)
			}
			i := 0
			for j := range pending {
				if pending[j].at < pending[i].at {
					i = j
				}
			}
			e := pending[i]
			pending = slices.Delete(pending, i, i+1)
			now = e.at
			must.Do(t, tr.Done(run, e.node, &step))
		}
		if len(pending) != 0 {
			t.Fatalf("request %d finished with %d visits at work", k, len(pending))
		}
		response += now
	}
	if tr.Live() != 0 {
		t.Fatalf("%d requests left in flight", tr.Live())
	}
	for i := range visits {
		visits[i] /= float64(requests)
	}
	return response / float64(requests), visits
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }
