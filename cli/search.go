package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/eval/fit"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/train"
)

// searchFlags are the flags of search.
type searchFlags struct {
	fit.Options
	minutes float64
	sets    []string
	out     string
	json    bool
}

func searchCommand() *cobra.Command {
	f := searchFlags{Options: fit.DefaultOptions()}
	c := &cobra.Command{
		Use:   "search RIVAL CONFIG",
		Short: "Find the numbers of a rival by cross-entropy search, on the training part of the workload",
		Long: `Find the numbers of a rival by cross-entropy search: draw many candidates, let all play the same episodes, and draw the next
around the best. The score is the environment's return, so env.reward says what is looked for. Episodes are of the training
part of the workload, with seeds 1 to 4000; the result is then measured on seeds 4001 to 4100.

The file written holds the rival's configuration and where it comes from. Name it in an evaluation by the key file:
--set 'eval.rivals=[{name: rule, file: rule.json}]'. The same command finds the same numbers, with any number of
workers; with --minutes, where the time ends the search, it depends on the machine how far it comes.`,
		Example: `  stoker search rule configs/sizing/attmf.yaml --out rule.json
  stoker search rule configs/sizing/attmf.yaml --set env.reward.qos=4 --minutes 5 --out rule-4.json
  stoker search autoscaler configs/sizing/attmf.yaml --set 'eval.rivals=[{name: autoscaler, cpu: 0.4}]' --out as-40.json`,
		Args: args(2, 2, "RIVAL CONFIG"),
		RunE: func(c *cobra.Command, a []string) error { return runSearch(c, a[0], a[1], f) },
		ValidArgsFunction: func(c *cobra.Command, a []string, s string) ([]string, cobra.ShellCompDirective) {
			if len(a) == 0 {
				return fit.Names(names(c)), cobra.ShellCompDirectiveNoFileComp
			}
			return completeConfigs(c, a[1:], s)
		},
	}
	fl := c.Flags()
	countVar(fl, &f.Evaluations, "evaluations", f.Evaluations, 1, "episodes to play in all")
	countVar(fl, &f.Population, "population", f.Population, 4, "candidates in a generation")
	countVar(fl, &f.Episodes, "episodes", f.Episodes, 1, "episodes that each candidate of a generation plays")
	fl.Uint64Var(&f.Seed, "seed", f.Seed, "seed of the candidates' draws")
	fl.Float64Var(&f.minutes, "minutes", 0, "end after so many minutes, and the generation under way (default: no limit)")
	fl.StringArrayVar(&f.sets, "set", nil, "set a key of the configuration, as in env.reward.qos=4 (repeatable)")
	fl.StringVar(&f.out, "out", "", "file to write (default: RIVAL.json)")
	countVar(fl, &f.Workers, "workers", 0, 1, "goroutines that play (default: one per core)")
	fl.BoolVar(&f.json, "json", false, "print the file's content as JSON")
	completeSets(c, "set")
	return c
}

func runSearch(c *cobra.Command, rival, config string, f searchFlags) error {
	x, err := configs.Load(config, f.sets, names(c))
	if err != nil {
		return usage("%w", err)
	}
	if f.minutes < 0 {
		return usage("--minutes is %g, want more than 0", f.minutes)
	}
	f.Limit = time.Duration(f.minutes * float64(time.Minute))
	if f.Workers == 0 {
		f.Workers = runtime.GOMAXPROCS(0)
	}
	if f.out == "" {
		f.out = rival + ".json"
	}
	if info, err := os.Stat(filepath.Dir(f.out)); err != nil || !info.IsDir() { // before the work, not after it
		return usage("--out: %s is no folder", filepath.Dir(f.out))
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing is written")
	defer release()
	f.Progress = searchProgress(c)
	r, err := fit.Run(ctx, x, rival, f.Options)
	if err != nil {
		return err
	}
	r.Found.Command, r.Found.Version, r.Found.Revision = os.Args, Version(), revision()
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.out, append(text, '\n'), 0o666); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	w := c.OutOrStdout()
	if f.json {
		return printJSON(w, r)
	}
	fmt.Fprintf(w, "%s: %d numbers, %d episodes; measured on workload seeds %s of the training part:\n\n", rival,
		r.Found.Numbers, r.Found.Evaluations, r.Found.Seeds)
	fmt.Fprintf(w, "%-14s %12s %12s\n", "", "before", "found")
	for _, m := range shownOf(r) {
		fmt.Fprintf(w, "%-14s %12.4g %12.4g\n", m, r.Found.Before[m], r.Found.After[m])
	}
	fmt.Fprintf(w, "\nwrote %s\ncompare it: stoker eval %s --config %s --out compare/", f.out, rival, quote(config))
	for _, set := range append(f.sets, fmt.Sprintf("eval.rivals=[{name: %s, file: %s}]", rival, f.out)) {
		fmt.Fprintf(w, " --set %s", quote(set))
	}
	fmt.Fprintln(w)
	return nil
}

