package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/libtorch"
	"github.com/stoker-rl/stoker/train"
)

// trainInTorch hands a training over to stoker-torch where it trains with libtorch, by its configuration or by what
// engine.device: auto chooses there, and this program has none linked in. Where it was chosen and stoker-torch is not
// there, training goes on here, and says so.
func trainInTorch(x *configs.Experiment) error {
	if x.Engine.Device != "auto" || x.Engine.Name != engines.Native {
		return runInTorch(x.Engine)
	}
	on, err := train.Choose(x, train.GPUs(), []string{engines.Native, engines.Torch})
	if err != nil || on.Engine == engines.Native || ownModule() != "" {
		return nil //nolint:nilerr // what is wrong is said where it is needed
	}
	if _, err := libtorch.FindBinary(); err != nil {
		return nil //nolint:nilerr // see above
	}
	return runInTorch(configs.Engine{Name: on.Engine, Device: on.Device})
}

// runInTorch hands the whole command over to stoker-torch where it needs libtorch and this program has none linked
// in. It returns only where that was not needed, or failed.
func runInTorch(e configs.Engine) error {
	if e.Name != engines.Torch || slices.Contains(engines.Names(), engines.Torch) {
		return nil
	}
	if m := ownModule(); m != "" {
		return usage("engine %s: %s has no libtorch in it, and stoker-torch does not know the rows of %s; "+
			"want --engine %s --device cpu", engines.Torch, filepath.Base(os.Args[0]), m, engines.Native)
	}
	what := "--engine torch"
	if strings.HasPrefix(e.Device, "cuda") {
		what = "--device " + e.Device
	}
	binary, err := libtorch.FindBinary()
	if err != nil {
		return libtorch.Unavailable(what, err)
	}
	l, err := libtorch.Prepare(binary, os.Args[1:], os.Environ())
	if err != nil {
		return libtorch.Unavailable(what, err)
	}
	return replaceProcess(l.Path, l.Args, l.Env)
}
