//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"sync"
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"
)

// libtorch's codes of number formats.
const (
	codeInt32   = 3
	codeInt64   = 4
	codeFloat32 = 6
	codeFloat64 = 7
	codeBool    = 11
)

// scalars are constants as libtorch's scalar objects, made once.
type scalars struct{ zero, one, two lib.Cscalar }

var numbers = sync.OnceValue(func() scalars {
	return scalars{lib.AtsFloat(0), lib.AtsFloat(1), lib.AtsFloat(2)}
})

// call runs an operation that writes its result to out; in are its operands.
func (s *scope) call(name string, f func(out *handle), in ...handle) handle {
	if s.err != nil {
		return nil
	}
	f(s.out())
	return s.keep(name, in...)
}

// shim is call for a function of the shim, which returns libtorch's message.
func (s *scope) shim(name string, f func(out *unsafe.Pointer) *C.char, in ...handle) handle {
	if s.err != nil || !s.check(name, f((*unsafe.Pointer)(unsafe.Pointer(s.out()))), in...) {
		return nil
	}
	return s.keep(name, in...)
}

// apply runs an operation of one tensor.
func (s *scope) apply(name string, f func(*handle, handle), t handle) handle {
	return s.call(name, func(out *handle) { f(out, t) }, t)
}

// both runs an operation of two tensors.
func (s *scope) both(name string, f func(*handle, handle, handle), a, b handle) handle {
	return s.call(name, func(out *handle) { f(out, a, b) }, a, b)
}

// three runs an operation of three tensors.
func (s *scope) three(name string, f func(*handle, handle, handle, handle), a, b, c handle) handle {
	return s.call(name, func(out *handle) { f(out, a, b, c) }, a, b, c)
}

func (s *scope) zeros(code, device int, shape ...int) handle {
	return s.shim("zeros", func(out *unsafe.Pointer) *C.char {
		dims := s.ints(shape...)
		return C.sto_zeros(out, (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(dims))), C.size_t(len(dims)), C.int(code),
			C.int(device))
	})
}

// leaf shares t's memory and is a leaf of a gradient graph.
func (s *scope) leaf(t handle) handle {
	return s.shim("leaf", func(out *unsafe.Pointer) *C.char { return C.sto_leaf(out, unsafe.Pointer(t)) }, t)
}

func (s *scope) detach(t handle) handle { return s.apply("detach", lib.AtgDetach, t) }

// Shapes.

func (s *scope) reshape(t handle, shape ...int) handle {
	return s.call("reshape", func(out *handle) { lib.AtgReshape(out, t, s.ints(shape...), len(shape)) }, t)
}

func (s *scope) expand(t handle, shape ...int) handle {
	return s.call("expand", func(out *handle) { lib.AtgExpand(out, t, s.ints(shape...), len(shape), 0) }, t)
}

func (s *scope) transpose(t handle, i, j int64) handle {
	return s.call("transpose", func(out *handle) { lib.AtgTranspose(out, t, i, j) }, t)
}

func (s *scope) narrow(t handle, dim, start, length int) handle {
	return s.call("narrow", func(out *handle) { lib.AtgNarrow(out, t, int64(dim), int64(start), int64(length)) }, t)
}

func (s *scope) contiguous(t handle) handle { return s.apply("contiguous", lib.AtgContiguous, t) }

// cat concatenates along the last dimension; a single tensor is returned unchanged.
func (s *scope) cat(t ...handle) handle {
	if s.err != nil {
		return nil
	}
	if len(t) == 1 {
		return t[0]
	}
	s.list = append(s.list[:0], t...) // memory passed to C must not be on the stack
	lib.AtgCat(s.out(), s.list, len(t), -1)
	return s.keep("cat", t...)
}

// Products.

func (s *scope) bmm(a, b handle) handle { return s.both("bmm", lib.AtgBmm, a, b) }

// baddbmm is c + alpha·a·b, batch by batch.
func (s *scope) baddbmm(c, a, b handle, alpha lib.Cscalar) handle {
	return s.call("baddbmm", func(out *handle) { lib.AtgBaddbmm(out, c, a, b, numbers().one, alpha) }, c, a, b)
}

func (s *scope) mm(a, b handle) handle { return s.both("mm", lib.AtgMm, a, b) }

// Element by element.

func (s *scope) add(a, b handle) handle { return s.both("add", lib.AtgAdd, a, b) }

func (s *scope) sub(a, b handle) handle { return s.both("sub", lib.AtgSub, a, b) }

func (s *scope) mul(a, b handle) handle { return s.both("mul", lib.AtgMul, a, b) }

func (s *scope) div(a, b handle) handle { return s.both("div", lib.AtgDiv, a, b) }

// addcmul is c + a·b.
func (s *scope) addcmul(c, a, b handle) handle { return s.three("addcmul", lib.AtgAddcmul, c, a, b) }

func (s *scope) scale(t handle, by lib.Cscalar) handle {
	return s.call("mul", func(out *handle) { lib.AtgMulScalar(out, t, by) }, t)
}

func (s *scope) plus(t handle, v lib.Cscalar) handle {
	return s.call("add", func(out *handle) { lib.AtgAddScalar(out, t, v) }, t)
}

// where takes a where the condition holds and b elsewhere.
func (s *scope) where(condition, a, b handle) handle {
	return s.three("where", lib.AtgWhereSelf, condition, a, b)
}

// Reductions.

// sum adds up the last dimension and keeps it with size 1.
func (s *scope) sum(t handle) handle {
	return s.call("sum", func(out *handle) { lib.AtgSumDimIntlist(out, t, s.ints(-1), 1, 1, -1) }, t)
}

// total adds up everything.
func (s *scope) total(t handle) handle {
	return s.call("sum", func(out *handle) { lib.AtgSum(out, t, -1) }, t)
}

// means takes the mean of each agent's values: all dimensions but the first.
func (s *scope) means(t handle, agents, per int) handle {
	flat := s.reshape(t, agents, per)
	return s.call("mean", func(out *handle) { lib.AtgMeanDim(out, flat, s.ints(-1), 1, 0, -1) }, flat)
}

func (s *scope) softmax(t handle) handle {
	return s.call("softmax", func(out *handle) { lib.Atg_Softmax(out, t, -1, 0) }, t)
}

func (s *scope) logSoftmax(t handle) handle {
	return s.call("log_softmax", func(out *handle) { lib.Atg_LogSoftmax(out, t, -1, 0) }, t)
}
