package check

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

// Context says what no learner whose state is saved as float32 can be made for: no copies of the environment, or an
// engine of another precision.
func Context(ctx *agents.Context) error {
	if ctx.Copies < 1 {
		return fmt.Errorf("copies is %d, want at least 1", ctx.Copies)
	}
	if d := ctx.Train.Info().DType; d != nets.Float32.String() {
		return fmt.Errorf("the engine computes in %s, want float32: states are saved as float32", d)
	}
	return nil
}
