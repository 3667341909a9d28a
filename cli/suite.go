package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/suite"
)

type suiteFlags struct {
	quick, json            bool
	seeds, out, data, runs string
	workers                int
}

func suiteCommand() *cobra.Command {
	var f suiteFlags
	c := &cobra.Command{
		Use:   "suite [NAME]",
		Short: "Redo a paper's figures: its numbers, ours and their ratio",
		Long: `Redo the figures of a paper: all policies face the same workloads, one per seed. The table shows the paper's number, ours
with its 95 % interval, and their ratio. Each of the paper's claims holds here, does not hold, or is undecided. Without a
name the suites are listed.

The folder given by --out (default: runs/suites/NAME) gets suite.md, a page of everything, suite.json for programs,
tables as CSV, and the figures as PNG with their data as CSV. A folder that holds anything except an earlier result of the
suite is refused. The same seeds give the same result with any --workers; only gnn-fig1 measures time and differs.

Runs that a suite trains are run folders below --runs. Finished ones are taken as they are and stopped ones go on, so
the same command takes up after Ctrl-C. Faasconf alone trains.`,
		Example: `  stoker suite                                        # the suites
  stoker suite hops --quick                           # under two minutes
  stoker suite hops --seeds 1-50 --out compare/hops
  stoker suite hops --data DATA --json                # with real traces from a folder
  stoker suite faasconf --runs runs                   # trains what runs/ does not have`,
		Args: args(0, 1, ""),
		RunE: func(c *cobra.Command, a []string) error {
			if len(a) == 0 {
				return listSuites(c, f)
			}
			return runSuite(c, a[0], f)
		},
		ValidArgsFunction: func(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			var out []string
			if len(a) == 0 {
				for _, s := range program(c).Suites {
					out = append(out, s.Name+"\t"+s.Doc)
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	fl := c.Flags()
	fl.BoolVar(&f.quick, "quick", false, "fewer seeds and shorter runs: under two minutes on two cores")
	seedsVar(fl, &f.seeds, "seeds", "workload seeds, as in 1-20 (default: the suite's)")
	fl.StringVar(&f.out, "out", "", "folder of the result, as in compare/hops (default: runs/suites/NAME)")
	fl.StringVar(&f.runs, "runs", "runs", "folder of the runs that the suite trains, or takes where they are there")
	countVar(fl, &f.workers, "workers", 0, 0, "episodes that run at the same time, as in 4; 0 is one per core")
	fl.StringVar(&f.data, "data", "",
		"folder of real traces that are not part of the program, as in DATA/azure2019/100_inv.csv for --data DATA")
	fl.BoolVar(&f.json, "json", false, "print suite.json instead of the table, or the list as JSON")
	return c
}

// suitesDir is where results go that are given no folder.
const suitesDir = "runs/suites"

func listSuites(c *cobra.Command, f suiteFlags) error {
	if c.Flags().Changed("quick") || f.seeds != "" || f.out != "" || f.data != "" || c.Flags().Changed("workers") ||
		c.Flags().Changed("runs") {
		return usage("no suite is named; see: stoker suite")
	}
	type line struct {
		Name  string `json:"name"`
		Doc   string `json:"doc"`
		Paper string `json:"paper"`
		Seeds int    `json:"seeds"`
	}
	lines := []line{}
	for _, s := range program(c).Suites {
		lines = append(lines, line{s.Name, s.Doc, s.Paper, s.Seeds})
	}
	if f.json {
		return printJSON(c.OutOrStdout(), lines)
	}
	t := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\n\t%s\n", l.Name, l.Doc, l.Paper)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.OutOrStdout(), "\nrun one:  stoker suite %s --quick\n", lines[0].Name)
	return err
}

func runSuite(c *cobra.Command, name string, f suiteFlags) error {
	s, err := suite.Find(program(c).Suites, name)
	if err != nil {
		return usage("%w", err)
	}
	o := suite.Options{Quick: f.quick, Workers: f.workers, Data: f.data, Runs: f.runs, Progress: stageProgress(c)}
	if f.seeds != "" {
		if o.Seeds, err = configs.ParseSeeds(f.seeds); err != nil {
			return err
		}
	}
	if f.data != "" {
		if info, err := os.Stat(f.data); err != nil || !info.IsDir() {
			return usage("--data is %s, want a folder", f.data)
		}
	}
	out := f.out
	if out == "" {
		out = filepath.Join(filepath.FromSlash(suitesDir), s.Name)
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing but trained runs is kept")
	defer release()
	res, err := suite.Run(ctx, s, o, out, suite.Made{Version: Version(), Revision: revision()})
	if err != nil {
		return err
	}
	w := c.OutOrStdout()
	if f.json {
		return printJSON(w, res)
	}
	fmt.Fprintf(w, "%s\npage:    %s\ndata:    %s\n", suite.Text(res), filepath.Join(out, suite.PageFile),
		filepath.Join(out, suite.ResultFile))
	for _, fig := range res.Figures {
		fmt.Fprintf(w, "figure:  %s\n", filepath.Join(out, fig))
	}
	fmt.Fprintf(w, "again:   %s\n", res.Command)
	return nil
}

// stageProgress shows how far each stage of a suite is.
func stageProgress(c *cobra.Command) func(stage string, done, all int) {
	now, show := "", func(int, int) {}
	return func(stage string, done, all int) {
		if stage != now {
			now, show = stage, countProgress(c, stage)
		}
		show(done, all)
	}
}
