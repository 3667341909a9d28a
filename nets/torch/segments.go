//go:build libtorch

package torch

// #include "segments.h"
import "C"

import (
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	lib "github.com/sugarme/gotch/libtch"
)

// The operations of segments.h.

// rows is x[index]; see sto_gather.
func (s *scope) rows(x, index, order, starts handle) handle {
	if s.err != nil {
		return nil
	}
	message := C.sto_gather(s.result(), unsafe.Pointer(x), unsafe.Pointer(index), unsafe.Pointer(order),
		unsafe.Pointer(starts))
	return s.made("gather", message, x, index)
}

func (s *scope) segmentSum(x, starts, of handle) handle {
	if s.err != nil {
		return nil
	}
	return s.made("segment sum", C.sto_segment_sum(s.result(), unsafe.Pointer(x), unsafe.Pointer(starts),
		unsafe.Pointer(of)), x, starts)
}

func (s *scope) segmentSoftmax(x, starts, of handle) handle {
	if s.err != nil {
		return nil
	}
	return s.made("segment softmax", C.sto_segment_softmax(s.result(), unsafe.Pointer(x), unsafe.Pointer(starts),
		unsafe.Pointer(of)), x, starts)
}

func (s *scope) mix(p, z handle, e *edgesOnDevice) handle {
	if s.err != nil {
		return nil
	}
	message := C.sto_mix(s.result(), unsafe.Pointer(p), unsafe.Pointer(z), unsafe.Pointer(e.from),
		unsafe.Pointer(e.to), unsafe.Pointer(e.in),
		unsafe.Pointer(e.order), unsafe.Pointer(e.outStarts))
	return s.made("mix", message, p, z, e.from, e.in)
}

func (s *scope) result() *unsafe.Pointer { return (*unsafe.Pointer)(unsafe.Pointer(s.out())) }

// made is keep for functions of the shim.
func (s *scope) made(op string, message *C.char, in ...handle) handle {
	if message != nil {
		s.fault(op, unsafe.Pointer(message), in)
		return nil
	}
	return s.keep(op, in...)
}

// differentiate adds to the parameters' gradients, from the gradients w.r.t. the heads' results.
func (w *graphWork) differentiate(heads []int) {
	var roots, grads []unsafe.Pointer
	for _, i := range heads {
		roots, grads = append(roots, unsafe.Pointer(w.heads[i].root)), append(grads, unsafe.Pointer(w.heads[i].grad.h))
	}
	weights, sums := w.net.weights, w.net.sums
	w.s.check("backward", C.sto_backward_all(unsafe.SliceData(roots), unsafe.SliceData(grads), C.size_t(len(roots)),
		unsafe.SliceData(weights), unsafe.SliceData(sums), C.size_t(len(weights))), w.heads[heads[0]].root)
}

// composedSegments makes the CPU compute segments with libtorch's operations, as a GPU does, in the whole process.
func composedSegments(on bool) {
	if on {
		C.sto_composed(1)
	} else {
		C.sto_composed(0)
	}
}

// Operations of libtorch itself.

// affine is x·weight + bias of rows.
func (s *scope) affine(x handle, p linear) handle { return s.addmm(p.bias, x, p.weight) }

// addmm is c + a·b.
func (s *scope) addmm(c, a, b handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgAddmm(s.out(), c, a, b)
	return s.keep("addmm", c, a, b)
}

func (s *scope) mv(a, x handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgMv(s.out(), a, x)
	return s.keep("mv", a, x)
}

// with is x + y, where a nil x is zero.
func (s *scope) with(x, y handle) handle {
	if x == nil {
		return y
	}
	return s.add(x, y)
}

// leaky is LeakyReLU with [nets.Slope]; gotch's binding has a fixed other slope.
func (s *scope) leaky(x handle) handle {
	if s.err != nil {
		return nil
	}
	return s.made("leaky_relu", C.sto_leaky(s.result(), unsafe.Pointer(x), nets.Slope), x)
}

func (s *scope) indexSelect(x, index handle) handle {
	if s.err != nil {
		return nil
	}
	lib.AtgIndexSelect(s.out(), x, 0, index)
	return s.keep("index_select", x, index)
}
