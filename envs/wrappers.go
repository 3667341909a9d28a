package envs

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
)

// Wrapper is an environment around another one.
type Wrapper interface {
	Env
	// Unwrap returns the environment inside.
	Unwrap() Env
}

// As finds what an environment can do beyond the contract, such as [Sampler] or [DrawTracer], in it or in what it
// wraps: the outermost that has it.
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

// wrapped is what all wrappers have: the environment inside, their own description of it, and how they are copied and
// saved. Methods that a wrapper does not have itself are those of the environment inside.
type wrapped struct {
	Env
	spec *Spec
	self stated // the wrapper
}

// stated is an environment that lists its state.
type stated interface {
	Env
	state.Stater
}

// wrap makes what the wrapper self has of e.
func wrap(e Env, self stated) wrapped {
	s := *e.Spec()
	s.Kinds = slices.Clone(s.Kinds)
	return wrapped{e, &s, self}
}

// Spec describes the wrapped environment.
func (w *wrapped) Spec() *Spec { return w.spec }

// Unwrap returns the environment inside.
func (w *wrapped) Unwrap() Env { return w.Env }

// CopyFrom implements [Env]; the source is a wrapper of the same type.
func (w *wrapped) CopyFrom(src Env) error {
	s, ok := src.(stated)
	if !ok || reflect.TypeOf(src) != reflect.TypeOf(w.self) {
		return fmt.Errorf("%s: cannot be copied from a %T, want a %T", w.spec.ID, src, w.self)
	}
	return state.Copy(w.self, s)
}

// AppendBinary implements [Env].
func (w *wrapped) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, w.kind(), w.self) }

// UnmarshalBinary implements [Env].
func (w *wrapped) UnmarshalBinary(b []byte) error { return state.Load(b, w.kind(), w.self) }

// kind names a saved wrapper.
func (w *wrapped) kind() string { return fmt.Sprintf("%T of %s", w.self, w.spec.ID) }