// shownOf are the measures that the terminal shows: the return, and what the experiment compares.
func shownOf(r *fit.Result) []string {
	out := []string{"return"}
	for _, m := range []string{"price", "violated"} {
		if _, ok := r.Found.After[m]; ok && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// searchProgress shows a line after a generation, on a terminal over and over, else now and then.
func searchProgress(c *cobra.Command) func(fit.Progress) {
	w, terminal := c.ErrOrStderr(), isTerminal(c.ErrOrStderr())
	last := time.Time{}
	return func(p fit.Progress) {
		final := p.Generation == p.Generations
		if !terminal && !final && time.Since(last) < 5*time.Second {
			return
		}
		last = time.Now()
		line := fmt.Sprintf("generation %d of %d  %.3g episodes/s  ETA %s  return %.4g, best %.4g  width %.2f", p.Generation,
			p.Generations, float64(p.Evaluations)/p.Elapsed.Seconds(), p.Left.Round(time.Second), p.Mean, p.Best, p.Width)
		switch {
		case terminal && final:
			fmt.Fprintf(w, "\r\x1b[K%s\n", short(line, terminalWidth(w)-1))
		case terminal:
			fmt.Fprintf(w, "\r\x1b[K%s", short(line, terminalWidth(w)-1))
		default:
			fmt.Fprintln(w, line)
		}
	}
}

type onlineFlags struct {
	sets                  []string
	workflow              string
	users                 int
	library, out, bands   string
	noSafe, compare, json bool
}

func onlineCommand() *cobra.Command {
	o := search.DefaultOnline("")
	var f onlineFlags
	c := &cobra.Command{
		Use:   "online RUN|CHECKPOINT [RIVAL]…",
		Short: "Serve a workflow with a trained policy that goes on learning, for a few windows",
		Long: `Serve a workflow as FaaSConf does online: 15 windows of 30 s, in each of which the policy proposes a configuration. What
comes of it goes into the replay, and every third window begins with a gradient step. Safe exploration replaces a
configuration whose price lies outside the range of past good ones (eq. 10). The answer is the cheapest configuration that
kept the thresholds, or none (X); it is measured again in fresh windows, since the best of 15 measurements looks better
than it is. The search is repeated three times, each from the checkpoint.

The replay begins with rows of --library (stoker library). Without one, as many windows are run by the checkpoint's policy
with noise first. All rows of the library are history for safe exploration, whose ranges are kept in bands.json beside the
checkpoint: a range of prices for each application and load. A range is made again after three violations; a load without one
has that of the nearest load.

Rivals that are named, such as random-search, play under the same protocol and draws; searches among them warm up with 40
rows of the library.

The folder of --out (default: online in the run's folder) gets search.json, windows.csv, iterations.csv, methods.csv and
the figure iterations.png, .svg and .pdf.`,
		Example: `  stoker online runs/lab-s1 --workflow parallel --users 10
  stoker online runs/lab-s1 --users 20 --library parallel.csv --compare       # with and without safe exploration
  stoker online runs/lab-s1 random-search rambo fixed --users 20 --library parallel.csv --out compare/
  stoker online runs/lab-s1 --users 30 --no-safe --windows 30 --json`,
		Args: args(1, -1, "RUN|CHECKPOINT"),
		RunE: func(c *cobra.Command, a []string) error {
			o.Checkpoint = a[0]
			for _, name := range a[1:] { // before the work, not after it
				if _, err := names(c).Rival(name); err != nil {
					return usage("%w", err)
				}
			}
			return runOnline(c, o, a[1:], &f)
		},
		ValidArgsFunction: func(c *cobra.Command, a []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(a) == 0 {
				return nil, cobra.ShellCompDirectiveDefault
			}
			var out []string
			for _, r := range names(c).Rivals {
				if r.In(sizing.ID) {
					out = append(out, r.Name+"\t"+r.Doc)
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.sets, "set", nil, "set a key of the checkpoint's configuration, as in env.qos.latency=12 (repeatable)")
	fl.StringVar(&f.workflow, "workflow", "", "workflow to serve (default: the checkpoint's)")
	countVar(fl, &f.users, "users", 0, 1, "closed-loop users (default: the checkpoint's load)")
	fl.StringVar(&f.library, "library", "", "CSV file with rows for the replay and for safe exploration")
	countVar(fl, &o.Rows, "rows", o.Rows, 1, "rows in the replay at the beginning, and its capacity")
	countVar(fl, &o.Protocol.Windows, "windows", o.Protocol.Windows, 1, "windows of a search")
	countVar(fl, &o.Protocol.Repetitions, "repetitions", o.Protocol.Repetitions, 1, "searches, each from the checkpoint")
	countVar(fl, &o.Protocol.Fresh, "fresh", o.Protocol.Fresh, 0, "windows in which the best is measured again; 0 is none")
	countVar(fl, &o.Serve.UpdateEvery, "update-every", o.Serve.UpdateEvery, 1, "windows between two gradient steps")
	countVar(fl, &o.Serve.GradientSteps, "gradient-steps", o.Serve.GradientSteps, 0, "updates in each round; 0 is no learning")
	fl.Float64Var(&o.Serve.Noise, "noise", 0, "standard deviation of normal noise on the policy's configurations")
	fl.Uint64Var(&o.Protocol.Seed, "seed", 1, "seed of all draws")
	fl.BoolVar(&f.noSafe, "no-safe", false, "without safe exploration")
	fl.BoolVar(&f.compare, "compare", false, "with and without safe exploration, under the same draws")
	fl.StringVar(&f.bands, "bands", "", "file of price ranges (default: bands.json beside the checkpoint; - is none)")
	fl.StringVar(&f.out, "out", "", "folder of the result")
	fl.BoolVar(&f.json, "json", false, "print search.json instead of tables")
	completeWords(c, "workflow", sizing.Sequential, sizing.Parallel, sizing.Branch, sizing.TcktApp)
	return c
}

func runOnline(c *cobra.Command, o search.Online, rivals []string, f *onlineFlags) error {
	if f.noSafe && f.compare {
		return usage("--no-safe and --compare are both given, want one of them")
	}
	o.Names, o.Bands, o.Progress = names(c), f.bands, countProgress(c, "rows of the library")
	o.Sets, o.Protocol.Users = environmentSets(f.sets, f.workflow, nil), f.users
	if f.library != "" {
		if _, err := os.Lstat(f.library); err != nil {
			return train.Missing(f.library, "a library (a CSV file of stoker library)")
		}
		l, err := library.Read(f.library)
		if err != nil {
			return err
		}
		o.Library = l
	}
	out := f.out
	if out == "" {
		if info, err := os.Stat(o.Checkpoint); err != nil || !info.IsDir() {
			if _, err := train.OpenCheckpoint(o.Checkpoint); err != nil {
				return err
			}
			return usage("there is no run's folder: name a folder for the result with --out")
		}
		out = filepath.Join(o.Checkpoint, "online")
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing is written")
	defer release()
	server, err := search.NewServer(ctx, o)
	if err != nil {
		return err
	}
	var results []*search.Result
	for _, safely := range []bool{true, false} {
		if !f.compare && safely == f.noSafe {
			continue
		}
		r, err := server.Run(ctx, safely)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	for _, name := range rivals {
		r, err := server.Rival(ctx, name)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	files, err := search.Save(out, server.Title(), server.QoS(), results...)
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	if f.json {
		return printJSON(c.OutOrStdout(), results)
	}
	w := c.OutOrStdout()
	fmt.Fprintln(w, server.About())
	for _, r := range results[:len(results)-len(rivals)] {
		fmt.Fprintf(w, "\n%s\n%s", r.Method, search.Text(r))
	}
	if len(results) > 1 {
		fmt.Fprintf(w, "\n%s", search.Comparison(results...))
	}
	fmt.Fprintln(w)
	if b := server.BandsFile(); b != "" && !f.noSafe {
		fmt.Fprintf(w, "ranges: %s\n", b)
	}
	for _, name := range files {
		if filepath.Ext(name) == ".csv" || filepath.Ext(name) == ".png" || filepath.Ext(name) == ".json" {
			fmt.Fprintf(w, "wrote:  %s\n", filepath.Join(out, name))
		}
	}
	return nil
}
