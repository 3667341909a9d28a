//go:build libtorch

package engines

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/torch"
)

var openTorch = func(o Options) (nets.Engine, error) {
	return torch.New(torch.Options{Device: o.Device, DType: o.DType, Threads: o.Threads, Deterministic: o.Deterministic})
}
