package cli

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/libtorch"
)

// runInTorch hands the whole command over to stoker-torch where it needs libtorch and this program has none linked in. It returns
// only where that was not needed, or failed.
func runInTorch(e configs.Engine) error {
	if e.Name != engines.Torch || slices.Contains(engines.Names(), engines.Torch) {
		return nil
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

// torchStatus is what was found of libtorch.
func torchStatus(ctx context.Context) libtorch.Report {
	return libtorch.Status(ctx, libtorch.FromEnvironment("."))
}
