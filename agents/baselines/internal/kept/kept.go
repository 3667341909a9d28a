// Package kept is what baselines have in common as policies, tuners and planners: a name, and saving, loading and copying
// what they list as their state.
//
// Not here: how a baseline decides, and policies with frozen weights (agents/internal/frozen).
package kept

import (
	"fmt"
	"reflect"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// Saved names a baseline, and saves and loads what the baseline lists as its state.
type Saved struct {
	name string
	self state.Stater
}

// Save returns the Saved that self embeds.
func Save(name string, self state.Stater) Saved { return Saved{name, self} }

// Name is short and stable: it labels results.
func (s *Saved) Name() string { return s.name }

// AppendBinary implements encoding.BinaryAppender.
func (s *Saved) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, s.name, s.self) }

// UnmarshalBinary implements encoding.BinaryUnmarshaler.
func (s *Saved) UnmarshalBinary(b []byte) error { return state.Load(b, s.name, s.self) }

// Policy is all of an [envs.Policy] but acting. A baseline with a changing state has a Reset and a State of its own.
type Policy struct{ Saved }

// As returns the Policy that self embeds.
func As(name string, self interface {
	envs.Policy
	state.Stater
}) Policy {
	return Policy{Save(name, self)}
}

// Reset implements [envs.Policy]: nothing changes.
func (*Policy) Reset(uint64) error { return nil }

// State implements [state.Stater]: nothing changes.
func (*Policy) State(*state.Codec) {}

// CopyFrom implements [envs.Policy]: src must be of the same type and configuration.
func (p *Policy) CopyFrom(src envs.Policy) error {
	if reflect.TypeOf(src) != reflect.TypeOf(p.self) {
		return fmt.Errorf("%s: cannot be copied from a %T, want a %T", p.name, src, p.self)
	}
	if err := state.Copy(p.self, src.(state.Stater)); err != nil {
		return fmt.Errorf("%s: cannot be copied from another configuration: %w", p.name, err)
	}
	return nil
}

// Stateless is all of an [envs.Policy] but acting, for a rule that reads the present observation only and saves nothing.
type Stateless string

// Name implements [envs.Policy].
func (s Stateless) Name() string { return string(s) }

// Reset implements [envs.Policy].
func (Stateless) Reset(uint64) error { return nil }

// CopyFrom implements [envs.Policy].
func (s Stateless) CopyFrom(src envs.Policy) error {
	if src.Name() != string(s) {
		return fmt.Errorf("%s: cannot be copied from %s", string(s), src.Name())
	}
	return nil
}

// AppendBinary implements [envs.Policy]: there is nothing to save.
func (Stateless) AppendBinary(b []byte) ([]byte, error) { return b, nil }

// UnmarshalBinary implements [envs.Policy].
func (s Stateless) UnmarshalBinary(b []byte) error {
	if len(b) != 0 {
		return fmt.Errorf("%s: saved state has %d bytes, want none", string(s), len(b))
	}
	return nil
}
