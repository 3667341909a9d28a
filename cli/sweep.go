package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/leaderboard"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	trainFlags
	grid, random   []string
	trials         int
	file, metric   string
	extend, dryRun bool
}

func sweepCommand() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep CONFIG",
		Short: "Train a configuration with many values of its keys, and rank them",
		Long: `Train a configuration with many values of its keys, several runs at a time, and rank the values.

--grid takes every combination of the values that are listed; --random draws values, --trials times: uniform(a,b),
log(a,b) (even over the logarithm), int(a,b) (both ends included) or choice(x,y,…). With both, every trial is trained
at every point of the grid. Values are written as for --set, and all of them are checked before anything runs.

runs/SWEEP/ gets a run folder for each arm and seed, sweep.json (what was asked for, and each run's status),
leaderboard.csv and .json, and effects/KEY.png, .svg, .pdf and .csv: the metric against the values of a key. The
ranking is by the evaluation of each run's best checkpoint during training; other metrics: stoker sweep show SWEEP --metric NAME.

After Ctrl-C, SIGTERM, a crash or a power cut the same command, or stoker resume runs/SWEEP, goes on: finished runs
are not trained again, and the others continue from their checkpoints. The results are the same to the byte. An arm
that fails is written down with its error and the others go on; the exit code is then 1, and the same command tries it
again. --extend adds values, trials and seeds to a sweep. stoker eval and stoker plot take the folder of a sweep for
its finished runs.

With --file the sweep stands in a file, with these keys, all of which may be left out; flags go over it:

` + indented(sweep.FileKeys),
		Example: `  stoker sweep configs/classic/lqr.yaml --grid agent.actor_rate=1e-4,3e-4,1e-3 --seeds 1-3
  stoker sweep configs/classic/lqr.yaml --grid agent.hidden=[32,32],[64,64] --grid agent.gamma=0.9,0.95 --dry-run
  stoker sweep configs/classic/lqr.yaml --random 'agent.actor_rate=log(1e-5,1e-2)' --trials 20 --set train.steps=20000
  stoker sweep --file rates.yaml --jobs 4
  stoker sweep show runs/lqr-actor_rate --metric return`,
		Args: args(0, 1, "CONFIG"),
		RunE: func(c *cobra.Command, a []string) error {
			p, name, err := f.plan(c, a)
			if err != nil {
				return err
			}
			s, err := sweep.Prepare(filepath.Join(f.runs, name), p, names(c), f.extend)
			if err != nil {
				return err
			}
			if f.dryRun {
				return printArms(c, s, f.json)
			}
			return carryOut(c, s, f.jobs, false, f.json)
		},
		ValidArgsFunction: completeConfigs,
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.grid, "grid", nil,
		"a key and its values, as in agent.actor_rate=1e-4,3e-4 (repeatable: every combination)")
	fl.StringArrayVar(&f.random, "random", nil,
		"a key and its law, as in 'agent.actor_rate=log(1e-5,1e-2)' (repeatable)")
	countVar(fl, &f.trials, "trials", 0, 1, "number of draws of --random")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of the draws of --random")
	seedsVar(fl, &f.seeds, "seeds", "training seeds of every arm, as in 1-3 (default: the configuration's)")
	fl.StringArrayVar(&f.sets, "set", nil, "set a key of the configuration for all arms (repeatable)")
	fl.StringVar(&f.file, "file", "", "file that holds the sweep")
	fl.StringVar(&f.metric, "metric", "", "what arms are ranked by (default: what decides the best checkpoint)")
	fl.StringVar(&f.name, "name", "", "name of the sweep (default: the experiment's name and the keys)")
	fl.StringVar(&f.runs, "runs", runsFolder, "folder of the sweep's folder")
	countVar(fl, &f.jobs, "jobs", 0, 1, "runs at a time (default: one per core)")
	fl.StringVar(&f.device, "device", "", "auto, cpu or cuda:N (default: the configuration's)")
	fl.StringVar(&f.engine, "engine", "", "native, torch or gorgonia (default: the configuration's)")
	fl.BoolVar(&f.extend, "extend", false, "add values, trials and seeds to the sweep of this name")
	fl.BoolVar(&f.dryRun, "dry-run", false, "check everything, list the arms with their steps, and stop")
	fl.BoolVar(&f.json, "json", false, "print the leaderboard, or with --dry-run the arms, as JSON")
	completeSets(c, "set", "grid", "random")
	completeWords(c, "engine", engines.Native, engines.Torch)
	completeWords(c, "device", "auto", "cpu", "cuda:0")
	c.AddCommand(sweepShowCommand())
	return c
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// plan is what flags and file ask for, and the sweep's name.
func (f sweepFlags) plan(c *cobra.Command, a []string) (p *sweep.Plan, name string, err error) {
	r := &sweep.Request{Seed: f.seed}
	if f.file != "" {
		if r, err = sweep.ReadFile(f.file); err != nil {
			return nil, "", usage("--file: %w", err)
		}
	}
	if err := f.over(c, a, r); err != nil {
		return nil, "", err
	}
	p = &sweep.Plan{Config: r.Config, Set: r.Set, Grid: r.Grid, Random: r.Random, Trials: r.Trials}
	text, err := configs.Read(p.Config)
	if err != nil {
		return nil, "", usage("%w", err)
	}
	p.Text = string(text)
	if p.Folder, err = os.Getwd(); err != nil {
		return nil, "", err
	}
	switch {
	case len(p.Random) > 0:
		p.Seed = max(r.Seed, 1)
	case c.Flags().Changed("seed"):
		return nil, "", usage("--seed is that of --random's draws; the training seeds are --seeds")
	}
	x, err := p.Load(names(c))
	if err != nil {
		return nil, "", usage("%w", err)
	}
	// Every arm gets the baselines that fit the base, so that stoker eval takes the sweep's folder.
	if env, err := train.NewEnv(x, x.Eval.Split); err == nil && fitting(c, x, env) {
		fit, err := configs.Flow(x.Eval.Rivals)
		if err != nil {
			return nil, "", err
		}
		p.Set = append(p.Set, "eval.rivals="+fit)
	}
	p.Seeds = []uint64{x.Seed}
	if r.Seeds != "" {
		if p.Seeds, err = configs.ParseSeeds(r.Seeds); err != nil {
			return nil, "", usage("--seeds: %w", err)
		}
	}
	m, err := leaderboard.MetricOf(x, r.Metric)
	if err != nil {
		return nil, "", err
	}
	p.Metric = m.Name
	if name = r.Name; name == "" {
		name = p.Name(x)
	}
	return p, name, nil
}

