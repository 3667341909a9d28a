package gorgonia

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	dense "gorgonia.org/tensor"

	"github.com/stoker-rl/stoker/nets"
)

// Options of an engine. The zero value computes in float32.
type Options struct {
	DType nets.DType
}

// New returns an engine. An unknown DType is an error.
func New(o Options) (nets.Engine, error) {
	switch o.DType {
	case nets.Float32:
		return newEngine[float32](o.DType, dense.Float32), nil
	case nets.Float64:
		return newEngine[float64](o.DType, dense.Float64), nil
	}
	return nil, fmt.Errorf("nets/gorgonia: number format is %v, want %v or %v", o.DType, nets.Float32, nets.Float64)
}

// number is what the engine computes with.
type number interface{ float32 | float64 }

// engine implements [nets.Engine].
type engine[T number] struct {
	dtype  nets.DType
	format dense.Dtype // dtype in gorgonia's terms
	ids    atomic.Int64
	losses map[lossKey]*lossGraph[T]

	failing atomic.Bool // first is set
	mu      sync.Mutex
	first   error // the first failure since Err
}

func newEngine[T number](d nets.DType, format dense.Dtype) *engine[T] {
	return &engine[T]{dtype: d, format: format, losses: map[lossKey]*lossGraph[T]{}}
}

// release is the version of gorgonia in go.mod.
const release = "0.9.18"

// Info implements [nets.Engine]. Large matrix products may use several threads of the process.
func (e *engine[T]) Info() nets.Info {
	return nets.Info{
		Name: "gorgonia", Device: "cpu", DType: e.dtype.String(), Threads: runtime.GOMAXPROCS(0),
		Kernels: "gorgonia-" + release + "-" + runtime.GOARCH, Version: release,
	}
}

// Close implements [nets.Engine]. There is nothing to free.
func (e *engine[T]) Close() error { return nil }

// Err implements [nets.Engine].
func (e *engine[T]) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.first
	e.first = nil
	e.failing.Store(false)
	return err
}

// fail stores the first failure. The format says what was wrong and what would be right.
func (e *engine[T]) fail(op, format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first == nil {
		e.first = fmt.Errorf("nets/gorgonia: "+op+": "+format, args...)
		e.failing.Store(true)
	}
}

// failed says whether an operation failed since Err; operations then do nothing.
func (e *engine[T]) failed() bool { return e.failing.Load() }

// recorded implements [nets.Recorded]: it calls the function each time.
type recorded[T number] struct {
	e      *engine[T]
	name   string
	update func()
}

// Record implements [nets.Engine].
func (e *engine[T]) Record(name string, update func()) nets.Recorded {
	return &recorded[T]{e, name, update}
}

// Run implements [nets.Recorded].
func (r *recorded[T]) Run() error {
	if r.update == nil {
		return fmt.Errorf("nets/gorgonia: recorded update %q has no function", r.name)
	}
	r.update()
	if err := r.e.Err(); err != nil {
		return fmt.Errorf("recorded update %q: %w", r.name, err)
	}
	return nil
}

// maxValues is the largest number of values in a tensor, 4 GiB of float32: a larger shape is probably a mistake.
const maxValues = 1 << 30

// tensor implements [nets.Tensor] in Go's memory, which leaves of graphs share.
type tensor[T number] struct {
	e     *engine[T]
	id    int64
	shape []int
	data  []T
	// version counts the changes, so that Backward can detect that parameters changed since its Forward.
	version int64
}

// NewTensor implements [nets.Engine]. A wrong shape is reported by Err, and the tensor is empty.
func (e *engine[T]) NewTensor(shape ...int) nets.Tensor { return e.newTensor("NewTensor", shape...) }

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
	return &tensor[T]{e: e, id: e.ids.Add(1), shape: slices.Clone(shape), data: make([]T, int(n))}
}

// Shape implements [nets.Tensor].
func (t *tensor[T]) Shape() []int { return t.shape }

