package sizing

import "github.com/stoker-rl/stoker/envs/sim"

// gate limits the requests inside a function that calls others. A request holds its slot until its calls have returned,
// but the simulator's instances free the slot when the function's own work ends.
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

// places is the number of requests that a function's instances can hold.
func (e *Env) places(f int) int { return e.inForce[f].Replicas * e.inForce[f].Concurrency }

// visit returns where the start time of a visit of a gated function is stored.
func (e *Env) visit(run, node int32) *sim.Time {
	return &e.visited[int(run)*e.app.flow.NumNodes()+int(node)]
}

func (e *Env) enter(g *gate, run, node int32) {
	g.taken++
	e.requests[run].held |= 1 << node
}

// leave frees a request's slot and lets the next waiting request in.
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

// openGate lets waiting requests in while there are free slots.
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
