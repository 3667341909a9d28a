package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval/profiles"
)

func profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "Fit laws of execution time to measured runs, check predictions against measured requests",
		Example: `  stoker profile fit function_profiles.csv
  stoker profile fit runs.csv --out profile/
  stoker profile check app.yaml requests.csv --choice resize=1024`,
		Args: args(0, 0, ""),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(profileFitCommand(), profileCheckCommand(), profileReplayCommand())
	return c
}

func profileFitCommand() *cobra.Command {
	q := profiles.Default()
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "fit FILE",
		Short: "Fit laws to runs in a CSV file, and say how far each errs",
		Long: `Fit laws of a function's mean execution time over its memory size. FILE is a CSV file with a row per run and the columns
function (may be missing), memory (MB) and ms or seconds; pacslab's function_profiles.csv is one.

  exponential  A + B·exp(-C·m), OptiServe's eq. 3.1
  knee         A + B/min(m, K): more memory helps up to the last core that the code uses
  single       A + B/(min(m/M, Q) + C), StepConf's eq. 1 for code of one core
  multi        A + B·exp(-C·min(m/M, Q)), StepConf's eq. 1 for code of several cores
  table        the measured means, with straight lines in logarithms between them

Each is fitted by least squares of relative errors (--plain: of errors in seconds, as the papers do) and judged at memory
sizes that were left out of the fit, one after the other. With --law auto the best of them is taken. The last column is
what the papers' fit gives. With --out the folder gets profile.json, the laws and the predictions as CSV, and figures.`,
		Example: `  stoker profile fit function_profiles.csv
  stoker profile fit runs.csv --law auto --few 12 --out profile/
  stoker profile fit runs.csv --law exponential --plain --json`,
		Args: args(1, 1, "a CSV file of runs"),
		RunE: func(c *cobra.Command, a []string) error {
			if err := q.Validate(); err != nil {
				return usage("%w", err)
			}
			f, err := os.Open(a[0])
			if err != nil {
				return usage("%w", err)
			}
			defer f.Close()
			r, err := profiles.Fit(f, q)
			if err != nil {
				return usage("%s: %w", a[0], err)
			}
			w := c.OutOrStdout()
			var files []string
			if out != "" {
				if files, err = profiles.Write(out, r); err != nil {
					return fmt.Errorf("--out: %w", err)
				}
			}
			if asJSON {
				return printJSON(w, r)
			}
			fmt.Fprint(w, profiles.Text(r))
			for _, f := range files {
				fmt.Fprintf(w, "wrote %s\n", filepath.Join(out, f))
			}
			return nil
		},
	}
	fl := c.Flags()
	fl.StringVar(&q.Law, "law", q.Law, "a law, or auto for the one that errs least at sizes left out")
	countVar(fl, &q.Few, "few", 0, 0, "memory sizes to fit to, spread evenly (0 is all); errors are over all")
	fl.BoolVar(&q.Options.Plain, "plain", false, "least squares of errors in seconds in place of relative ones")
	fl.Float64Var(&q.Options.SingleCore, "single-core", q.Options.SingleCore,
		"memory in MB that gives a whole core (StepConf's m_s)")
	fl.Float64Var(&q.Options.Cores, "cores", 0,
		"cores that the code can use (StepConf's q; 0 is what the largest size gives)")
	fl.StringVar(&out, "out", "", "folder for tables and figures")
	fl.BoolVar(&asJSON, "json", false, "print profile.json")
	completeWords(c, "law", profiles.Laws()...)
	return c
}
