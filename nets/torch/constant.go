//go:build libtorch

package torch

// #include "shim.h"
import "C"

import "unsafe"

// constant makes a tensor in the engine's number format that lives until Close.
func (e *engine) constant(values []float64, shape ...int) handle {
	return e.made(values, e.code, shape)
}

// truth makes a tensor of booleans: true where a value is not 0.
func (e *engine) truth(values []float64, shape ...int) handle {
	return e.made(values, codeBool, shape)
}

func (e *engine) made(values []float64, code int, shape []int) (h handle) {
	e.within("NewNet", e.own, false, func() {
		h = e.own.zeros(code, e.device, shape...)
		if e.own.err == nil {
			e.own.check("copy", C.sto_set(unsafe.Pointer(h), (*C.char)(unsafe.Pointer(unsafe.SliceData(values))),
				C.int64_t(len(values)), codeFloat64), h)
		}
	})
	return h
}
