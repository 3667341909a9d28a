package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/leaderboard"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
	"github.com/stoker-rl/stoker/train/track"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	trainFlags
	grid, random   []string
	trials         int
	file, metric   string
	replay         string
	extend, dryRun bool
	study          sweep.Study
}

func sweepCommand() *command {
	f := &sweepFlags{trainFlags: trainFlags{seed: 1, runs: runsFolder}}
	return &command{
		name: "sweep", takes: "CONFIG", args: arguments{most: 1}, stop: "saving, then stopping",
		fill: []string{"{keys}", indented(sweep.FileKeys)},
		json: "print the leaderboard, or with --dry-run the arms, as JSON",
		flags: slices.Concat(f.engineFlags(), f.coordinator.flags(), f.studyFlags(), []flag{
			option(repeated{&f.grid}, "grid",
				"a key and its values, as in agent.actor_rate=1e-4,3e-4 (repeatable: every combination)").by(keys),
			option(repeated{&f.random}, "random",
				"a key and its law, as in 'agent.actor_rate=log(1e-5,1e-2)' (repeatable)").by(keys),
			option(whole(&f.trials, 1), "trials", "number of draws of --random"),
			option(&f.seed, "seed", "seed of the draws of --random"),
			option(seedList(&f.seeds), "seeds", "training seeds of every arm, as in 1-3 (default: the configuration's)"),
			option(repeated{&f.sets}, "set", "set a key of the configuration for all arms (repeatable)").by(keys),
			option(&f.file, "file", "file that holds the sweep"),
			option(&f.metric, "metric", "what arms are ranked by (default: what decides the best checkpoint); of a study two, as in price,violated"),
			option(&f.name, "name", "name of the sweep (default: the experiment's name and the keys)"),
			option(&f.runs, "runs", "folder of the sweep's folder"),
			option(whole(&f.jobs, 1), "jobs", "runs at a time (default: one per core)"),
			trackFlag(&f.track),
			option(&f.extend, "extend", "add values, trials and seeds to the sweep of this name"),
			option(&f.replay, "replay", "folder of a study of --asha whose decisions are trained again, to the same bytes"),
			option(&f.dryRun, "dry-run", "check everything, list the arms with their steps, and stop"),
		}),
		complete: configurations,
		run: func(c *call) (any, error) {
			s, err := f.prepare(c)
			if err != nil {
				return nil, err
			}
			if f.dryRun {
				return printArms(c, s), nil
			}
			m, err := tracker(c, f.track)
			if err != nil {
				return nil, err
			}
			return carryOut(c, s, f.jobs, false, m, &f.coordinator)
		},
		sub: []*command{sweepShowCommand()},
	}
}

