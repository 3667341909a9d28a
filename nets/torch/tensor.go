//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

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
