//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	lib "github.com/sugarme/gotch/libtch"
)

// pair returns two operands of one shape.
func (e *engine) pair(op string, dst, src nets.Tensor) (d, s *tensor) {
	if d = e.take(op, "destination", dst); d == nil {
		return nil, nil
	}
	if s = e.alike(op, "source", src, d); s == nil {
		return nil, nil
	}
	return d, s
}

// Copy implements [nets.Engine].
func (e *engine) Copy(dst, src nets.Tensor) {
	if d, x := e.pair("Copy", dst, src); d != nil {
		e.briefly("Copy", func(s *scope) { s.copy(d.h, x.h) })
		e.recording.Load().changes(d)
	}
}

// Add implements [nets.Engine].
func (e *engine) Add(dst nets.Tensor, scale float64, src nets.Tensor) {
	if d, x := e.pair("Add", dst, src); d != nil {
		e.briefly("Add", func(s *scope) {
			s.check("add_", C.sto_add(unsafe.Pointer(d.h), unsafe.Pointer(x.h), C.double(scale)), d.h, x.h)
		})
		e.recording.Load().changes(d)
	}
}

// Lerp implements [nets.Engine].
func (e *engine) Lerp(dst, src nets.Tensor, t float64) {
	if d, x := e.pair("Lerp", dst, src); d != nil {
		e.briefly("Lerp", func(s *scope) {
			s.check("lerp_", C.sto_lerp(unsafe.Pointer(d.h), unsafe.Pointer(x.h), C.double(t)), d.h, x.h)
		})
		e.recording.Load().changes(d)
	}
}

// TDTarget implements [nets.Engine].
func (e *engine) TDTarget(y, r, discount, q nets.Tensor) {
	const op = "TDTarget"
	ty := e.take(op, "y", y)
	if ty == nil {
		return
	}
	tr, td, tq := e.alike(op, "r", r, ty), e.alike(op, "discount", discount, ty), e.alike(op, "q", q, ty)
	if tr == nil || td == nil || tq == nil {
		return
	}
	e.briefly(op, func(s *scope) {
		lib.AtgAddcmulOut(s.out(), ty.h, tr.h, td.h, tq.h)
		s.drop("addcmul", tr.h, td.h, tq.h)
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
