package envs

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Wrapper is an environment around another one.
type Wrapper interface {
	Env
	// Unwrap returns the environment inside.
	Unwrap() Env
}

// As finds what an environment can do beyond the contract, such as [Sampler] or [DrawTracer], in it or in what it wraps: the
// outermost that has it.
func As[T any](e Env) (T, bool) {
	for {
		if t, ok := e.(T); ok {
			return t, true
		}
		w, ok := e.(Wrapper)
		if !ok {
			var none T
			return none, false
		}
		e = w.Unwrap()
	}
}

// wrapped is what all wrappers have: the environment inside and their own description of it. Methods that a wrapper does not
// have itself are those of the environment inside.
type wrapped struct {
	Env
	spec *Spec
}

func wrap(e Env) wrapped {
	s := *e.Spec()
	s.Kinds = slices.Clone(s.Kinds)
	return wrapped{e, &s}
}

// Spec describes the wrapped environment.
func (w *wrapped) Spec() *Spec { return w.spec }

// Unwrap returns the environment inside.
func (w *wrapped) Unwrap() Env { return w.Env }

// sameWrapper returns src as the wrapper that dst is.
func sameWrapper[T any](dst T, src Env) (T, error) {
	s, ok := src.(T)
	if !ok {
		return dst, fmt.Errorf("envs: copy from a %T, want a %T", src, dst)
	}
	return s, nil
}

// appendInner appends the state of the environment inside, with its length before it.
func (w *wrapped) appendInner(b []byte) ([]byte, error) {
	at := len(b)
	b, err := w.Env.AppendBinary(binary.LittleEndian.AppendUint64(b, 0))
	if err != nil {
		return nil, err
	}
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-8))
	return b, nil
}

// readInner restores the environment inside, whose state must be all that is left.
func (w *wrapped) readInner(r *stateReader) error {
	n := r.uint64()
	if r.err == nil && n != uint64(len(r.b)) {
		return fmt.Errorf("envs: wrapped environment's state has %d bytes, want %d", len(r.b), n)
	}
	if r.err != nil {
		return r.err
	}
	return w.Env.UnmarshalBinary(r.b)
}
