//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// Options of an engine. The zero value computes in float32 on the CPU with libtorch's own number of threads.
type Options struct {
	// Device is cpu or cuda:N; empty stands for cpu.
	Device string
	DType  nets.DType
	// Threads, if positive, is how many threads an operation on the CPU may use. libtorch has one setting for the
	// whole process.
	Threads int
	// Deterministic makes results on CUDA reproducible to the bit. Operations that are not reproducible become
	// errors of the engine. The setting holds for the whole process from then on. It changes nothing on the CPU, where
	// results are reproducible with a fixed number of threads.
	Deterministic bool
	// Debug lists libtorch's operations, with all their numbers, in every run of a recorded update. A run fails if its
	// list differs from the first run's, which is what a CUDA graph would repeat. The environment variable
	// STOKER_DEBUG=1 also turns it on.
	Debug bool
	// Notice receives, once, the reason why recorded updates run operation by operation on a GPU; nil writes it to
	// standard error.
	Notice func(string)
}

// engine has the contract's methods alone of those that core implements.
type engine struct {
	nets.Engine
	back *backend
}

// backend implements [core.Backend] and [core.Graphs].
type backend struct {
	*core.State
	device int
	code   int // libtorch's number of the engine's format

	deterministic, debug bool

	stream  int64            // of all the engine's work, on a GPU
	staged  bool             // Set copies through staging memory
	uploads []unsafe.Pointer // staging memory, freed by Close
	graphs  *grapher         // nil where updates are not captured
	notice  func(string)
	told    sync.Once
	updates []*recorded // the captured ones
	passes  int64       // runs of recorded updates so far

	own   *scope                 // tensors that live until Close
	idle  scopes                 // of tensors that live until the end of the operation
	works []interface{ close() } // of all nets

	scalars []lib.Cscalar // freed by Close

	recording atomic.Pointer[recorded] // the recorded update that is running, or nil
	direct    choiceChecks             // checks of losses outside recorded updates
}

// New returns an engine. A missing device is an error, and so is a CUDA half of libtorch that cannot be loaded.
func New(o Options) (nets.Engine, error) {
	b := &backend{State: core.Named("torch"), deterministic: o.Deterministic}
	b.MaxValues = maxValues
	switch o.DType {
	case nets.Float32:
		b.code = codeFloat32
	case nets.Float64:
		b.code = codeFloat64
	default:
		return nil, fmt.Errorf("nets/torch: number format is %v, want %v or %v", o.DType, nets.Float32, nets.Float64)
	}
	var err error
	if b.device, err = parseDevice(o.Device); err != nil {
		return nil, err
	}
	if o.Deterministic { // before the first use of CUDA
		if err = determined(b.device); err != nil {
			return nil, err
		}
	}
	if err = available(b.device); err != nil {
		return nil, err
	}
	if o.Threads != 0 {
		if err = SetThreads(o.Threads); err != nil {
			return nil, err
		}
	}
	oneHeap()
	if err = callFirst(); err != nil {
		return nil, fmt.Errorf("nets/torch: the first calls of MKL's vector functions: %w", err)
	}
	b.own = newScope()
	b.debug = o.Debug || os.Getenv("STOKER_DEBUG") == "1"
	b.notice = o.Notice
	if b.device != onCPU {
		if err = b.openDevice(); err != nil {
			b.close()
			return nil, err
		}
	}
	return &engine{core.New[*tensor](b.State, o.DType, b, b), b}, nil
}

// Info implements [core.Backend].
func (b *backend) Info() (threads int, kernels string) { return Threads(), b.family() }

// Info implements [nets.Engine].
func (e *engine) Info() nets.Info {
	i := e.Engine.Info()
	i.Device, i.Version = deviceName(e.back.device), fittedRelease
	return i
}

// Close implements [nets.Engine]. It frees every tensor, network and Work of the engine, which may not be used any
// more.
func (e *engine) Close() error {
	e.back.close()
	return nil
}

func (b *backend) close() {
	if !b.State.Close() {
		return
	}
	for _, r := range b.updates {
		r.free()
	}
	for _, w := range b.works {
		w.close()
	}
	for _, u := range b.uploads {
		C.sto_free_upload(u)
	}
	for _, v := range b.scalars {
		lib.AtsFree(v)
	}
	b.idle.close()
	b.own.close()
}

// Gumbel implements [core.Backend]. It is not among the contract's methods.
func (*backend) Gumbel([]float32, []uint32) {}

// Parallel implements [core.Backend]. It is not among the contract's methods.
func (*backend) Parallel(int, func(i, w int)) {}

// number makes a libtorch scalar that lives until Close.
func (b *backend) number(v float64) lib.Cscalar {
	c := lib.AtsFloat(v)
	b.scalars = append(b.scalars, c)
	return c
}

// within runs f on one thread, with or without building a graph, and reports what failed in the scope.
func (b *backend) within(op string, s *scope, graph bool, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	enter(graph)
	if b.device != onCPU && !s.check("stream", C.sto_use_stream(C.int64_t(b.stream), C.int(b.device))) {
		b.settle(op, s)
		return
	}
	f()
	if graph {
		C.sto_leave()
	}
	b.settle(op, s)
}

// settle reports a scope's failure as the engine's.
func (b *backend) settle(op string, s *scope) {
	if s.err != nil {
		b.Fail(op, "%w", s.err)
		s.err = nil
	}
}

// briefly runs an operation and frees its intermediate results. Several goroutines may read results at a time.
func (b *backend) briefly(op string, f func(s *scope)) {
	s := b.idle.take()
	b.within(op, s, false, func() { f(s) })
	b.idle.put(s)
}
