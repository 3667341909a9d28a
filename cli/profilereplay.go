package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval/profiles"
)

func profileReplayCommand() *cobra.Command {
	o := profiles.DefaultReplay()
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "replay FILE",
		Short: "Say how many runs a law needs: buy measured runs as Parrotfish would, and at sizes spread evenly",
		Long: `Replay the profiling of functions that were measured at many memory sizes. FILE is as for profile fit, with at least 11
runs at each size. Parrotfish measures first the smallest size, one at a third and the largest one, then each time the size
with the least cost·(1 + knowledge), where knowledge is that of the sizes around it that were measured; OptiServe profiles
functions this way. The other design spreads the same number of sizes evenly. Two laws are fitted to what was bought: the
exponential one by plain least squares, as the papers do, and the law that errs least at sizes left out. Errors are over
all sizes of FILE.`,
		Example: `  stoker profile replay function_profiles.csv
  stoker profile replay function_profiles.csv --samples 4 --seeds 20 --out replay/`,
		Args: args(1, 1, "a CSV file of runs"),
		RunE: func(c *cobra.Command, a []string) error {
			f, err := os.Open(a[0])
			if err != nil {
				return usage("%w", err)
			}
			defer f.Close()
			r, err := profiles.Replay(f, o)
			if err != nil {
				return usage("%s: %w", a[0], err)
			}
			w := c.OutOrStdout()
			var files []string
			if out != "" {
				if files, err = profiles.WriteReplay(out, r); err != nil {
					return fmt.Errorf("--out: %w", err)
				}
			}
			if asJSON {
				return printJSON(w, r)
			}
			fmt.Fprint(w, profiles.ReplayText(r))
			for _, f := range files {
				fmt.Fprintf(w, "wrote %s\n", filepath.Join(out, f))
			}
			return nil
		},
	}
	fl := c.Flags()
	countVar(fl, &o.Parrotfish.Samples, "samples", o.Parrotfish.Samples, 1, "runs at each size at first (4 in Parrotfish's code)")
	countVar(fl, &o.Seeds, "seeds", o.Seeds, 2, "times that each function is profiled")
	countVar(fl, &o.Points, "sizes", o.Points, 4, "most memory sizes that are bought")
	fl.StringVar(&out, "out", "", "folder for table and figure")
	fl.BoolVar(&asJSON, "json", false, "print the errors as JSON")
	return c
}
