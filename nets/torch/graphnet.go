//go:build libtorch

package torch

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// NewGraphNet implements [nets.Engine].
func (e *engine) NewGraphNet(nets.Graph) (nets.GraphNet, error) {
	return nil, fmt.Errorf("torch: this engine doesn't build networks over graphs")
}
