package engines

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/gorgonia"
)

// The tests here compare gorgonia with the other engines, whatever the build tags are.
func init() {
	if openGorgonia != nil {
		return
	}
	openGorgonia = func(o Options) (nets.Engine, error) {
		if err := onCPU(Gorgonia, o); err != nil {
			return nil, err
		}
		return gorgonia.New(gorgonia.Options{DType: o.DType})
	}
}
