package serve

import (
	"math/bits"

	"github.com/stoker-rl/stoker/envs/sim"
)

// gate limits the requests inside a function that calls others. A request holds its place until its calls have
// returned, but the simulator's instances free theirs when the function's own work ends.
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

// Inside returns how many requests hold a place at a function with a gate, or wait for one.
func (w *Walk) Inside(function int) int {
	g := &w.gates[function]
	return g.taken + len(g.queue) - g.head
}

// visit returns where the time is kept at which a visit of a gated function arrives.
func (w *Walk) visit(run, node int32) *sim.Time { return &w.visited[int(run)*w.nodes+int(node)] }

// arrive lets a visit through its function's gate, or puts it in line.
func (w *Walk) arrive(run, node, number int32, at sim.Time) {
	f := w.flow.Function(int(node))
	*w.visit(run, node) = at
	g := &w.gates[f]
	if g.taken >= w.cfg.Hooks.Places(f) {
		g.push(tagOf(run, node, number, w.requests[run].use))
		return
	}
	w.enter(g, run, node)
	w.submit(run, node, number, 0, at)
}

func (w *Walk) enter(g *gate, run, node int32) {
	g.taken++
	p, bit := w.place(run, node)
	*p |= bit
}

// place returns the word of a request's bit set that has a node, and the node's bit.
func (w *Walk) place(run, node int32) (word *uint64, bit uint64) {
	return &w.held[int(run)*w.words+int(node)/64], 1 << (node % 64)
}

// leave frees a request's place and lets the next waiting request in.
func (w *Walk) leave(run, node int32) {
	p, bit := w.place(run, node)
	if *p&bit == 0 {
		return
	}
	*p &^= bit
	f := w.flow.Function(int(node))
	w.gates[f].taken--
	w.OpenGate(f)
}

// leaveAll frees all places of a request.
func (w *Walk) leaveAll(run int32) {
	for i := range w.words {
		for {
			p := w.held[int(run)*w.words+i]
			if p == 0 {
				break
			}
			w.leave(run, int32(64*i+bits.TrailingZeros64(p)))
		}
	}
}

// OpenGate lets waiting requests in while a function has places. Call it after the function has got more.
func (w *Walk) OpenGate(function int) {
	g := &w.gates[function]
	for len(g.queue) > 0 && g.taken < w.cfg.Hooks.Places(function) {
		run, node, number, use := untag(g.pop())
		if w.requests[run].use&useMask != use {
			continue
		}
		w.enter(g, run, node)
		w.submit(run, node, number, 0, max(w.sim.Now(), *w.visit(run, node)))
	}
}
