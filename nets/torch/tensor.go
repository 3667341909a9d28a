//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets/internal/core"
)

// maxValues is the largest number of values in a tensor, 8 GiB of float32: a larger shape is probably a mistake.
const maxValues = 1 << 31

// tensor implements [core.Tensor].
type tensor struct {
	core.Header
	b *backend
	// h is nil for a tensor that could not be made, and for one of a pass that is over.
	h handle

	of     *work          // whose output it is, nil for others
	pass   *graphWork     // in whose pass it lives, nil for others
	upload unsafe.Pointer // its staging memory, made by the first Set that needs one
}

// NewTensor implements [core.Backend].
func (b *backend) NewTensor(h core.Header) *tensor {
	t := &tensor{Header: h, b: b}
	switch {
	case len(t.Shape()) > maxDims:
		b.Fail("NewTensor", "shape is %v, want at most %d dimensions", t.Shape(), maxDims)
	case !b.Closed():
		b.within("NewTensor", b.own, false, func() { t.h = b.own.zeros(b.code, b.device, t.Shape()...) })
	}
	return t
}

// Usable implements [core.Tensor].
func (t *tensor) Usable(s *core.State, op, what string) bool {
	switch {
	case t.b.State != s:
		s.Fail(op, "%s is a %T, want a tensor of this engine", what, t)
		return false
	case !t.made():
		s.Fail(op, "%s could not be made or belongs to a pass that failed", what)
		return false
	case t.of != nil:
		t.b.recording.Load().reads(op, t.of)
	}
	return true
}

// made says that the tensor has memory. A gradient that a pass lends is made by its first use, of zeros.
func (t *tensor) made() bool {
	if t.h == nil && t.pass != nil {
		s := t.pass.s
		t.b.within("GradOut", s, false, func() { t.h = s.zeros(t.b.code, t.b.device, t.Shape()...) })
	}
	return t.h != nil
}

// Resize implements [core.Tensor]: what a pass writes next has its own memory.
func (t *tensor) Resize(rows int) { t.SetRows(rows) }

// Clear implements [core.Tensor]. It clears in place: views stay views.
func (t *tensor) Clear() {
	if t.h != nil {
		t.b.briefly("Clear", func(s *scope) { s.zero(t.h) })
	}
}

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
	t.b.briefly(op, func(s *scope) {
		if !t.b.staged || t.pass != nil {
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
		t.b.briefly(op, func(s *scope) {
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
	if t.b.device != onCPU {
		pinned = 1
	}
	if !s.check("pinned memory", C.sto_new_upload((*unsafe.Pointer)(unsafe.Pointer(s.out())), unsafe.Pointer(t.h),
		pinned), t.h) {
		return false
	}
	t.upload = unsafe.Pointer(s.c.out)
	t.b.uploads = append(t.b.uploads, t.upload)
	return true
}

// passes says whether n numbers may be copied between the host and the tensor; if not it stores the failure.
func (t *tensor) passes(op string, n int) bool {
	return t.Host(op, n) && t.made() && t.b.recording.Load().copies(op, t) && n > 0
}

// constant makes a tensor in the engine's number format that lives until Close.
func (b *backend) constant(values []float64, shape ...int) handle {
	return b.made(values, b.code, shape)
}

// truth makes a tensor of booleans: true where a value is not 0.
func (b *backend) truth(values []float64, shape ...int) handle {
	return b.made(values, codeBool, shape)
}

func (b *backend) made(values []float64, code int, shape []int) (h handle) {
	b.within("NewNet", b.own, false, func() {
		h = b.own.zeros(code, b.device, shape...)
		if b.own.err == nil {
			b.own.check("copy", C.sto_set(unsafe.Pointer(h), (*C.char)(unsafe.Pointer(unsafe.SliceData(values))),
				C.int64_t(len(values)), codeFloat64), h)
		}
	})
	return h
}

// Copy implements [core.Backend].
func (b *backend) Copy(dst, src *tensor) {
	b.briefly("Copy", func(s *scope) { s.copy(dst.h, src.h) })
	b.recording.Load().changes(dst)
}

// Add implements [core.Backend].
func (b *backend) Add(dst *tensor, scale float64, src *tensor) {
	b.briefly("Add", func(s *scope) {
		s.check("add_", C.sto_add(unsafe.Pointer(dst.h), unsafe.Pointer(src.h), C.double(scale)), dst.h, src.h)
	})
	b.recording.Load().changes(dst)
}

// Lerp implements [core.Backend].
func (b *backend) Lerp(dst, src *tensor, t float64) {
	b.briefly("Lerp", func(s *scope) {
		s.check("lerp_", C.sto_lerp(unsafe.Pointer(dst.h), unsafe.Pointer(src.h), C.double(t)), dst.h, src.h)
	})
	b.recording.Load().changes(dst)
}

// TDTarget implements [core.Backend].
func (b *backend) TDTarget(y, r, discount, q *tensor) {
	b.briefly("TDTarget", func(s *scope) {
		lib.AtgAddcmulOut(s.out(), y.h, r.h, discount.h, q.h)
		s.drop("addcmul", r.h, discount.h, q.h)
	})
}

// copy does dst = src in place.
func (s *scope) copy(dst, src handle) {
	if s.err == nil {
		s.check("copy_", C.sto_copy(unsafe.Pointer(dst), unsafe.Pointer(src)), dst, src)
	}
}

// zero clears a tensor.
func (s *scope) zero(t handle) {
	if s.err == nil {
		lib.AtgZero_(s.out(), t)
		s.drop("zero_", t)
	}
}
