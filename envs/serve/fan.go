package serve

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/sim"
)

// fan is a visit that has fanned out to tasks.
type fan struct {
	number int32 // of the visit
	tasks  int32 // that it has
	sent   int32 // that have been submitted
	ended  int32
}

// fanOf returns where a node's visit in a request is kept.
func (w *Walk) fanOf(run, node int32) *fan { return &w.fans[int(run)*w.nodes+int(node)] }

// fanOut submits the first tasks of a visit: as many as may run together.
func (w *Walk) fanOut(run, node, number int32, at sim.Time) {
	f := w.flow.Function(int(node))
	p := w.fanOf(run, node)
	if w.gated[f] || len(w.flow.Callees(int(node))) > 0 {
		*p = fan{number: number, tasks: 1, sent: 1}
		if w.gated[f] {
			w.arrive(run, node, number, at)
		} else {
			w.submit(run, node, number, 0, at)
		}
		return
	}
	q := &w.requests[run]
	w.now = Visit{A: q.a, B: q.b, Run: run, Node: node, Function: int32(f), Number: number, Spoilt: q.failed}
	n, together := w.cfg.Hooks.Tasks(&w.now)
	if n < 1 || n > MaxTasks {
		w.fail(fmt.Errorf("serve: a visit of node %q has %d tasks, want 1 to %d", w.flow.NodeName(int(node)), n, MaxTasks))
		n = 1
	}
	if together < 1 || together > n {
		together = n
	}
	*p = fan{number: number, tasks: int32(n), sent: int32(together)}
	for task := range int32(together) {
		w.submit(run, node, number, task, at)
	}
}

// last notes that a task of a visit has ended and submits the next one. It reports whether it was the last.
func (w *Walk) last(run, node int32) bool {
	p := w.fanOf(run, node)
	p.ended++
	if p.sent < p.tasks {
		p.sent++
		w.submit(run, node, p.number, p.sent-1, w.sim.Now()+w.cfg.Hop)
	}
	return p.ended == p.tasks
}
