//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// parameters implements [core.Learner]: the parameters of a network by name, and their gradients.
type parameters struct {
	*core.Vectors[*tensor]
	b *backend
	// leaves are the parameters by name: views of Params.
	leaves map[string]handle
	// weights lists them for C, and sums the same views of Grads.
	weights, sums []unsafe.Pointer
}

// newParameters makes the views of an architecture's parameters. Stacked, a leaf is [groups, in, out] for weights and
// [groups, 1, out] for the rest, so that both broadcast with [groups, rows, features]; else it has the parameter's own
// shape, and there is one group.
func (b *backend) newParameters(v *core.Vectors[*tensor], stacked bool) (*parameters, error) {
	p := &parameters{Vectors: v, b: b, leaves: map[string]handle{}}
	if b.Failed() { // there may be no memory to view
		return nil, b.Err()
	}
	slots, _ := nets.Layout(v.Arch)
	b.within("NewNet", b.own, false, func() {
		for _, slot := range slots {
			dims, strides := p.shape(slot, stacked)
			h := b.own.view(v.Params.h, dims, strides, slot.Offset)
			p.leaves[slot.Name] = h
			p.weights = append(p.weights, unsafe.Pointer(h))
			p.sums = append(p.sums, unsafe.Pointer(b.own.detach(b.own.view(v.Grads.h, dims, strides, slot.Offset))))
		}
	})
	return p, b.Err()
}

func (p *parameters) shape(slot nets.Slot, stacked bool) (dims, strides []int) {
	rows, cols := 1, slot.Shape[0]
	if len(slot.Shape) == 2 {
		rows, cols = slot.Shape[0], slot.Shape[1]
	}
	switch {
	case stacked:
		return []int{p.Groups, rows, cols}, []int{p.Size, cols, 1}
	case len(slot.Shape) == 2:
		return []int{rows, cols}, []int{cols, 1}
	}
	return []int{cols}, []int{1}
}

// view is a strided part of a flat vector, a leaf of a gradient graph.
func (s *scope) view(flat handle, dims, strides []int, offset int) handle {
	return s.shim("as_strided", func(out *unsafe.Pointer) *C.char {
		v := s.ints(append(dims[:len(dims):len(dims)], strides...)...)
		sizes, steps := (*C.int64_t)(unsafe.Pointer(&v[0])), (*C.int64_t)(unsafe.Pointer(&v[len(dims)]))
		return C.sto_view(out, unsafe.Pointer(flat), sizes, steps, C.size_t(len(dims)), C.int64_t(offset))
	}, flat)
}

func (p *parameters) leaf(format string, args ...any) handle {
	return p.leaves[fmt.Sprintf(format, args...)]
}

// ZeroGrads implements [core.Learner].
func (p *parameters) ZeroGrads() { p.Grads.Clear() }

// version is libtorch's count of the parameters' changes.
func (p *parameters) version() int64 { return lib.Atg_Version(p.Params.h) }

// changed stores a failure where the parameters are not those of a version.
func (p *parameters) changed(op string, version int64) bool {
	if p.version() == version {
		return false
	}
	p.b.Fail(op, "the parameters of %v changed since the Forward", p)
	return true
}
