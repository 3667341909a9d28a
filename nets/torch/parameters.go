//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
)

// parameters implements [nets.Weights]: one flat vector for each group, its gradients, and both by name.
type parameters struct {
	e             *engine
	arch          nets.Arch
	groups, size  int
	params, grads *tensor
	// leaves are the parameters by name: views of params.
	leaves map[string]handle
	// weights lists them for C, and sums the same views of grads.
	weights, sums []unsafe.Pointer
}

// newParameters makes an architecture's parameters. Stacked, a leaf is [groups, in, out] for weights and [groups, 1,
// out] for the rest, so that both broadcast with [groups, rows, features]; else it has the parameter's own shape, and
// there is one group.
func (e *engine) newParameters(op string, a nets.Arch, stacked bool) (*parameters, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	if e.closed.Load() {
		return nil, fmt.Errorf("nets/torch: %s: the engine is closed", op)
	}
	slots, size := nets.Layout(a)
	p := &parameters{e: e, arch: a, groups: a.Groups(), size: size, leaves: map[string]handle{}}
	if _, ok := count([]int{p.groups, size}); !ok {
		return nil, fmt.Errorf("nets/torch: %s: %s has %d parameters for each of %d groups, want at most %d in all",
			op, a.Kind(), size, p.groups, maxValues)
	}
	p.params, p.grads = e.newTensor(op, p.groups, size), e.newTensor(op, p.groups, size)
	e.within(op, e.own, false, func() {
		for _, slot := range slots {
			dims, strides := p.shape(slot, stacked)
			h := e.own.view(p.params.h, dims, strides, slot.Offset)
			p.leaves[slot.Name] = h
			p.weights = append(p.weights, unsafe.Pointer(h))
			p.sums = append(p.sums, unsafe.Pointer(e.own.detach(e.own.view(p.grads.h, dims, strides, slot.Offset))))
		}
	})
	return p, nil
}

func (p *parameters) shape(slot nets.Slot, stacked bool) (dims, strides []int) {
	rows, cols := 1, slot.Shape[0]
	if len(slot.Shape) == 2 {
		rows, cols = slot.Shape[0], slot.Shape[1]
	}
	switch {
	case stacked:
		return []int{p.groups, rows, cols}, []int{p.size, cols, 1}
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

// Arch implements [nets.Weights].
func (p *parameters) Arch() nets.Arch { return p.arch }

// Params implements [nets.Weights].
func (p *parameters) Params() nets.Tensor { return p.params }

// Grads implements [nets.Weights].
func (p *parameters) Grads() nets.Tensor { return p.grads }

// ZeroGrads implements [nets.Weights]. It clears in place: views of the gradients stay views.
func (p *parameters) ZeroGrads() {
	if !p.e.stopped("ZeroGrads") {
		p.e.briefly("ZeroGrads", func(s *scope) { s.zero(p.grads.h) })
	}
}

// String names the net in errors.
func (p *parameters) String() string { return fmt.Sprintf("%s %d", p.arch.Kind(), p.params.id) }

// owned returns the parameters of one of this engine's nets, or nil.
func (e *engine) owned(n nets.Weights) *parameters {
	var p *parameters
	switch x := n.(type) {
	case *net:
		if x != nil {
			p = x.parameters
		}
	case *graphNet:
		if x != nil {
			p = x.parameters
		}
	}
	if p == nil || p.e != e {
		return nil
	}
	return p
}
