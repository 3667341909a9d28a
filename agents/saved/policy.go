package saved

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

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
