//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
)

// maxValues is the largest number of values in a tensor, 8 GiB of float32: a larger shape is probably a mistake.
const maxValues = 1 << 31

// tensor implements [nets.Tensor].
type tensor struct {
	e     *engine
	id    int64
	shape []int
	n     int
	// h is nil for a tensor that could not be made; operations on it do nothing, as the engine has failed.
	h handle

	of      *work          // whose output it is, nil for others
	passing bool           // it is valid until the next pass
	upload  unsafe.Pointer // its staging memory, made by the first Set that needs one
}

// NewTensor implements [nets.Engine]. A wrong shape is reported by Err, and the tensor is empty.
func (e *engine) NewTensor(shape ...int) nets.Tensor { return e.newTensor("NewTensor", shape...) }

func (e *engine) newTensor(op string, shape ...int) *tensor {
	n, ok := count(shape)
	if !ok {
		e.fail(op, "shape is %v, want at most %d dimensions of 0 or more and at most %d values", slices.Clone(shape),
			maxDims, maxValues)
		shape, n = []int{0}, 0
	}
	t := &tensor{e: e, id: e.ids.Add(1), shape: slices.Clone(shape), n: n}
	if e.closed.Load() {
		e.fail(op, "the engine is closed")
		return t
	}
	e.within(op, e.own, false, func() { t.h = e.own.zeros(e.code, e.device, shape...) })
	return t
}

// count is the number of values of a shape, computed in floating point so that absurd shapes do not overflow.
func count(shape []int) (int, bool) {
	n := 1.0
	for _, d := range shape {
		if d < 0 {
			return 0, false
		}
		n *= float64(d)
	}
	return int(n), n <= maxValues && len(shape) <= maxDims
}

// Shape implements [nets.Tensor].
func (t *tensor) Shape() []int { return t.shape }

// String names the tensor in errors.
func (t *tensor) String() string { return fmt.Sprintf("tensor %d %v", t.id, t.shape) }

// Set implements [nets.Tensor].
func (t *tensor) Set(src []float32) {
	t.set("Set", unsafe.Pointer(unsafe.SliceData(src)), len(src), codeFloat32)
}

// Set64 implements [nets.Tensor].
func (t *tensor) Set64(src []float64) {
	t.set("Set64", unsafe.Pointer(unsafe.SliceData(src)), len(src), codeFloat64)
}

// Get implements [nets.Tensor].
func (t *tensor) Get(dst []float32) {
	t.get("Get", unsafe.Pointer(unsafe.SliceData(dst)), len(dst), codeFloat32)
}

// Get64 implements [nets.Tensor].
func (t *tensor) Get64(dst []float64) {
	t.get("Get64", unsafe.Pointer(unsafe.SliceData(dst)), len(dst), codeFloat64)
}

func (t *tensor) set(op string, src unsafe.Pointer, n, code int) {
	if !t.passes(op, n) {
		return
	}
	t.e.briefly(op, func(s *scope) {
		if !t.e.staged || t.passing {
			s.check("copy", C.sto_set(unsafe.Pointer(t.h), (*C.char)(src), C.int64_t(n), C.int(code)), t.h)
			return
		}
		if t.stage(s) {
			s.check("copy", C.sto_upload(t.upload, unsafe.Pointer(t.h), (*C.char)(src), C.int64_t(n), C.int(code)), t.h)
		}
	})
}

func (t *tensor) get(op string, dst unsafe.Pointer, n, code int) {
	if t.passes(op, n) {
		t.e.briefly(op, func(s *scope) {
			s.check("copy", C.sto_get(unsafe.Pointer(t.h), (*C.char)(dst), C.int64_t(n), C.int(code)), t.h)
		})
	}
}

// stage makes the tensor's staging memory on first use. It lives until Close.
func (t *tensor) stage(s *scope) bool {
	if t.upload != nil {
		return true
	}
	pinned := C.int(0)
	if t.e.device != onCPU {
		pinned = 1
	}
	if !s.check("pinned memory", C.sto_new_upload((*unsafe.Pointer)(unsafe.Pointer(s.out())), unsafe.Pointer(t.h),
		pinned), t.h) {
		return false
	}
	t.upload = unsafe.Pointer(s.c.out)
	t.e.uploads = append(t.e.uploads, t.upload)
	return true
}

// passes says whether n numbers may be copied between the host and the tensor; if not it stores the failure.
func (t *tensor) passes(op string, n int) bool {
	if t.e.stopped(op) || t.h == nil {
		return false
	}
	if !t.e.recording.Load().copies(op, t) {
		return false
	}
	if n != t.n {
		t.e.fail(op, "%d values for a tensor of shape %v, want %d", n, t.shape, t.n)
		return false
	}
	return n > 0
}

// take returns an operand as this engine's tensor, or nil after a failure.
func (e *engine) take(op, what string, t nets.Tensor) *tensor {
	if e.stopped(op) {
		return nil
	}
	x, ok := t.(*tensor)
	if !ok || x == nil || x.e != e {
		e.fail(op, "%s is a %T, want a tensor of this engine", what, t)
		return nil
	}
	if x.h == nil {
		e.fail(op, "%s could not be made or belongs to a pass that failed", what)
		return nil
	}
	if x.of != nil {
		e.recording.Load().reads(op, x.of)
	}
	return x
}

// alike returns an operand that must have the shape of ref, or nil after a failure.
func (e *engine) alike(op, what string, t nets.Tensor, ref *tensor) *tensor {
	x := e.take(op, what, t)
	if x != nil && !slices.Equal(x.shape, ref.shape) {
		e.fail(op, "%s has shape %v, want %v", what, x.shape, ref.shape)
		return nil
	}
	return x
}