// over puts the command line over what a file says.
func (f sweepFlags) over(c *cobra.Command, a []string, r *sweep.Request) error {
	if len(a) > 0 {
		r.Config = a[0]
	}
	if r.Config == "" {
		return usage("CONFIG is missing\nusage: %s", c.UseLine())
	}
	r.Set = append(r.Set, f.settings()...)
	for _, g := range f.grid {
		axis, err := sweep.ParseAxis(g)
		if err != nil {
			return usage("--grid %w", err)
		}
		r.Grid = append(r.Grid, axis)
	}
	for _, d := range f.random {
		draw, err := sweep.ParseRange(d)
		if err != nil {
			return usage("--random %w", err)
		}
		r.Random = append(r.Random, draw)
	}
	if c.Flags().Changed("trials") {
		r.Trials = f.trials
	}
	if c.Flags().Changed("seed") {
		r.Seed = f.seed
	}
	for to, from := range map[*string]string{&r.Name: f.name, &r.Seeds: f.seeds, &r.Metric: f.metric} {
		if from != "" {
			*to = from
		}
	}
	return nil
}

// printArms prints what a sweep would train.
func printArms(c *cobra.Command, s *sweep.Sweep, asJSON bool) error {
	runs, finished := s.Runs(sweep.Finished)
	if asJSON {
		return printJSON(c.OutOrStdout(), struct {
			Dir   string      `json:"dir"`
			Arms  []sweep.Arm `json:"arms"`
			Runs  int         `json:"runs"`
			Steps int64       `json:"steps"`
		}{s.Dir, s.Arms, runs, s.Steps()})
	}
	rows := [][]string{append(append([]string{"arm"}, s.Plan.Keys()...), "seeds", "steps each")}
	for _, a := range s.Arms {
		row := []string{a.Name}
		for _, set := range a.Settings {
			row = append(row, set.Value)
		}
		rows = append(rows, append(row, fmt.Sprint(len(a.Runs)), fmt.Sprint(a.Steps)))
	}
	w := c.OutOrStdout()
	fmt.Fprint(w, report.Columns(rows, true))
	fmt.Fprintf(w, "\n%d arms, %d runs, %d steps: %s\n", len(s.Arms), runs, s.Steps(), s.Dir)
	if finished > 0 {
		fmt.Fprintf(w, "%d of them are finished already\n", finished)
	}
	return nil
}

// resumeSweep goes on with the sweep of a folder.
func resumeSweep(c *cobra.Command, dir string, jobs int, inexact, asJSON bool) error {
	for _, name := range []string{"steps", "from"} {
		if c.Flags().Changed(name) {
			return usage("--%s is for runs; %s is a sweep", name, dir)
		}
	}
	s, err := sweep.Open(dir, names(c))
	if err != nil {
		return err
	}
	return carryOut(c, s, jobs, inexact, asJSON)
}

