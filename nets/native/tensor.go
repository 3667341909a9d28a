package native

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// maxValues bounds a tensor, at 4 GiB of float32: more is taken for a mistake in the shape.
const maxValues = 1 << 30

// tensor implements [nets.Tensor].
type tensor[T number] struct {
	e     *engine[T]
	id    int64
	shape []int
	n     int // numbers that the shape has; padding of tiles is not among them
	data  []T
	tiling
}

// NewTensor implements [nets.Engine]. A wrong shape is reported by Err, and the tensor is empty.
func (e *engine[T]) NewTensor(shape ...int) nets.Tensor {
	if e.debug && e.trace.running() {
		e.fail("NewTensor", "shape %v within a recorded update, want it made before", shape)
	}
	return e.newTensor("NewTensor", shape...)
}

func (e *engine[T]) newTensor(op string, shape ...int) *tensor[T] {
	n := 1.0 // in floating point, so that absurd shapes don't overflow
	for _, d := range shape {
		if d < 0 {
			n = -1
			break
		}
		n *= float64(d)
	}
	if n < 0 || n > maxValues {
		e.fail(op, "shape is %v, want dimensions of 0 or more and at most %d values", slices.Clone(shape), maxValues)
		shape, n = []int{0}, 0
	}
	t := &tensor[T]{e: e, id: e.ids.Add(1), shape: slices.Clone(shape), n: int(n)}
	if e.tiler != nil && len(shape) == 3 && n > 0 {
		t.tiling = newTiling(shape[0], shape[1], shape[2])
		t.data = make([]T, t.size())
		return t
	}
	t.data = make([]T, t.n)
	return t
}

// Shape implements [nets.Tensor].
func (t *tensor[T]) Shape() []int { return t.shape }

// String names the tensor in errors.
func (t *tensor[T]) String() string { return fmt.Sprintf("tensor %d %v", t.id, t.shape) }

// Set implements [nets.Tensor].
func (t *tensor[T]) Set(src []float32) {
	if t.host("Set", len(src)) {
		store(t, src)
	}
}

// Get implements [nets.Tensor].
func (t *tensor[T]) Get(dst []float32) {
	if t.host("Get", len(dst)) {
		load(dst, t)
	}
}

// Set64 implements [nets.Tensor].
func (t *tensor[T]) Set64(src []float64) {
	if t.host("Set64", len(src)) {
		store(t, src)
	}
}

// Get64 implements [nets.Tensor].
func (t *tensor[T]) Get64(dst []float64) {
	if t.host("Get64", len(dst)) {
		load(dst, t)
	}
}

// host says whether numbers may pass between the host and the tensor.
func (t *tensor[T]) host(op string, n int) bool {
	if t.e.failed() {
		return false
	}
	if n != t.n {
		t.e.fail(op, "%d values for a tensor of shape %v, want %d", n, t.shape, t.n)
		return false
	}
	if t.e.debug && t.e.trace.running() || t.e.tiler != nil && t.e.tiler.capture != nil {
		t.e.fail(op, "%v within a recorded update, want it set or read outside", t)
		return false
	}
	return true
}

// store and load pass numbers between a row-major array and a tensor.
func store[T, S number](t *tensor[T], src []S) {
	if t.lanes <= 1 {
		convert(t.data, src)
		return
	}
	if s, ok := any(src).([]float32); ok {
		if d, ok := any(t.data).([]float32); ok {
			t.transpose(t.e.tiler.set, d, s)
			return
		}
	}
	spread(t.tiling, t.data, src)
}

func load[T, D number](dst []D, t *tensor[T]) {
	if t.lanes > 1 {
		gather(t.tiling, dst, t.data)
		return
	}
	convert(dst, t.data)
}

func convert[D, S number](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}

// view is a tensor of [agents, batch, features] within other memory: features of agent i and sample b start at
// i·agent + b·row. Views with agent 0 are one matrix that all agents see.
type view[T number] struct {
	data       []T
	agent, row int
}

// stacked is the view of a whole tensor.
func stacked[T number](data []T, batch, width int) view[T] {
	return view[T]{data, batch * width, width}
}

// at returns n features of agent i and sample b.
func (v view[T]) at(i, b, n int) []T {
	o := i*v.agent + b*v.row
	return v.data[o : o+n : o+n]
}

// from is the view without the first n features.
func (v view[T]) from(n int) view[T] { return view[T]{v.data[n:], v.agent, v.row} }
