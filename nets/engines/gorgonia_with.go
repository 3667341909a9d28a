//go:build gorgonia

package engines

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/gorgonia"
)

var openGorgonia = func(o Options) (nets.Engine, error) {
	if err := onCPU(Gorgonia, o); err != nil {
		return nil, err
	}
	return gorgonia.New(gorgonia.Options{DType: o.DType})
}
