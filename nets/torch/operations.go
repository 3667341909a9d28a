//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"math"
	"sync"
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"
)

// libtorch's codes of number formats.
const (
	codeInt64   = 4
	codeFloat32 = 6
	codeFloat64 = 7
	codeBool    = 11
)

// scalars are constants as libtorch's scalar objects, made once.
type scalars struct{ zero, one, minusInf, two lib.Cscalar }

var numbers = sync.OnceValue(func() scalars {
	return scalars{lib.AtsFloat(0), lib.AtsFloat(1), lib.AtsFloat(math.Inf(-1)), lib.AtsFloat(2)}
})

func (s *scope) zeros(code, device int, shape ...int) handle {
	if s.err != nil {
		return nil
	}
	dims := s.ints(shape...)
	message := C.sto_zeros((*unsafe.Pointer)(unsafe.Pointer(s.out())),
		(*C.int64_t)(unsafe.Pointer(unsafe.SliceData(dims))),
		C.size_t(len(dims)), C.int(code), C.int(device))
	if !s.check("zeros", message) {
		return nil
	}
	return s.keep("zeros")
}

// leaf shares t's memory and is a leaf of a gradient graph.
func (s *scope) leaf(t handle) handle {
	if s.err != nil || !s.check("leaf", C.sto_leaf((*unsafe.Pointer)(unsafe.Pointer(s.out())), unsafe.Pointer(t)), t) {
		return nil
	}
	return s.keep("leaf", t)
}

func (s *scope) detach(t handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgDetach(s.out(), t)
	return s.keep("detach", t)
}

// Shapes.

func (s *scope) reshape(t handle, shape ...int) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgReshape(s.out(), t, s.ints(shape...), len(shape))
	return s.keep("reshape", t)
}

func (s *scope) expand(t handle, shape ...int) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgExpand(s.out(), t, s.ints(shape...), len(shape), 0)
	return s.keep("expand", t)
}

func (s *scope) transpose(t handle, i, j int64) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgTranspose(s.out(), t, i, j)
	return s.keep("transpose", t)
}

func (s *scope) narrow(t handle, dim, start, length int) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgNarrow(s.out(), t, int64(dim), int64(start), int64(length))
	return s.keep("narrow", t)
}

func (s *scope) contiguous(t handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgContiguous(s.out(), t)
	return s.keep("contiguous", t)
}

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

func (s *scope) bmm(a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgBmm(s.out(), a, b)
	return s.keep("bmm", a, b)
}

// baddbmm is c + alpha·a·b, batch by batch.
func (s *scope) baddbmm(c, a, b handle, alpha lib.Cscalar) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgBaddbmm(s.out(), c, a, b, numbers().one, alpha)
	return s.keep("baddbmm", c, a, b)
}

func (s *scope) mm(a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgMm(s.out(), a, b)
	return s.keep("mm", a, b)
}

// Element by element.

func (s *scope) add(a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgAdd(s.out(), a, b)
	return s.keep("add", a, b)
}

func (s *scope) sub(a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgSub(s.out(), a, b)
	return s.keep("sub", a, b)
}

func (s *scope) mul(a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgMul(s.out(), a, b)
	return s.keep("mul", a, b)
}

func (s *scope) div(a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgDiv(s.out(), a, b)
	return s.keep("div", a, b)
}

// addcmul is c + a·b.
func (s *scope) addcmul(c, a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgAddcmul(s.out(), c, a, b)
	return s.keep("addcmul", c, a, b)
}

func (s *scope) scale(t handle, by lib.Cscalar) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgMulScalar(s.out(), t, by)
	return s.keep("mul", t)
}

func (s *scope) plus(t handle, v lib.Cscalar) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgAddScalar(s.out(), t, v)
	return s.keep("add", t)
}

// where takes a where the condition holds and b elsewhere.
func (s *scope) where(condition, a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgWhereSelf(s.out(), condition, a, b)
	return s.keep("where", condition, a, b)
}

// apply runs an operation of one tensor.
func (s *scope) apply(name string, f func(*handle, handle), t handle) handle {
	if s.err != nil {
		return nil
	}
	f(s.out(), t)
	return s.keep(name, t)
}

// Reductions.

// sum adds up the last dimension and keeps it with size 1.
func (s *scope) sum(t handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgSumDimIntlist(s.out(), t, s.ints(-1), 1, 1, -1)
	return s.keep("sum", t)
}

// total adds up everything.
func (s *scope) total(t handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgSum(s.out(), t, -1)
	return s.keep("sum", t)
}

// means takes the mean of each agent's values: all dimensions but the first.
func (s *scope) means(t handle, agents, per int) handle {
	flat := s.reshape(t, agents, per)
	if s.err != nil {
		return nil
	}
	lib.AtgMeanDim(s.out(), flat, s.ints(-1), 1, 0, -1)
	return s.keep("mean", flat)
}

func (s *scope) softmax(t handle) handle {
	if s.err != nil {
		return nil
	}
	lib.Atg_Softmax(s.out(), t, -1, 0)
	return s.keep("softmax", t)
}

func (s *scope) logSoftmax(t handle) handle {
	if s.err != nil {
		return nil
	}
	lib.Atg_LogSoftmax(s.out(), t, -1, 0)
	return s.keep("log_softmax", t)
}
