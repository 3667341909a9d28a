package native

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// Options of an engine. The zero value is what learners use.
type Options struct {
	DType nets.DType
	// Kernels is the family of inner loops: avx512 or avx2 for assembly, go for plain Go, or empty for the best that this CPU has (or
	// STOKER_KERNELS in the environment, which takes the same names). Assembly is float32 only.
	Kernels string
	// Threads is how many a recorded update may use with assembly, 0 for GOMAXPROCS. Results don't depend on it. Plain Go uses one.
	Threads int
	// Debug compares every run of a recorded update with its first. STOKER_DEBUG=1 in the environment turns it on too.
	Debug bool
}

// New returns an engine. An unknown DType is reported by Err.
func New(o Options) nets.Engine {
	debug := o.Debug || os.Getenv("STOKER_DEBUG") == "1"
	if o.DType == nets.Float64 {
		return &engine[float64]{dtype: nets.Float64, mul: mul64, debug: debug, noise: kernel.Reference().Gumbel}
	}
	e := &engine[float32]{dtype: nets.Float32, mul: mul32, debug: debug, noise: kernel.Reference().Gumbel}
	if o.DType != nets.Float32 {
		e.fail("New", "number format is %v, want %v or %v", o.DType, nets.Float32, nets.Float64)
	}
	set, err := kernels(o.Kernels)
	if err != nil {
		e.fail("New", "%w", err)
	}
	if set != nil {
		e.tiler, e.noise = newTiler(e, set, o.Threads), set.Gumbel
	}
	return e
}

// number is what the engine computes with.
type number interface{ float32 | float64 }

// engine implements [nets.Engine].
type engine[T number] struct {
	sticky sticky
	dtype  nets.DType
	mul    product[T]
	call   lossCall[T] // the loss being computed

	ids   atomic.Int64 // of tensors and passes, for the debug mode's lists
	debug bool
	trace trace

	noise func(dst []float32, words []uint32) // of Gumbel's law

	tiler *tiler // where kernels do the work, of float32
}

// Info implements [nets.Engine].
func (e *engine[T]) Info() nets.Info {
	i := nets.Info{Name: "native", Device: "cpu", DType: e.dtype.String(), Threads: 1, Kernels: family()}
	if e.tiler != nil {
		i.Threads, i.Kernels = e.tiler.threads, e.tiler.family()
	}
	return i
}

// Close implements [nets.Engine]. There is nothing to free.
func (e *engine[T]) Close() error { return nil }

// Err implements [nets.Engine].
func (e *engine[T]) Err() error { return e.sticky.take() }

// fail keeps the first failure. The format says what was wrong and what would be right.
func (e *engine[T]) fail(op, format string, args ...any) {
	e.sticky.put(fmt.Errorf("nets/native: "+op+": "+format, args...))
}

// failed says that operations do nothing until Err is called.
func (e *engine[T]) failed() bool { return e.sticky.set.Load() }
