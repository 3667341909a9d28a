package gorgonia

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// parameters implements [nets.Weights].
type parameters[T number] struct {
	e             *engine[T]
	arch          nets.Arch
	groups, size  int
	slots         map[string]nets.Slot
	params, grads *tensor[T]
}

func (e *engine[T]) newParameters(op string, a nets.Arch) (*parameters[T], error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	slots, size := nets.Layout(a)
	p := &parameters[T]{e: e, arch: a, groups: a.Groups(), size: size, slots: map[string]nets.Slot{}}
	for _, s := range slots {
		p.slots[s.Name] = s
	}
	p.params, p.grads = e.newTensor(op, p.groups, size), e.newTensor(op, p.groups, size)
	return p, nil
}

// Arch implements [nets.Weights].
func (p *parameters[T]) Arch() nets.Arch { return p.arch }

// Params implements [nets.Weights].
func (p *parameters[T]) Params() nets.Tensor { return p.params }

// Grads implements [nets.Weights].
func (p *parameters[T]) Grads() nets.Tensor { return p.grads }

// ZeroGrads implements [nets.Weights].
func (p *parameters[T]) ZeroGrads() {
	if !p.e.failed() {
		p.grads.version++
		clear(p.grads.data)
	}
}

// String names the net in errors.
func (p *parameters[T]) String() string { return fmt.Sprintf("%s %d", p.arch.Kind(), p.params.id) }

// owned returns the parameters of one of this engine's nets, or nil.
func (e *engine[T]) owned(n nets.Weights) *parameters[T] {
	var p *parameters[T]
	switch x := n.(type) {
	case *net[T]:
		if x != nil {
			p = x.parameters
		}
	case *graphNet[T]:
		if x != nil {
			p = x.parameters
		}
	}
	if p == nil || p.e != e {
		return nil
	}
	return p
}
