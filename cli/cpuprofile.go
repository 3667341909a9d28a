package cli

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/train"
)

// profiled writes a CPU profile to a new file at path until stop is called; nothing where path is empty.
func profiled(path string) (stop func(*cobra.Command), err error) {
	if path == "" {
		return func(*cobra.Command) {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, usage("--cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("--cpuprofile: %w", err)
	}
	return func(c *cobra.Command) {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "--cpuprofile: %v\n", err)
			return
		}
		fmt.Fprintf(c.ErrOrStderr(), "profile:    go tool pprof -top %s\n", quote(path))
	}, nil
}

// printPhases says where a run's time went.
func printPhases(w io.Writer, phases []train.Phase) {
	for _, p := range phases {
		fmt.Fprintf(w, "%-9s %8.2f s %5.1f %%\n", p.Name, p.Seconds, 100*p.Share)
	}
}
