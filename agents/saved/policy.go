package saved

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/state"
)

// CopyPolicy makes dst equal to src, which must be of the same type and configuration: the CopyFrom of policies that
// list their state.
func CopyPolicy[T interface {
	envs.Policy
	state.Stater
}](dst T, src envs.Policy) error {
	s, ok := src.(T)
	if !ok {
		return fmt.Errorf("%s: cannot be copied from a %T, want a %T", dst.Name(), src, dst)
	}
	if err := state.Copy(dst, s); err != nil {
		return fmt.Errorf("%s: cannot be copied from another configuration: %w", dst.Name(), err)
	}
	return nil
}

// Finite refuses a loaded state in which a listed number is not finite; what names them.
func Finite(c *state.Codec, what string, numbers ...float64) {
	if !c.Loaded() {
		return
	}
	for i, x := range numbers {
		if x-x != 0 {
			c.Fail(fmt.Errorf("%s %d is %g, want a finite number", what, i, x))
			return
		}
	}
}
