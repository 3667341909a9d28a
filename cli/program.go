package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/machine"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/libtorch"
	"github.com/stoker-rl/stoker/train"
)

// version and commit are set by the Makefile (-ldflags -X).
var version, commit string

// module is Stoker's own, whose version counts in other programs too.
const module = "github.com/stoker-rl/stoker"

// built is what the compiler noted: this module, the main one and the source's revision. Where it noted nothing, all is "".
var built = sync.OnceValue(func() (b struct{ version, main, revision string }) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.main = info.Main.Path
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != module || b.version != "" {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		b.version = m.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.revision = s.Value
		}
	}
	return b
})

// Version is Stoker's version.
func Version() string { return cmp.Or(version, built().version, "(devel)") }

// ownModule is the module of a program that is not Stoker's own, empty for that.
func ownModule() string {
	if main := built().main; main != module {
		return main
	}
	return ""
}

// revision is the source's revision, where it is known.
func revision() string { return cmp.Or(commit, built().revision, "unknown") }

// versionLine is what --version prints.
func versionLine() string {
	in := ""
	if m := ownModule(); m != "" {
		in = " in " + m
	}
	return fmt.Sprintf("stoker %s (%s)%s, %s %s/%s", Version(), revision(), in, runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
}

func versionCommand() *command {
	return &command{
		name: "version", json: "print as JSON",
		run: func(c *call) (any, error) {
			type line struct {
				Version  string      `json:"version"`
				Revision string      `json:"revision"`
				Program  string      `json:"program,omitempty"` // the module, where it is not Stoker's own
				Go       string      `json:"go"`
				OS       string      `json:"os"`
				Arch     string      `json:"arch"`
				CPU      string      `json:"cpu"`
				Cores    int         `json:"cores"`
				Engines  []nets.Info `json:"engines"`
				Torch    any         `json:"libtorch"`
			}
			l := line{Version(), revision(), ownModule(), runtime.Version(), runtime.GOOS, runtime.GOARCH, machine.CPU(),
				runtime.NumCPU(), nil, nil}
			native, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
			if err != nil {
				return nil, err
			}
			l.Engines = append(l.Engines, native.Info())
			torch := libtorch.Status(c.ctx, libtorch.FromEnvironment("."))
			l.Torch = torch
			fmt.Fprintln(c, versionLine())
			fmt.Fprintf(c, "processor  %s, %d cores\n", l.CPU, l.Cores)
			for _, e := range l.Engines {
				fmt.Fprintf(c, "engine     %s on %s, %s kernels, %d threads\n", e.Name, e.Device, e.Kernels, e.Threads)
			}
			for _, line := range torch.Lines() {
				fmt.Fprintln(c, line)
			}
			return l, nil
		},
	}
}

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
