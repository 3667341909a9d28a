package native

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// NewGraphNet implements [nets.Engine].
func (e *engine[T]) NewGraphNet(nets.Graph) (nets.GraphNet, error) {
	return nil, fmt.Errorf("native: this engine doesn't build networks over graphs")
}