// carryOut trains what a sweep has not finished, and shows the leaderboard.
func carryOut(c *cobra.Command, s *sweep.Sweep, jobs int, inexact, asJSON bool) error {
	x, err := s.Base()
	if err != nil {
		return err
	}
	runs, finished := s.Runs(sweep.Finished)
	if jobs, err = jobsOf(c, x, max(runs-finished, 1), jobs); err != nil {
		return err
	}
	if err := trainInTorch(x); err != nil {
		return err
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "saving, then stopping")
	defer release()
	errs := c.ErrOrStderr()
	fmt.Fprintf(errs, "%s: %d arms, %d runs, %d of them finished, %d at a time\n", s.Dir, len(s.Arms), runs, finished,
		jobs)
	b := newSweepBoard(errs, isTerminal(errs))
	o := options(c)
	o.Inexact = inexact
	failed := s.Run(ctx, sweep.Options{Jobs: jobs, Train: o, Out: b.of, Report: b.report, Ended: b.ended})
	b.finish()
	var sig stopped
	if errors.As(failed, &sig) {
		_, finished := s.Runs(sweep.Finished)
		fmt.Fprintf(errs, "stopped by %v with %d of %d runs finished, all saved; %s\nthe arms so far: stoker sweep show %s\n",
			sig, finished, runs, exitHint(s.Dir), quote(s.Dir))
		return failed
	}
	if failed != nil && errors.Is(failed, train.ErrUsage) {
		return failed
	}
	board, err := leaderboard.Read(s, "", leaderboard.Best)
	if err != nil {
		return errors.Join(failed, err)
	}
	figures, err := board.Write(s.Dir)
	if err != nil {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, printBoard(c, board, s.Dir, figures, asJSON))
}

// printBoard shows a leaderboard, with where its files are.
func printBoard(c *cobra.Command, b *leaderboard.Board, dir string, figures []string, asJSON bool) error {
	w := c.OutOrStdout()
	if asJSON {
		return printJSON(w, b)
	}
	fmt.Fprintln(w, b.Text())
	if b.Winner != nil {
		fmt.Fprintf(w, "%s:\n  %s\n", b.Caution(), commandLine(b.Winner.Command))
	}
	if len(figures) > 0 {
		fmt.Fprintf(w, "data:   %s, %s\n", filepath.Join(dir, leaderboard.CSVFile), filepath.Join(dir,
			leaderboard.JSONFile))
	}
	for _, f := range figures {
		if filepath.Ext(f) == ".png" {
			fmt.Fprintf(w, "plot:   %s (and .svg, .pdf, .csv)\n", f)
		}
	}
	return nil
}

// commandLine writes a command as a shell takes it.
func commandLine(words []string) string {
	words = slices.Clone(words)
	for i, word := range words {
		words[i] = quote(word)
	}
	return strings.Join(words, " ")
}

func sweepShowCommand() *cobra.Command {
	var metric, at, out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "show SWEEP",
		Short: "Print a sweep's leaderboard, also while it is under way, or by another metric",
		Long: `Print a sweep's leaderboard from what its runs have logged. Nothing is written unless --out names a folder: it gets the
leaderboard's files and the figures of the keys' effects.`,
		Example: `  stoker sweep show runs/lqr-actor_rate
  stoker sweep show runs/lqr-actor_rate --metric return --at last
  stoker sweep show runs/lqr-actor_rate --metric return --out by-return/`,
		Args: args(1, 1, "SWEEP"),
		RunE: func(c *cobra.Command, a []string) error {
			s, err := sweep.Open(a[0], names(c))
			if err != nil {
				return err
			}
			board, err := leaderboard.Read(s, metric, at)
			if err != nil {
				return err
			}
			var figures []string
			if out != "" {
				if figures, err = board.Write(out); err != nil {
					return fmt.Errorf("--out: %w", err)
				}
			}
			return printBoard(c, board, out, figures, asJSON)
		},
	}
	c.Flags().StringVar(&metric, "metric", "", "return, or a quantity of the environment (default: the sweep's)")
	c.Flags().StringVar(&at, "at", leaderboard.Best, "when: best, the evaluation of the best checkpoint, or last")
	c.Flags().StringVar(&out, "out", "", "folder for leaderboard.csv, leaderboard.json and effects/")
	c.Flags().BoolVar(&asJSON, "json", false, "print the leaderboard as JSON")
	completeWords(c, "at", leaderboard.Best, leaderboard.Last)
	return c
}
