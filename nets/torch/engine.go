//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	lib "github.com/sugarme/gotch/libtch"
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

// engine implements [nets.Engine].
type engine struct {
	failure failure
	device  int
	dtype   nets.DType
	code    int // libtorch's number of dtype

	deterministic, debug bool

	stream  int64            // of all the engine's work, on a GPU
	staged  bool             // Set copies through staging memory
	uploads []unsafe.Pointer // staging memory, freed by Close
	graphs  *grapher         // nil where updates are not captured
	notice  func(string)
	told    sync.Once
	updates []*recorded // the captured ones
	passes  int64       // runs of recorded updates so far

	ids    atomic.Int64
	own    *scope                 // tensors that live until Close
	tmp    *scope                 // tensors that live until the end of the operation
	works  []interface{ close() } // of all nets
	closed atomic.Bool

	scalars []lib.Cscalar // freed by Close

	recording atomic.Pointer[recorded] // the recorded update that is running, or nil
	direct    choiceChecks             // checks of losses outside recorded updates
}

// New returns an engine. A missing device is an error, and so is a CUDA half of libtorch that cannot be loaded.
func New(o Options) (nets.Engine, error) {
	e := &engine{dtype: o.DType, deterministic: o.Deterministic}
	switch o.DType {
	case nets.Float32:
		e.code = codeFloat32
	case nets.Float64:
		e.code = codeFloat64
	default:
		return nil, fmt.Errorf("nets/torch: number format is %v, want %v or %v", o.DType, nets.Float32, nets.Float64)
	}
	var err error
	if e.device, err = parseDevice(o.Device); err != nil {
		return nil, err
	}
	if o.Deterministic { // before the first use of CUDA
		if err = determined(e.device); err != nil {
			return nil, err
		}
	}
	if err = available(e.device); err != nil {
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
	e.own, e.tmp = newScope(), newScope()
	e.debug = o.Debug || os.Getenv("STOKER_DEBUG") == "1"
	e.notice = o.Notice
	if e.device != onCPU {
		if err = e.openDevice(); err != nil {
			return nil, errors.Join(err, e.Close())
		}
	}
	return e, nil
}

// Info implements [nets.Engine].
func (e *engine) Info() nets.Info {
	return nets.Info{
		Name: "torch", Device: deviceName(e.device), DType: e.dtype.String(), Threads: Threads(),
		Kernels: e.family(), Version: fittedRelease,
	}
}

// Err implements [nets.Engine].
func (e *engine) Err() error { return e.failure.take() }

// Close implements [nets.Engine]. It frees every tensor, network and Work of the engine, which may not be used any
// more.
func (e *engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	for _, r := range e.updates {
		r.free()
	}
	for _, w := range e.works {
		w.close()
	}
	for _, u := range e.uploads {
		C.sto_free_upload(u)
	}
	for _, v := range e.scalars {
		lib.AtsFree(v)
	}
	e.tmp.close()
	e.own.close()
	return nil
}

// number makes a libtorch scalar that lives until Close.
func (e *engine) number(v float64) lib.Cscalar {
	c := lib.AtsFloat(v)
	e.scalars = append(e.scalars, c)
	return c
}

// fail stores the first failure. The format says what was wrong and what would be right.
func (e *engine) fail(op, format string, args ...any) {
	e.failure.report(fmt.Errorf("nets/torch: "+op+": "+format, args...))
}

// stopped says whether operations must do nothing: after a failure until Err is called, and after Close.
func (e *engine) stopped(op string) bool {
	if e.closed.Load() {
		e.fail(op, "the engine is closed")
		return true
	}
	return e.failure.pending()
}

// within runs f on one thread, with or without building a graph, and reports what failed in the scope.
func (e *engine) within(op string, s *scope, graph bool, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	enter(graph)
	if e.device != onCPU && !s.check("stream", C.sto_use_stream(C.int64_t(e.stream), C.int(e.device))) {
		e.settle(op, s)
		return
	}
	f()
	e.settle(op, s)
}

// settle reports a scope's failure as the engine's.
func (e *engine) settle(op string, s *scope) {
	if s.err != nil {
		e.fail(op, "%w", s.err)
		s.err = nil
	}
}

// briefly runs an operation and frees its intermediate results.
func (e *engine) briefly(op string, f func(s *scope)) {
	e.within(op, e.tmp, false, func() { f(e.tmp) })
	e.tmp.clear()
}
