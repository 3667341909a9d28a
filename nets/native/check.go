package native

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// take returns an operand as this engine's tensor, or nil after a failure.
func (e *engine[T]) take(op, what string, t nets.Tensor) *tensor[T] {
	if e.failed() {
		return nil
	}
	x, ok := t.(*tensor[T])
	if !ok || x == nil {
		e.fail(op, "%s is a %T, want a tensor of the native engine in %v", what, t, e.dtype)
		return nil
	}
	return x
}

// alike returns an operand that must have the shape of ref, or nil after a failure.
func (e *engine[T]) alike(op, what string, t nets.Tensor, ref *tensor[T]) *tensor[T] {
	x := e.take(op, what, t)
	if x != nil && !slices.Equal(x.shape, ref.shape) {
		e.fail(op, "%s has shape %v, want %v", what, x.shape, ref.shape)
		return nil
	}
	return x
}

// pair returns two operands of one shape.
func (e *engine[T]) pair(op string, dst, src nets.Tensor) (d, s *tensor[T]) {
	if d = e.take(op, "destination", dst); d == nil {
		return nil, nil
	}
	if s = e.alike(op, "source", src, d); s == nil {
		return nil, nil
	}
	return d, s
}

// isShape says whether a tensor is [agents, batch, width].
func (t *tensor[T]) isShape(agents, batch, width int) bool {
	return len(t.shape) == 3 && t.shape[0] == agents && t.shape[1] == batch && t.shape[2] == width
}
