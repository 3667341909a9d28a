//go:build libtorch

package torch

// #include "shim.h"
import "C"

import "unsafe"

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
