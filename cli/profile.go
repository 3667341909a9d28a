package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval/profiles"
)

func profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "Fit laws of execution time to measurements, check predictions against measured requests",
		Example: `  stoker profile fit windows.csv --out profile/
  stoker profile fit function_profiles.csv
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
		Short: "Fit laws to measurements in a CSV file, and say how far each errs",
		Long: `Fit laws of functions' execution times. The header of FILE says which laws; function may be missing, seconds stand for ms,
cores for cpu (millicores):

  function, cpu, instances, rate, ms   a row per window: the laws of env.laws in stoker/Sizing-v3. rate is in requests a
                                       second of all instances (or requests and window, in seconds), ms the mean time;
                                       limit (requests at once in an instance) and memory_mb may be there
  function, cpu, inside, ms            a row per request: the same laws. inside is the number of requests in the
                                       instance while this one ran, itself included
  function, memory, ms                 a row per run: laws over the memory size (MB); pacslab's function_profiles.csv is one

The laws of env.laws are printed as YAML for the configuration that stoker new sizing writes (stoker new sizing NAME --laws
LAWS takes them in). A number that the measurements do not tell is named, with what was taken and what to measure. With
--out the folder gets laws.yaml, laws.json, settings and predictions as CSV, and a figure.

The laws over memory:

  exponential  A + B·exp(-C·m), OptiServe's eq. 3.1
  knee         A + B/min(m, K): more memory helps up to the last core that the code uses
  single       A + B/(min(m/M, Q) + C), StepConf's eq. 1 for code of one core
  multi        A + B·exp(-C·min(m/M, Q)), StepConf's eq. 1 for code of several cores
  table        the measured means, with straight lines in logarithms between them

Each is fitted by least squares of relative errors (--plain: of errors in seconds, as the papers do) and judged at memory
sizes that were left out of the fit, one after the other. With --law auto the best of them is taken. The last column is
what the papers' fit gives. With --out the folder gets profile.json, the laws and the predictions as CSV, and figures.
--law, --few, --plain, --single-core and --cores are for these laws alone.`,
		Example: `  stoker profile fit windows.csv --out profile/
  stoker profile fit function_profiles.csv
  stoker profile fit runs.csv --law auto --few 12 --out profile/
  stoker profile fit runs.csv --law exponential --plain --json`,
		Args: args(1, 1, "a CSV file of measurements"),
		RunE: func(c *cobra.Command, a []string) error {
			if err := q.Validate(); err != nil {
				return usage("%w", err)
			}
			f, err := os.Open(a[0])
			if err != nil {
				return usage("%w", err)
			}
			defer f.Close()
			b := bufio.NewReader(f)
			kind, err := profiles.KindOf(b)
			if err != nil {
				return usage("%s: %w", a[0], err)
			}
			p := fitted{out: out, json: asJSON}
			if kind != profiles.RunRows {
				for _, name := range []string{"law", "few", "plain", "single-core", "cores"} {
					if c.Flags().Changed(name) {
						return usage("--%s is for runs over memory sizes, and %s has %s", name, a[0], kind)
					}
				}
				r, err := profiles.FitLaws(b, filepath.Base(a[0]))
				if err != nil {
					return usage("%s: %w", a[0], err)
				}
				return p.show(c.OutOrStdout(), r, profiles.LawsText(r), func() ([]string, error) { return profiles.WriteLaws(out, r) })
			}
			r, err := profiles.Fit(b, q)
			if err != nil {
				return usage("%s: %w", a[0], err)
			}
			return p.show(c.OutOrStdout(), r, profiles.Text(r), func() ([]string, error) { return profiles.Write(out, r) })
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

// fitted says where a fit is shown.
type fitted struct {
	out  string
	json bool
}

// show writes the files where a folder is named, and prints the result r, or its text and the files.
func (p fitted) show(w io.Writer, r any, text string, write func() ([]string, error)) error {
	var files []string
	if p.out != "" {
		var err error
		if files, err = write(); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if p.json {
		return printJSON(w, r)
	}
	fmt.Fprint(w, text)
	for _, f := range files {
		fmt.Fprintf(w, "wrote %s\n", filepath.Join(p.out, f))
	}
	return nil
}
