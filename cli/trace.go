package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval/traces"
)

func traceCommand() *cobra.Command {
	var s traces.Source
	var env, out string
	var target float64
	var stretch int
	var asJSON bool
	c := &cobra.Command{
		Use:   "trace [FOLDER|FILE]",
		Short: "Say what a trace of requests holds, and which factor an environment serves",
		Long: `Print what a trace holds: functions, requests, rate over time, busiest minute, burstiness. Without an argument it is the
trace inside the program. A folder holds the publisher's files of Azure Functions 2019
(invocations_per_function_md.anon.d01.csv and so on) or one of In-Vitro's samples of them (50_inv.csv). A file is one of
invocations, or has the columns timestamp (RFC 3339, or seconds since 1970), function and count: a row for each function
and minute, or finer. Minutes without a row are zero.

With --env it also says what that environment's action ranges serve, and the settings that bring the trace to
--target-utilisation of it. With --stretch it finds minutes for an episode as FaaSConf's Fig. 7 has them: of all stretches
of that length in the last 30 % of the trace, the one whose thirds are most clearly calm, swinging and bursting. With
--out it draws the trace and writes the figure's data. See docs/traces.md.`,
		Example: `  stoker trace
  stoker trace azure2019/ --sample 100 --out trace/
  stoker trace requests.csv --env stoker/Sizing-v3                 # timestamp,function,count
  stoker trace azure2019/100_inv.csv --env stoker/Sizing-v2 --target-utilisation 0.5
  stoker trace --stretch 85 --out trace/
  stoker trace azurefunctions2019/ --days 1,2,3 --json`,
		Args: args(0, 1, ""),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 1 {
				s.Path = a[0]
			}
			if c.Flags().Changed("target-utilisation") && env == "" {
				return usage("--target-utilisation is one of an environment: name it with --env")
			}
			s.Progress = countProgress(c, "days")
			r, err := traces.Read(s)
			if err != nil {
				return usage("%w", err)
			}
			if env != "" {
				if err := r.ScaleFor(names(c), s, env, target); err != nil {
					return usage("%w", err)
				}
			}
			if stretch > 0 {
				if err := r.FindStretch(stretch); err != nil {
					return usage("--stretch: %w", err)
				}
			}
			if out != "" {
				if err := traces.Write(out, r); err != nil {
					return fmt.Errorf("--out: %w", err)
				}
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), r)
			}
			fmt.Fprint(c.OutOrStdout(), traces.Text(r))
			for _, f := range r.Figures {
				fmt.Fprintf(c.OutOrStdout(), "wrote %s\n", filepath.Join(out, f))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		},
	}
	fl := c.Flags()
	fl.StringVar(&env, "env", "", "environment to scale the trace to, as in stoker/Sizing-v2")
	fl.Float64Var(&target, "target-utilisation", 0.7, "mean load over what the environment serves, with --env")
	countVar(fl, &s.Sample, "sample", 0, 1, "N of In-Vitro's files N_inv.csv, where the folder holds several")
	countsVar(fl, &s.Days, "days", nil, "days of the publisher's files, as in 1,2 (default: all that are there)")
	countVar(fl, &stretch, "stretch", 0, 9,
		"find so many minutes of the evaluation part with a calm, a swinging and a bursting third (FaaSConf has 85)")
	fl.StringVar(&out, "out", "", "folder for the figure and its data")
	fl.BoolVar(&asJSON, "json", false, "print as JSON")
	complete := func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return traces.Loaded(names(c)), cobra.ShellCompDirectiveNoFileComp
	}
	if err := c.RegisterFlagCompletionFunc("env", complete); err != nil {
		panic(err) // the flag was just defined
	}
	return c
}
