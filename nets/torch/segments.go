//go:build libtorch

package torch

// #include "segments.h"
import "C"

import (
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
)

// The operations of segments.h.

// rows is x[index]; see sto_gather.
func (s *scope) rows(x, index, order, starts handle) handle {
	return s.shim("gather", func(out *unsafe.Pointer) *C.char {
		return C.sto_gather(out, unsafe.Pointer(x), unsafe.Pointer(index), unsafe.Pointer(order), unsafe.Pointer(starts))
	}, x, index)
}

func (s *scope) segmentSum(x, starts, of handle) handle {
	return s.shim("segment sum", func(out *unsafe.Pointer) *C.char {
		return C.sto_segment_sum(out, unsafe.Pointer(x), unsafe.Pointer(starts), unsafe.Pointer(of))
	}, x, starts)
}

func (s *scope) segmentSoftmax(x, starts, of handle) handle {
	return s.shim("segment softmax", func(out *unsafe.Pointer) *C.char {
		return C.sto_segment_softmax(out, unsafe.Pointer(x), unsafe.Pointer(starts), unsafe.Pointer(of))
	}, x, starts)
}

func (s *scope) mix(p, z handle, e *edgesOnDevice) handle {
	return s.shim("mix", func(out *unsafe.Pointer) *C.char {
		return C.sto_mix(out, unsafe.Pointer(p), unsafe.Pointer(z), unsafe.Pointer(e.from), unsafe.Pointer(e.to),
			unsafe.Pointer(e.in), unsafe.Pointer(e.order), unsafe.Pointer(e.outStarts))
	}, p, z, e.from, e.in)
}

// differentiate adds to the parameters' gradients, from the gradients w.r.t. the heads' results.
func (w *graphWork) differentiate(heads []int) {
	var roots, grads []unsafe.Pointer
	for _, i := range heads {
		roots, grads = append(roots, unsafe.Pointer(w.roots[i])), append(grads, unsafe.Pointer(w.Heads[i].Grad.h))
	}
	weights, sums := w.net.weights, w.net.sums
	w.s.check("backward", C.sto_backward_all(unsafe.SliceData(roots), unsafe.SliceData(grads), C.size_t(len(roots)),
		unsafe.SliceData(weights), unsafe.SliceData(sums), C.size_t(len(weights))), w.roots[heads[0]])
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
func (s *scope) addmm(c, a, b handle) handle { return s.three("addmm", lib.AtgAddmm, c, a, b) }

func (s *scope) mv(a, x handle) handle { return s.both("mv", lib.AtgMv, a, x) }

// with is x + y, where a nil x is zero.
func (s *scope) with(x, y handle) handle {
	if x == nil {
		return y
	}
	return s.add(x, y)
}

// leaky is LeakyReLU with [nets.Slope]; gotch's binding has a fixed other slope.
func (s *scope) leaky(x handle) handle {
	return s.shim("leaky_relu", func(out *unsafe.Pointer) *C.char { return C.sto_leaky(out, unsafe.Pointer(x), nets.Slope) }, x)
}

func (s *scope) indexSelect(x, index handle) handle {
	return s.call("index_select", func(out *handle) { lib.AtgIndexSelect(out, x, 0, index) }, x, index)
}
