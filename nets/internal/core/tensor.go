package core

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// Tensor is a backend's tensor: a pointer to a struct that embeds [Header].
type Tensor interface {
	comparable
	nets.Tensor
	// Resize gives a tensor of [1, rows, width] another number of rows, in the memory that it has where that is
	// enough. What it holds afterwards is not said.
	Resize(rows int)
	// Clear sets all values to 0.
	Clear()
	// Len is the number of values, without padding.
	Len() int
	// ID tells tensors of one engine apart in errors.
	ID() int64
	// Usable says whether the tensor may be an operand of an engine with this state; where not it stores the failure, in
	// which the operand is called what.
	Usable(s *State, op, what string) bool
}

// Header is what core knows of a tensor. Backends' tensors embed it.
type Header struct {
	state *State
	id    int64
	shape []int
	n     int
}

// Header returns what is known of a new tensor of the shape.
func (s *State) Header(shape ...int) Header {
	h := Header{state: s, id: s.ids.Add(1), shape: slices.Clone(shape), n: 1}
	for _, d := range shape {
		h.n *= d
	}
	return h
}

// Shape implements [nets.Tensor].
func (h *Header) Shape() []int { return h.shape }

// Len implements [Tensor].
func (h *Header) Len() int { return h.n }

// ID implements [Tensor].
func (h *Header) ID() int64 { return h.id }

// Usable implements [Tensor]: Go's memory may be shared between engines.
func (h *Header) Usable(*State, string, string) bool { return true }

// Width is the size of the last dimension.
func (h *Header) Width() int { return h.shape[len(h.shape)-1] }

// String names the tensor in errors.
func (h *Header) String() string { return fmt.Sprintf("tensor %d %v", h.id, h.shape) }

// SetRows changes the number of rows of a header of [1, rows, width].
func (h *Header) SetRows(rows int) {
	h.shape[1] = rows
	h.n = rows * h.shape[2]
}

// Host says whether n values may pass between the host and the tensor; where not it stores the failure.
func (h *Header) Host(op string, n int) bool {
	switch {
	case h.state.Stopped(op):
		return false
	case n != h.n:
		h.state.Fail(op, "%d values for a tensor of shape %v, want %d", n, h.shape, h.n)
		return false
	case h.state.recording():
		h.state.Fail(op, "%v within a recorded update, want it set or read outside", h)
		return false
	}
	return true
}

// Block is samples [Row, Row+Rows) and features [From, From+Width) of one agent in a tensor of [agents, batch, width].
type Block struct{ Agent, Row, Rows, From, Width int }

// within says whether a block lies in a tensor.
func (h *Header) within(b Block) bool {
	return len(h.shape) == 3 && b.Agent >= 0 && b.Row >= 0 && b.Rows >= 0 && b.From >= 0 && b.Width >= 0 &&
		b.Agent < h.shape[0] && b.Row+b.Rows <= h.shape[1] && b.From+b.Width <= h.shape[2]
}

// HostBlock says whether a block's values may pass to the tensor from an array of n values in which rows lie
// stride values apart; where not it stores the failure. An empty block is false without one.
func (h *Header) HostBlock(op string, b Block, n, stride int) bool {
	if !h.Host(op, h.n) || b.Rows == 0 || b.Width == 0 {
		return false
	}
	if !h.within(b) || stride < 0 || n < (b.Rows-1)*stride+b.Width {
		h.state.Fail(op, "agent %d, samples %d to %d, features %d to %d from %d values in steps of %d for %v, "+
			"want what is in both",
			b.Agent, b.Row, b.Row+b.Rows, b.From, b.From+b.Width, n, stride, h)
		return false
	}
	return true
}

// HostRows says whether n values may pass to the host from all features of an agent's samples; where not it
// stores the failure. No samples are false without one.
func (h *Header) HostRows(op string, agent, row, rows, n int) bool {
	if !h.Host(op, h.n) || rows == 0 {
		return false
	}
	if len(h.shape) != 3 || !h.within(Block{agent, row, rows, 0, h.shape[2]}) || n != rows*h.shape[2] {
		h.state.Fail(op, "agent %d, samples %d to %d to %d values from %v, want what is in it", agent, row, row+rows, n, h)
		return false
	}
	return true
}

