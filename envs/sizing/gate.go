package sizing

import "github.com/stoker-rl/stoker/envs/sim"

// gate lets as many requests into a function that calls others as it has places, and holds their places until the calls have
// returned; the simulator's instances would give them up at the end of the function's own work.
type gate struct {
	taken int
	queue []uint64 // tags of visits, from head
	head  int
}

func (g *gate) push(tag uint64) {
	if g.head > 0 && len(g.queue) == cap(g.queue) {
		g.queue = g.queue[:copy(g.queue, g.queue[g.head:])]
		g.head = 0
	}
	g.queue = append(g.queue, tag)
}

func (g *gate) pop() uint64 {
	g.head++
	t := g.queue[g.head-1]
	if g.head == len(g.queue) {
		g.queue, g.head = g.queue[:0], 0
	}
	return t
}

func (g *gate) clear() { g.taken, g.queue, g.head = 0, g.queue[:0], 0 }

// places is the number of requests that a function's instances hold.
func (e *Env) places(f int) int { return e.inForce[f].Replicas * e.inForce[f].Concurrency }

// visit is when a visit of a gated function began.
func (e *Env) visit(run, node int32) *sim.Time {
	return &e.visited[int(run)*e.app.flow.NumNodes()+int(node)]
}

func (e *Env) enter(g *gate, run, node int32) {
	g.taken++
	e.requests[run].held |= 1 << node
}

// leave gives a request's place back, and the next in line its turn.
func (e *Env) leave(run, node int32) {
	q := &e.requests[run]
	if q.held>>node&1 == 0 {
		return
	}
	q.held &^= 1 << node
	f := e.app.flow.Function(int(node))
	e.gates[f].taken--
	e.openGate(f)
}

// openGate lets in who waits while there are places.
func (e *Env) openGate(f int) {
	g := &e.gates[f]
	for len(g.queue) > 0 && g.taken < e.places(f) {
		run, node, number, use := untag(g.pop())
		if e.requests[run].use&useMask != use {
			continue
		}
		e.enter(g, run, node)
		e.submit(run, node, number, max(e.sim.Now(), *e.visit(run, node)))
	}
}
