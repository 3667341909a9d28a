package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// version and commit are set by the Makefile (-ldflags -X).
var version, commit string

// Version is the program's version.
func Version() string {
	if version != "" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
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

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, engines, libtorch and processor",
		Example: "  stoker version\n  stoker version --json",
		Args:    args(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error {
			type line struct {
				Version  string      `json:"version"`
				Revision string      `json:"revision"`
				Go       string      `json:"go"`
				OS       string      `json:"os"`
				Arch     string      `json:"arch"`
				CPU      string      `json:"cpu"`
				Cores    int         `json:"cores"`
				Engines  []nets.Info `json:"engines"`
				Torch    any         `json:"libtorch"`
			}
			l := line{Version(), revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH, train.CPUModel(),
				runtime.NumCPU(), nil, nil}
			native, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
			if err != nil {
				return err
			}
			l.Engines = append(l.Engines, native.Info())
			torch := torchStatus(c.Context())
			l.Torch = torch
			if asJSON {
				return printJSON(c.OutOrStdout(), l)
			}
			w := c.OutOrStdout()
			fmt.Fprintf(w, "stoker %s (%s), %s %s/%s\n", l.Version, l.Revision, l.Go, l.OS, l.Arch)
			fmt.Fprintf(w, "processor  %s, %d cores\n", l.CPU, l.Cores)
			for _, e := range l.Engines {
				fmt.Fprintf(w, "engine     %s on %s, %s kernels, %d threads\n", e.Name, e.Device, e.Kernels, e.Threads)
			}
			for _, line := range torch.Lines() {
				fmt.Fprintln(w, line)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}
