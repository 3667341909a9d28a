package envs

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

// CopyState makes dst equal to src, or to the environment of dst's type that src wraps. It is the CopyFrom of
// environments that list their state.
func CopyState[T interface {
	Env
	state.Stater
}](dst T, src Env) error {
	s, ok := As[T](src)
	if !ok {
		return fmt.Errorf("%s: cannot be copied from a %T, want a %T", dst.Spec().ID, src, dst)
	}
	if err := state.Copy(dst, s); err != nil {
		return fmt.Errorf("%s: %w", dst.Spec().ID, err)
	}
	return nil
}

// CopyPolicy makes dst equal to src, a policy of dst's type. It is the CopyFrom of policies that list their state.
func CopyPolicy[T interface {
	Policy
	state.Stater
}](dst T, src Policy) error {
	s, ok := src.(T)
	if !ok {
		return fmt.Errorf("%s: cannot be copied from a %T, want a %T", dst.Name(), src, dst)
	}
	if err := state.Copy(dst, s); err != nil {
		return fmt.Errorf("%s: cannot be copied from another configuration: %w", dst.Name(), err)
	}
	return nil
}