// prepare is the sweep that is asked for.
func (f *sweepFlags) prepare(c *call) (*sweep.Sweep, error) {
	if f.replay != "" {
		return f.again(c)
	}
	p, name, err := f.plan(c)
	if err != nil {
		return nil, err
	}
	return sweep.Prepare(filepath.Join(f.runs, name), p, c.Catalog, f.extend)
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// plan is what flags and file ask for, and the sweep's name.
func (f *sweepFlags) plan(c *call) (p *sweep.Plan, name string, err error) {
	r := &sweep.Request{Seed: f.seed}
	if f.file != "" {
		if r, err = sweep.ReadFile(f.file); err != nil {
			return nil, "", usage("--file: %w", err)
		}
	}
	if err := f.over(c, r); err != nil {
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
	case c.given("seed"):
		return nil, "", usage("--seed is that of --random's draws; the training seeds are --seeds")
	}
	x, err := p.Load(c.Catalog)
	if err != nil {
		return nil, "", usage("%w", err)
	}
	// Every arm gets the baselines that fit the base, so that stoker eval takes the sweep's folder.
	if env, err := train.NewEnv(x, x.Eval.Split); err == nil && fitting(c, x, env) {
		fit, err := configs.Flow(x.Eval.Baselines)
		if err != nil {
			return nil, "", err
		}
		p.Set = append(p.Set, "eval.baselines="+fit)
	}
	p.Seeds = []uint64{x.Seed}
	if r.Seeds != "" {
		if p.Seeds, err = configs.ParseSeeds(r.Seeds); err != nil {
			return nil, "", usage("--seeds: %w", err)
		}
	}
	metrics := strings.Split(r.Metric, ",")
	for i, name := range metrics {
		m, err := leaderboard.MetricOf(x, strings.TrimSpace(name))
		if err != nil {
			return nil, "", err
		}
		metrics[i] = m.Name
	}
	p.Metric = metrics[0]
	if err := studyOf(p, r, metrics); err != nil {
		return nil, "", err
	}
	if name = r.Name; name == "" {
		name = p.Name(x)
	}
	return p, name, nil
}

// over puts the command line over what a file says.
func (f *sweepFlags) over(c *call, r *sweep.Request) error {
	if len(c.args) > 0 {
		r.Config = c.args[0]
	}
	if r.Config == "" {
		return usage("CONFIG is missing\nusage: %s", c.usage())
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
	if c.given("trials") {
		r.Trials = f.trials
	}
	if c.given("seed") {
		r.Seed = f.seed
	}
	f.overStudy(c, &r.Study)
	for to, from := range map[*string]string{&r.Name: f.name, &r.Seeds: f.seeds, &r.Metric: f.metric} {
		if from != "" {
			*to = from
		}
	}
	return nil
}

// printArms prints what a sweep would train.
func printArms(c *call, s *sweep.Sweep) any {
	runs, finished := s.Runs(sweep.Finished)
	rows := [][]string{append(append([]string{"arm"}, s.Plan.Keys()...), "seeds", "steps each")}
	for _, a := range s.Arms {
		row := []string{a.Name}
		for _, set := range a.Settings {
			row = append(row, set.Value)
		}
		rows = append(rows, append(row, fmt.Sprint(len(a.Runs)), fmt.Sprint(a.Steps)))
	}
	fmt.Fprint(c, report.Columns(rows, true))
	fmt.Fprintf(c, "\n%d arms, %d runs, %d steps: %s\n", len(s.Arms), runs, s.Steps(), s.Dir)
	if s.Plan.Study.Outside() {
		fmt.Fprintf(c, "%d trials are proposed in the study, after it begins\n", s.Plan.Trials)
	}
	if finished > 0 {
		fmt.Fprintf(c, "%d of them are finished already\n", finished)
	}
	return struct {
		Dir   string      `json:"dir"`
		Arms  []sweep.Arm `json:"arms"`
		Runs  int         `json:"runs"`
		Steps int64       `json:"steps"`
	}{s.Dir, s.Arms, runs, s.Steps()}
}

// resumeSweep goes on with the sweep of a folder.
func resumeSweep(c *call, dir string, jobs int, inexact bool, m *track.MLflow, by *coordinator) (any, error) {
	if err := c.without("is for runs; "+dir+" is a sweep", "steps", "until", "from"); err != nil {
		return nil, err
	}
	s, err := sweep.Open(dir, c.Catalog)
	if err != nil {
		return nil, err
	}
	return carryOut(c, s, jobs, inexact, m, by)
}

// carryOut trains what a sweep has not finished, and shows the leaderboard.
func carryOut(c *call, s *sweep.Sweep, jobs int, inexact bool, m *track.MLflow, by *coordinator) (shown any, err error) {
	x, err := s.Base()
	if err != nil {
		return nil, err
	}
	runs, finished := s.Runs(sweep.Finished)
	most := runs - finished
	if s.Plan.Study.Outside() { // more come
		most = s.Plan.Trials * len(s.Plan.Seeds)
	}
	if jobs, err = jobsOf(c, x, max(most, 1), jobs); err != nil {
		return nil, err
	}
	by.units = most
	e, closed, err := by.open(c)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closed()) }()
	errs, many := c.errs, fmt.Sprintf("%d at a time", jobs)
	if e != nil {
		many = "trained by workers"
	} else if err := trainInTorch(x); err != nil {
		return nil, err
	}
	fmt.Fprintf(errs, "%s: %d arms, %d runs, %d of them finished, %s\n", s.Dir, len(s.Arms), runs, finished, many)
	b := newSweepBoard(errs, isTerminal(errs))
	o := options(c)
	o.Inexact, o.Elsewhere = inexact, e
	failed := s.Run(c.ctx, sweep.Options{Jobs: jobs, Train: o, Out: b.of, Report: b.report, Ended: b.ended})
	b.finish()
	failed = errors.Join(failed, tellSweep(c, m, s, filepath.Base(s.Dir)))
	var sig stopped
	if errors.As(failed, &sig) {
		_, finished := s.Runs(sweep.Finished)
		fmt.Fprintf(errs, "stopped by %v with %d of %d runs finished, all saved; %s\nthe arms so far: stoker sweep show %s\n",
			sig, finished, runs, exitHint(s.Dir), shell.Quote(s.Dir))
		return nil, failed
	}
	if failed != nil && errors.Is(failed, train.ErrUsage) {
		return nil, failed
	}
	board, err := leaderboard.Read(s, "", leaderboard.Best)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	figures, err := board.Write(s.Dir)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	printBoard(c, board, s.Dir, figures)
	if failed != nil || s.Plan.Study == nil || s.Plan.Study.Final == "" {
		return board, failed
	}
	return carryOutFinal(c, s, board, jobs, o)
}

