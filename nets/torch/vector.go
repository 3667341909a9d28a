//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"
)

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
