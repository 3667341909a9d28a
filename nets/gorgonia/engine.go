package gorgonia

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stoker-rl/stoker/nets"
	dense "gorgonia.org/tensor"
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
