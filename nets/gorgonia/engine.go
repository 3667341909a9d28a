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

// Record implements [core.Backend].
func (*backend[T]) Record(updates []func()) core.Program { return core.Called(updates) }

// Gumbel implements [core.Backend]. It is not among the contract's methods.
func (*backend[T]) Gumbel([]float32, []uint32) {}

// Parallel implements [core.Backend]. It is not among the contract's methods.
func (*backend[T]) Parallel(int, func(i, w int)) {}

// tensor is a row-major tensor in Go's memory, which leaves of graphs share. Backward detects by its version that
// parameters changed since its Forward.
type tensor[T core.Number] struct{ core.Dense[T] }

// NewTensor implements [core.Backend].
func (*backend[T]) NewTensor(h core.Header) *tensor[T] { return &tensor[T]{core.NewDense[T](h)} }

// Copy implements [core.Backend].
func (*backend[T]) Copy(dst, src *tensor[T]) {
	dst.Version++
	copy(dst.Data, src.Data)
}

// Add implements [core.Backend].
func (*backend[T]) Add(dst *tensor[T], scale float64, src *tensor[T]) {
	dst.Version++
	for i, v := range src.Data {
		dst.Data[i] += T(scale) * v
	}
}

// Lerp implements [core.Backend].
func (*backend[T]) Lerp(dst, src *tensor[T], t float64) {
	dst.Version++
	for i, v := range src.Data {
		dst.Data[i] += T(t) * (v - dst.Data[i])
	}
}

// TDTarget implements [core.Backend].
func (*backend[T]) TDTarget(y, r, discount, q *tensor[T]) {
	y.Version++
	for i, v := range r.Data {
		y.Data[i] = v + discount.Data[i]*q.Data[i]
	}
}
