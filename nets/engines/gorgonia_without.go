//go:build !gorgonia

package engines

import "github.com/stoker-rl/stoker/nets"

// openGorgonia is nil: this binary was built without gorgonia, most of whose modules are large and slow to build.
var openGorgonia func(o Options) (nets.Engine, error)