// NewTensor implements [nets.Engine]. A wrong shape is reported by Err, and the tensor is empty.
func (e *Engine[X]) NewTensor(shape ...int) nets.Tensor {
	if e.debugged() {
		e.Fail("NewTensor", "shape %v within a recorded update, want it made before", shape)
	}
	return e.newTensor("NewTensor", shape...)
}

func (e *Engine[X]) newTensor(op string, shape ...int) X {
	e.Stopped(op) // reports that the engine is closed
	n := 1.0      // in floating point, so that absurd shapes don't overflow
	for _, d := range shape {
		if d < 0 {
			n = -1
			break
		}
		n *= float64(d)
	}
	if n < 0 || n > float64(e.MaxValues) {
		e.Fail(op, "shape is %v, want dimensions of 0 or more and at most %d values", slices.Clone(shape), e.MaxValues)
		shape = []int{0}
	}
	return e.back.NewTensor(e.Header(shape...))
}

// take returns an operand as the backend's tensor; ok is false after a failure.
func (e *Engine[X]) take(op, what string, t nets.Tensor) (x X, ok bool) {
	if e.Stopped(op) {
		return x, false
	}
	var none X
	if x, ok = t.(X); !ok || x == none {
		e.Fail(op, "%s is a %T, want a tensor of the %s engine in %v", what, t, e.name, e.dtype)
		return x, false
	}
	return x, x.Usable(e.State, op, what)
}

// alike returns an operand that must have the shape of ref.
func (e *Engine[X]) alike(op, what string, t nets.Tensor, ref X) (X, bool) {
	x, ok := e.take(op, what, t)
	if ok && !slices.Equal(x.Shape(), ref.Shape()) {
		e.Fail(op, "%s has shape %v, want %v", what, x.Shape(), ref.Shape())
		return x, false
	}
	return x, ok
}

// pair returns two operands of one shape.
func (e *Engine[X]) pair(op string, dst, src nets.Tensor) (d, s X, ok bool) {
	if d, ok = e.take(op, "destination", dst); ok {
		s, ok = e.alike(op, "source", src, d)
	}
	return d, s, ok
}

// isShape says whether a shape is [agents, batch, width].
func isShape(shape []int, agents, batch, width int) bool {
	return len(shape) == 3 && shape[0] == agents && shape[1] == batch && shape[2] == width
}

// Number is what an engine computes with.
type Number interface{ float32 | float64 }

// Convert sets dst to src.
func Convert[D, S Number](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}

// Grow returns n numbers, whatever they are, in x's memory where that is enough. New memory has some to spare,
// as sizes differ from batch to batch.
func Grow[E any](x []E, n int) []E {
	if cap(x) < n {
		x = make([]E, n, max(n, cap(x)+cap(x)/4))
		largePages(x[:cap(x)])
	}
	return x[:n]
}

// Dense is a row-major tensor in Go's memory. Tensors of backends embed it.
type Dense[T Number] struct {
	Header
	Data []T
	// Version counts the changes, for backends that must know whether there were any: those by Set here, their own
	// where they make them.
	Version int64
}

// NewDense returns a tensor of zeros.
func NewDense[T Number](h Header) Dense[T] { return Dense[T]{Header: h, Data: make([]T, h.Len())} }

// Resize implements [Tensor].
func (t *Dense[T]) Resize(rows int) {
	t.SetRows(rows)
	t.Data = Grow(t.Data, t.Len())
}

// Clear implements [Tensor].
func (t *Dense[T]) Clear() { clear(t.Data) }

// Set implements [nets.Tensor].
func (t *Dense[T]) Set(src []float32) { set(t, "Set", src) }

// Get implements [nets.Tensor].
func (t *Dense[T]) Get(dst []float32) {
	if t.Host("Get", len(dst)) {
		Convert(dst, t.Data)
	}
}

// Set64 implements [nets.Tensor].
func (t *Dense[T]) Set64(src []float64) { set(t, "Set64", src) }

// Get64 implements [nets.Tensor].
func (t *Dense[T]) Get64(dst []float64) {
	if t.Host("Get64", len(dst)) {
		Convert(dst, t.Data)
	}
}

func set[T, S Number](t *Dense[T], op string, src []S) {
	if t.Host(op, len(src)) {
		t.Version++
		Convert(t.Data, src)
	}
}
