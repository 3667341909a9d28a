package core

import (
	"github.com/stoker-rl/stoker/nets"
)

// Engine implements [nets.Engine] by a backend.
type Engine[X Tensor] struct {
	*State
	dtype  nets.DType
	back   Backend[X]
	graphs Graphs[X]
	loss   LossCall[X] // the one being computed
}

// New returns an engine that computes in a number format.
func New[X Tensor](s *State, dtype nets.DType, back Backend[X], graphs Graphs[X]) *Engine[X] {
	return &Engine[X]{State: s, dtype: dtype, back: back, graphs: graphs}
}

// Info implements [nets.Engine].
func (e *Engine[X]) Info() nets.Info {
	i := nets.Info{Name: "native", Device: "cpu", DType: e.dtype.String()}
	i.Threads, i.Kernels = e.back.Info()
	return i
}

// Close implements [nets.Engine]. There is nothing to free.
func (e *Engine[X]) Close() error { return nil }

// Gumbel sets dst to standard Gumbel noise by as many random words: −ln(−ln u) with u = (word>>9 + ½)/2²³. It
// is for callers who draw much noise at once; its last bits are those of the engine's kernels.
func (e *Engine[X]) Gumbel(dst []float32, words []uint32) { e.back.Gumbel(dst, words) }

// Parallel does parts 0 … parts−1 of what must be done between updates, such as copying a minibatch, on the
// engine's threads, and returns when all are done: part i on worker w < Workers, and no two parts on one worker
// at once. As many threads take part as the last recorded update took. The order of the parts is not said.
func (e *Engine[X]) Parallel(parts int, part func(i, w int)) { e.back.Parallel(parts, part) }

// Workers is how many parts of Parallel may run at once.
func (e *Engine[X]) Workers() int {
	n, _ := e.back.Info()
	return n
}

// Copy implements [nets.Engine].
func (e *Engine[X]) Copy(dst, src nets.Tensor) {
	d, s, ok := e.pair("Copy", dst, src)
	if !ok {
		return
	}
	if e.debug {
		e.trace.add("Copy to %v from %v", d, s)
	}
	e.back.Copy(d, s)
}

// Add implements [nets.Engine].
func (e *Engine[X]) Add(dst nets.Tensor, scale float64, src nets.Tensor) {
	d, s, ok := e.pair("Add", dst, src)
	if !ok {
		return
	}
	if e.debug {
		e.trace.add("Add to %v %g times %v", d, scale, s)
	}
	e.back.Add(d, scale, s)
}

// Lerp implements [nets.Engine].
func (e *Engine[X]) Lerp(dst, src nets.Tensor, t float64) {
	d, s, ok := e.pair("Lerp", dst, src)
	if !ok {
		return
	}
	if e.debug {
		e.trace.add("Lerp of %v towards %v by %g", d, s, t)
	}
	e.back.Lerp(d, s, t)
}

// TDTarget implements [nets.Engine].
func (e *Engine[X]) TDTarget(y, r, discount, q nets.Tensor) {
	const op = "TDTarget"
	ty, ok := e.take(op, "y", y)
	if !ok {
		return
	}
	tr, okR := e.alike(op, "r", r, ty)
	td, okD := e.alike(op, "discount", discount, ty)
	tq, okQ := e.alike(op, "q", q, ty)
	if !okR || !okD || !okQ {
		return
	}
	if e.debug {
		e.trace.add("TDTarget %v from %v, %v, %v", ty, tr, td, tq)
	}
	e.back.TDTarget(ty, tr, td, tq)
}
