package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/internal/machine"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/nets/libtorch"
)

func agentsCommand() *command {
	return &command{
		name: "agents",
		json: "print as JSON",
		run: func(c *call) (any, error) {
			type line struct {
				Name string       `json:"name"`
				Kind catalog.Kind `json:"kind"`
				Envs []string     `json:"envs,omitempty"`
				Doc  string       `json:"doc"`
				Page string       `json:"page,omitempty"`
			}
			var lines []line
			for _, a := range c.Catalog.Learners {
				lines = append(lines, line{a.Name, catalog.Learned, nil, a.Doc, a.Page})
			}
			for _, r := range c.Catalog.Baselines {
				lines = append(lines, line{r.Name, r.Kind, r.Envs, r.Doc, r.Page})
			}
			t := tabwriter.NewWriter(c, 0, 0, 2, ' ', 0)
			for _, l := range lines {
				in := strings.Join(l.Envs, " ")
				if in == "" && l.Kind != catalog.Learned {
					in = "all"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Name, l.Kind, in, l.Doc)
			}
			return lines, t.Flush()
		},
	}
}

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
