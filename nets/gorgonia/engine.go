package gorgonia

import (
	"fmt"
	"runtime"

	dense "gorgonia.org/tensor"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
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

// engine has the contract's methods alone of those that core implements.
type engine[T core.Number] struct {
	nets.Engine
	back *backend[T]
}

func newEngine[T core.Number](d nets.DType, format dense.Dtype) *engine[T] {
	s := core.Named("gorgonia")
	b := &backend[T]{state: s, format: format, losses: map[lossKey]*lossGraph[T]{}}
	return &engine[T]{core.New[*tensor[T]](s, d, b, b), b}
}

// release is the version of gorgonia in go.mod.
const release = "0.9.18"

// Info implements [nets.Engine].
func (e *engine[T]) Info() nets.Info {
	i := e.Engine.Info()
	i.Version = release
	return i
}

// backend implements [core.Backend] and [core.Graphs].
type backend[T core.Number] struct {
	state  *core.State
	format dense.Dtype // the number format in gorgonia's terms
	losses map[lossKey]*lossGraph[T]
}

// Info implements [core.Backend]. Large matrix products may use several threads of the process.
func (*backend[T]) Info() (threads int, kernels string) {
	return runtime.GOMAXPROCS(0), "gorgonia-" + release + "-" + runtime.GOARCH
}

// Record implements [core.Backend]: the update is called each time.
func (*backend[T]) Record(f func()) core.Program { return update(f) }

type update func()

func (u update) Run() { u() }

// Gumbel implements [core.Backend]. It is not among the contract's methods.
func (*backend[T]) Gumbel([]float32, []uint32) {}

// Parallel implements [core.Backend]. It is not among the contract's methods.
func (*backend[T]) Parallel(int, func(i, w int)) {}

// tensor is a row-major tensor in Go's memory, which leaves of graphs share.
type tensor[T core.Number] struct {
	core.Header
	data []T
	// version counts the changes, so that Backward can detect that parameters changed since its Forward.
	version int64
}

// NewTensor implements [core.Backend].
func (*backend[T]) NewTensor(h core.Header) *tensor[T] {
	return &tensor[T]{Header: h, data: make([]T, h.Len())}
}

// Resize implements [core.Tensor].
func (t *tensor[T]) Resize(rows int) {
	t.SetRows(rows)
	t.data = core.Grow(t.data, t.Len())
}

// Clear implements [core.Tensor].
func (t *tensor[T]) Clear() { clear(t.data) }

// Set implements [nets.Tensor].
func (t *tensor[T]) Set(src []float32) { set(t, "Set", src) }

// Set64 implements [nets.Tensor].
func (t *tensor[T]) Set64(src []float64) { set(t, "Set64", src) }

// Get implements [nets.Tensor].
func (t *tensor[T]) Get(dst []float32) {
	if t.Host("Get", len(dst)) {
		core.Convert(dst, t.data)
	}
}

// Get64 implements [nets.Tensor].
func (t *tensor[T]) Get64(dst []float64) {
	if t.Host("Get64", len(dst)) {
		core.Convert(dst, t.data)
	}
}

func set[T, S core.Number](t *tensor[T], op string, src []S) {
	if t.Host(op, len(src)) {
		t.version++
		core.Convert(t.data, src)
	}
}

// Copy implements [core.Backend].
func (*backend[T]) Copy(dst, src *tensor[T]) {
	dst.version++
	copy(dst.data, src.data)
}

// Add implements [core.Backend].
func (*backend[T]) Add(dst *tensor[T], scale float64, src *tensor[T]) {
	dst.version++
	for i, v := range src.data {
		dst.data[i] += T(scale) * v
	}
}

// Lerp implements [core.Backend].
func (*backend[T]) Lerp(dst, src *tensor[T], t float64) {
	dst.version++
	for i, v := range src.data {
		dst.data[i] += T(t) * (v - dst.data[i])
	}
}

// TDTarget implements [core.Backend].
func (*backend[T]) TDTarget(y, r, discount, q *tensor[T]) {
	y.version++
	for i, v := range r.data {
		y.data[i] = v + discount.data[i]*q.data[i]
	}
}
