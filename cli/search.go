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
	"github.com/stoker-rl/stoker/eval/fit"
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
