package sizing

import (
	"math/bits"

	"github.com/stoker-rl/stoker/envs/sim"
)

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
	w, bit := e.slot64(run, node)
	*w |= bit
}

// words is the number of words in the bit set of the nodes whose gate a request has entered and not left; 0 where no
// function has a gate.
func (a *app) words() int {
	if !a.anyGated() {
		return 0
	}
	return (a.flow.NumNodes() + 63) / 64
}

// slot64 returns the word of a request's bit set that has a node, and the node's bit.
func (e *Env) slot64(run, node int32) (word *uint64, bit uint64) {
	return &e.held[int(run)*e.app.words()+int(node)/64], 1 << (node % 64)
}

// leaveAll frees all slots of a request.
func (e *Env) leaveAll(run int32) {
	n := e.app.words()
	for i := range n {
		for {
			w := e.held[int(run)*n+i]
			if w == 0 {
				break
			}
			e.leave(run, int32(64*i+bits.TrailingZeros64(w)))
		}
	}
}

// leave frees a request's slot and lets the next waiting request in.
func (e *Env) leave(run, node int32) {
	w, bit := e.slot64(run, node)
	if *w&bit == 0 {
		return
	}
	*w &^= bit
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
