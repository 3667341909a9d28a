// Package enginestest lists every engine that tests can compare: those of the binary, and always gorgonia, which
// programs link only when they are built with the tag gorgonia.
package enginestest

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/gorgonia"
)

// Names lists the engines, native first.
func Names() []string {
	names := engines.Names()
	if !slices.Contains(names, engines.Gorgonia) {
		names = append(names, engines.Gorgonia)
	}
	return names
}

// Open returns a new engine on the CPU. Its errors are those of the engine.
func Open(name string, d nets.DType) (nets.Engine, error) {
	if name == engines.Gorgonia {
		return gorgonia.New(gorgonia.Options{DType: d})
	}
	return engines.Open(name, engines.Options{DType: d, Threads: 1})
}
