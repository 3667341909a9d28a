package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/pareto"
)

func frontierCommand() *cobra.Command {
	q := eval.FrontierRequest{Levels: []float64{0.02, 0.05, 0.1}, Resamples: 2000}
	var seeds, out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "frontier [RUN…]",
		Short: "Draw price over violations of policies under several settings, and compare prices at equal violations",
		Long: `Play policies under several settings on the same workload seeds, draw each family's price over its violations, and print
the price at equal violations: by interpolation along each frontier, with intervals of a bootstrap over workload seeds and
training seeds. Policies that are cheaper only because they violate more gain nothing by it here.

A run, a checkpoint or a policy of the zoo plays under every value of --dial (env.reward.dial), where it was trained with
one. --rival adds a rival under several values of one of its keys. The first family is what the others are compared with.
The folder gets frontier.json, the points and the prices as CSV, and the figure.`,
		Example: `  stoker frontier --config configs/sizing/attmf.yaml --rival rule --rival autoscaler.cpu=0.2,0.4,0.6,0.8 --out frontier/
  stoker frontier runs/faasconf-s1 --dial 0.5,1,2,4,8 --rival rule.weight=1,2,4 --rival oracle.weight=2,5 --out frontier/
  stoker frontier runs/faasconf-s* --dial 1,2,4 --levels 0.03 --set workload.factor=0.9 --out heavier/ --json`,
		Args: args(0, -1, ""),
		RunE: func(c *cobra.Command, a []string) error {
			q.Names, q.Paths = names(c), a
			if out == "" {
				return usage("--out is missing: a folder for the result")
			}
			if err := eval.ParseLevels(q.Levels); err != nil {
				return err
			}
			if seeds != "" {
				q.Sets = append(q.Sets, "eval.seeds="+seeds)
			}
			if q.Workers == 0 {
				q.Workers = runtime.GOMAXPROCS(0)
			}
			if err := os.MkdirAll(out, 0o777); err != nil { // before the work, not after it
				return fmt.Errorf("--out: %w", err)
			}
			ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing is written")
			defer release()
			q.Progress = evalProgress(c)
			r, err := eval.RunFrontier(ctx, q)
			if err != nil {
				return err
			}
			r.Command, r.Version, r.Revision = os.Args, Version(), revision()
			files, err := pareto.Write(out, r)
			if err != nil {
				return fmt.Errorf("writing %s: %w", out, err)
			}
			w := c.OutOrStdout()
			if asJSON {
				return printJSON(w, r)
			}
			fmt.Fprintln(w, pareto.Text(r))
			for _, f := range files {
				fmt.Fprintf(w, "wrote %s\n", filepath.Join(out, f))
			}
			return nil
		},
	}
	c.AddCommand(frontierPanelsCommand())
	fl := c.Flags()
	fl.StringSliceVar(&q.Dial, "dial", nil, "values of env.reward.dial under which learned policies play, as in 0.5,1,2,4")
	fl.StringArrayVar(&q.Rivals, "rival", nil, "a rival, or a key of it and values, as in autoscaler.cpu=0.3,0.5 (repeatable)")
	fl.Float64SliceVar(&q.Levels, "levels", q.Levels, "shares of violated windows at which prices are compared")
	fl.StringVar(&q.Config, "config", "", "configuration of environment and workload (default: that of the first checkpoint)")
	seedsVar(fl, &seeds, "seeds", "workload seeds, as in 1-20 (default: the configuration's)")
	fl.StringArrayVar(&q.Sets, "set", nil, "set a key of the configuration (repeatable)")
	countVar(fl, &q.Resamples, "resamples", q.Resamples, 100, "bootstrap resamples")
	countVar(fl, &q.Workers, "workers", 0, 1, "goroutines that play (default: one per core)")
	fl.StringVar(&out, "out", "", "folder for the result")
	fl.BoolVar(&asJSON, "json", false, "print frontier.json")
	completeSets(c, "set")
	completeRivals(c)
	return c
}

// completeRivals completes --rival by the rivals' names.
func completeRivals(c *cobra.Command) {
	complete := func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		var out []string
		for _, r := range names(c).Rivals {
			out = append(out, r.Name+"\t"+r.Doc)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	if err := c.RegisterFlagCompletionFunc("rival", complete); err != nil {
		panic(err) // the flag was just defined
	}
}

func frontierPanelsCommand() *cobra.Command {
	var out string
	columns, limit := 4, 0.5
	c := &cobra.Command{
		Use:   "panels FOLDER…",
		Short: "Draw several frontiers as panels of one figure",
		Long: `Draw the frontiers in several folders of "stoker frontier" as panels of one figure, each with its folder's name, in row order.
A family has one colour in all of them. The folder given by --out gets the figure, and all points and prices as CSV.`,
		Example: `  for f in 0.3 0.6; do stoker frontier zoo:faasconf --dial 1,2,4 --rival rule --set workload.factor=$f --out fr/factor-$f; done
  stoker frontier panels fr/factor-0.3 fr/factor-0.6 --columns 2 --out fr/all`,
		Args: args(1, -1, "a folder of stoker frontier"),
		RunE: func(c *cobra.Command, a []string) error {
			if out == "" {
				return usage("--out is missing: a folder for the figure")
			}
			if !(limit > 0) {
				return usage("--up-to is %g, want more than 0", limit)
			}
			results, err := pareto.Load(a)
			if err != nil {
				return err
			}
			files, err := pareto.WritePanels(out, results, columns, limit)
			if err != nil {
				return fmt.Errorf("writing %s: %w", out, err)
			}
			for _, f := range files {
				fmt.Fprintf(c.OutOrStdout(), "wrote %s\n", filepath.Join(out, f))
			}
			return nil
		},
	}
	fl := c.Flags()
	countVar(fl, &columns, "columns", columns, 1, "panels in a row")
	fl.Float64Var(&limit, "up-to", limit, "points with more violations than this are not drawn (the CSV has them)")
	fl.StringVar(&out, "out", "", "folder for the figure")
	return c
}
