//go:build !libtorch

package engines

import "github.com/stoker-rl/stoker/nets"

// openTorch is nil: this binary was built without libtorch.
var openTorch func(o Options) (nets.Engine, error)