// printBoard shows a leaderboard, with where its files are.
func printBoard(c *call, b *leaderboard.Board, dir string, figures []string) {
	fmt.Fprintln(c, b.Text())
	if b.Winner != nil {
		fmt.Fprintf(c, "%s:\n  %s\n", b.Caution(), commandLine(b.Winner.Command))
	}
	if len(figures) > 0 {
		fmt.Fprintf(c, "data:   %s, %s\n", filepath.Join(dir, leaderboard.CSVFile), filepath.Join(dir,
			leaderboard.JSONFile))
	}
	for _, f := range figures {
		if filepath.Ext(f) == ".png" {
			data := ""
			if filepath.Base(filepath.Dir(f)) == leaderboard.EffectsFolder {
				data = ", .csv"
			}
			fmt.Fprintf(c, "plot:   %s (and .svg, .pdf%s)\n", f, data)
		}
	}
}

// commandLine writes a command as a shell takes it.
func commandLine(words []string) string {
	words = slices.Clone(words)
	for i, word := range words {
		words[i] = shell.Quote(word)
	}
	return strings.Join(words, " ")
}

func sweepShowCommand() *command {
	metric, at := "", leaderboard.Best
	return &command{
		name: "sweep show", takes: "SWEEP", args: arguments{1, 1, "SWEEP"},
		json: "print the leaderboard as JSON", out: "folder for leaderboard.csv, leaderboard.json and effects/",
		flags: []flag{
			option(&metric, "metric", "return, or a quantity of the environment (default: the sweep's)"),
			option(&at, "at", "when: best, the evaluation of the best checkpoint, or last",
				leaderboard.Best, leaderboard.Last),
		},
		run: func(c *call) (any, error) {
			s, err := sweep.Open(c.args[0], c.Catalog)
			if err != nil {
				return nil, err
			}
			board, err := leaderboard.Read(s, metric, at)
			if err != nil {
				return nil, err
			}
			var figures []string
			if c.folder != "" {
				if figures, err = board.Write(c.folder); err != nil {
					return nil, fmt.Errorf("--out: %w", err)
				}
			}
			printBoard(c, board, c.folder, figures)
			return board, nil
		},
	}
}