// String names the tensor in errors.
func (t *tensor[T]) String() string { return fmt.Sprintf("tensor %d %v", t.id, t.shape) }

// Set implements [nets.Tensor].
func (t *tensor[T]) Set(src []float32) {
	if t.host("Set", len(src)) {
		t.version++
		convert(t.data, src)
	}
}

// Get implements [nets.Tensor].
func (t *tensor[T]) Get(dst []float32) {
	if t.host("Get", len(dst)) {
		convert(dst, t.data)
	}
}

// Set64 implements [nets.Tensor].
func (t *tensor[T]) Set64(src []float64) {
	if t.host("Set64", len(src)) {
		t.version++
		convert(t.data, src)
	}
}

// Get64 implements [nets.Tensor].
func (t *tensor[T]) Get64(dst []float64) {
	if t.host("Get64", len(dst)) {
		convert(dst, t.data)
	}
}

// host says whether n numbers may be copied between the host and the tensor; if not it stores the failure.
func (t *tensor[T]) host(op string, n int) bool {
	if t.e.failed() {
		return false
	}
	if n != len(t.data) {
		t.e.fail(op, "%d values for a tensor of shape %v, want %d", n, t.shape, len(t.data))
		return false
	}
	return true
}

func convert[D, S number](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}

// take returns an operand as this engine's tensor, or nil after a failure.
func (e *engine[T]) take(op, what string, t nets.Tensor) *tensor[T] {
	if e.failed() {
		return nil
	}
	x, ok := t.(*tensor[T])
	if !ok || x == nil {
		e.fail(op, "%s is a %T, want a tensor of the gorgonia engine in %v", what, t, e.dtype)
		return nil
	}
	return x
}

// alike returns an operand that must have the shape of ref, or nil after a failure.
func (e *engine[T]) alike(op, what string, t nets.Tensor, ref *tensor[T]) *tensor[T] {
	x := e.take(op, what, t)
	if x != nil && !slices.Equal(x.shape, ref.shape) {
		e.fail(op, "%s has shape %v, want %v", what, x.shape, ref.shape)
		return nil
	}
	return x
}

// pair returns two operands of one shape.
func (e *engine[T]) pair(op string, dst, src nets.Tensor) (d, s *tensor[T]) {
	if d = e.take(op, "destination", dst); d == nil {
		return nil, nil
	}
	if s = e.alike(op, "source", src, d); s == nil {
		return nil, nil
	}
	return d, s
}

// Copy implements [nets.Engine].
func (e *engine[T]) Copy(dst, src nets.Tensor) {
	if d, s := e.pair("Copy", dst, src); d != nil {
		d.version++
		copy(d.data, s.data)
	}
}

// Add implements [nets.Engine].
func (e *engine[T]) Add(dst nets.Tensor, scale float64, src nets.Tensor) {
	if d, s := e.pair("Add", dst, src); d != nil {
		d.version++
		for i, v := range s.data {
			d.data[i] += T(scale) * v
		}
	}
}

// Lerp implements [nets.Engine].
func (e *engine[T]) Lerp(dst, src nets.Tensor, t float64) {
	if d, s := e.pair("Lerp", dst, src); d != nil {
		d.version++
		for i, v := range s.data {
			d.data[i] += T(t) * (v - d.data[i])
		}
	}
}

// TDTarget implements [nets.Engine].
func (e *engine[T]) TDTarget(y, r, discount, q nets.Tensor) {
	const op = "TDTarget"
	ty := e.take(op, "y", y)
	if ty == nil {
		return
	}
	tr, td, tq := e.alike(op, "r", r, ty), e.alike(op, "discount", discount, ty), e.alike(op, "q", q, ty)
	if tr == nil || td == nil || tq == nil {
		return
	}
	ty.version++
	for i, v := range tr.data {
		ty.data[i] = v + td.data[i]*tq.data[i]
	}
}
