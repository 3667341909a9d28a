package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/stoker-rl/stoker/internal/machine"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
)

// version and commit are set by the Makefile (-ldflags -X).
var version, commit string

// module is Stoker's own, whose version counts in other programs too.
const module = "github.com/stoker-rl/stoker"

// Version is Stoker's version.
func Version() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(b.Deps, &b.Main) {
			if m.Path != module {
				continue
			}
			if m.Replace != nil {
				m = m.Replace
			}
			if m.Version != "" {
				return m.Version
			}
		}
	}
	return "(devel)"
}

// ownModule is the module of a program that is not Stoker's own, empty for that.
func ownModule() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Path != module {
		return b.Main.Path
	}
	return ""
}

// revision is the source's revision, where it is known.
func revision() string {
	if commit != "" {
		return commit
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

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
			torch := torchStatus(c.ctx)
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
