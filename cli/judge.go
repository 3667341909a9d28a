package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/eval/explain"
	"github.com/stoker-rl/stoker/eval/pareto"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

func frontierCommand() *command {
	q := eval.FrontierRequest{Levels: []float64{0.02, 0.05, 0.1}, Resamples: 2000}
	var seeds string
	return &command{
		name: "frontier", takes: "[RUN…]", args: arguments{most: -1}, stop: "stopping, nothing is written",
		json: "print frontier.json", out: "folder for the result", noOut: "a folder for the result",
		flags: []flag{
			option(&q.Dial, "dial",
				"values of env.reward.dial, or env.penalties, under which learned policies play, as in 0.5,1,2,4"),
			option(repeated{&q.Baselines}, "baseline",
				"a baseline, or a key of it and values, as in autoscaler.cpu=0.3,0.5 (repeatable)").
				by(among(goesOn, func(c *call) []string { return c.baselines("") })),
			option(&q.Levels, "levels", "shares of violated windows (of episodes, where one is violated) at which prices are compared"),
			option(&q.Config, "config",
				"configuration of environment and workload (default: that of the first checkpoint)"),
			option(seedList(&seeds), "seeds", "workload seeds, as in 1-20 (default: the configuration's)"),
			option(repeated{&q.Sets}, "set", "set a key of the configuration (repeatable)").by(keys),
			option(whole(&q.Resamples, 100), "resamples", "bootstrap resamples"),
			workers(&q.Workers),
		},
		run: func(c *call) (any, error) {
			q.Names, q.Paths, q.Workers = c.Catalog, c.args, perCore(q.Workers)
			if err := eval.ParseLevels(q.Levels); err != nil {
				return nil, err
			}
			if seeds != "" {
				q.Sets = append(q.Sets, "eval.seeds="+seeds)
			}
			if err := makeFolder(c.folder); err != nil {
				return nil, err
			}
			q.Progress = c.episodes()
			r, err := eval.RunFrontier(c.ctx, q)
			if err != nil {
				os.Remove(c.folder) //nolint:errcheck // only where it is empty: nothing was written
				return nil, err
			}
			r.Command, r.Version, r.Revision = os.Args, Version(), revision()
			if err := c.save(func(folder string) ([]string, error) { return pareto.Write(folder, r) }); err != nil {
				return nil, err
			}
			fmt.Fprintln(c, pareto.Text(r))
			return r, nil
		},
		sub: []*command{frontierPanelsCommand()},
	}
}

func frontierPanelsCommand() *command {
	columns, limit := 4, 0.5
	return &command{
		name: "frontier panels", takes: "FOLDER…", args: arguments{1, -1, "a folder of stoker frontier"},
		json: "print the mean ratios", out: "folder for the figure", noOut: "a folder for the figure",
		flags: []flag{
			option(whole(&columns, 1), "columns", "panels in a row"),
			option(&limit, "up-to", "points with more violations than this are not drawn (the CSV has them)"),
		},
		run: func(c *call) (any, error) {
			if !(limit > 0) {
				return nil, usage("--up-to is %g, want more than 0", limit)
			}
			results, err := pareto.Load(c.args)
			if err != nil {
				return nil, err
			}
			fmt.Fprintln(c, pareto.MeansText(results))
			return pareto.Means(results), c.save(func(folder string) ([]string, error) {
				return pareto.WritePanels(folder, results, columns, limit)
			})
		},
	}
}

func plotCommand() *command {
	p := eval.RunPlot{Metrics: []string{"rollout/ep_rew_mean"}, Average: eval.AverageIQM, Band: eval.BandInterval,
		Name: "learning_curve"}
	x := "steps"
	return &command{
		name: "plot", takes: "EVALUATION|RUN…", args: arguments{1, -1, "EVALUATION or RUN"},
		json: "print the files' names as JSON", out: "folder of the figure and its data", outIs: ".",
		flags: []flag{
			option(&p.Metrics, "metric", "tags to draw, a panel each (repeatable, or with commas)"),
			option(&x, "x", "horizontal axis: steps of the environment, or time of training", "steps", "time"),
			option(&p.Smooth, "smooth", "factor of an exponential moving average, 0 (none) to below 1, as TensorBoard's"),
			option(&p.Average, "average", "over the runs of a line: iqm or mean", eval.AverageIQM, eval.AverageMean),
			option(&p.Band, "band",
				"around a line of several runs: interval (95 %, from 4 runs; the range of fewer), range or none",
				eval.BandInterval, eval.BandRange, eval.BandNone),
			option(&p.Separate, "separate", "draw every run as its own line"),
			option(&p.Labels, "label", "names of the lines, in the order of their first runs"),
			option(&p.Title, "title", "title of the figure"),
			option(&p.Log, "log", "logarithmic vertical axes"),
			option(&p.Name, "name", "name of the files, without an extension"),
		},
		run: func(c *call) (any, error) {
			switch x {
			case "steps":
			case "time":
				p.Time = true
			default:
				return nil, usage("--x is %q, want steps or time", x)
			}
			p.Runs, p.Catalog, p.Out = c.args, c.Catalog, c.folder
			drawn, err := draw(c, p)
			if err != nil {
				return nil, err
			}
			for _, n := range drawn.Notes {
				if !c.json {
					fmt.Fprintln(c.errs, n)
				}
			}
			for _, f := range drawn.Files {
				fmt.Fprintln(c, f)
			}
			return drawn.Files, nil
		},
	}
}

// runFlags are the flags that an evaluation's figures have no use for.
var runFlags = []string{"metric", "x", "smooth", "average", "band", "separate", "label", "title", "log", "out", "name"}

// draw draws an evaluation's figures, or the curves of runs.
func draw(c *call, p eval.RunPlot) (*eval.Plotted, error) {
	if _, err := os.Stat(filepath.Join(p.Runs[0], eval.SummaryFile)); err != nil || len(p.Runs) > 1 {
		for _, path := range p.Runs {
			if _, err := os.Stat(filepath.Join(path, eval.SummaryFile)); err == nil {
				return nil, usage("%s is an evaluation: draw its figures alone with: stoker plot %s", path, shell.Quote(path))
			}
		}
		return eval.PlotRuns(p)
	}
	why := "is for runs; " + p.Runs[0] + " is an evaluation, whose figures are drawn without it"
	if err := c.without(why, runFlags...); err != nil {
		return nil, err
	}
	s, err := eval.Replot(p.Runs[0])
	if err != nil {
		return nil, err
	}
	return &eval.Plotted{Files: lists.From(s.Figures, func(f string) string { return filepath.Join(p.Runs[0], f) })}, nil
}

func powerCommand() *command {
	p := eval.PowerPlan{Effects: []float64{0.2, 0.5, 0.8, 1, 1.5, 2}, Workloads: []int{10, 20, 50, 100}, Training: []int{1},
		SeedDeviation: 1, Baselines: 4, Trials: 400}
	return &command{
		name: "power", takes: "[EVALUATION]", args: arguments{most: 1},
		json: "print as JSON",
		flags: []flag{
			option(&p.Effects, "effect", "true differences, in standard deviations between workloads"),
			option(wholes(&p.Workloads), "workloads", "numbers of workload seeds"),
			option(wholes(&p.Training), "training", "numbers of training seeds"),
			option(&p.SeedDeviation, "seed-deviation", "deviation between training seeds over that between workloads"),
			option(whole(&p.Baselines, 1), "baselines", "policies compared with, over which p is corrected"),
			option(&p.Metrics, "metric", "metrics of the evaluation (default: all)"),
			option(whole(&p.Trials, 100), "trials", "simulated evaluations for each number"),
		},
		run: func(c *call) (any, error) {
			var rows []eval.PowerRow
			var err error
			if len(c.args) == 1 {
				why := "is for a table without an evaluation; " + c.args[0] + " has its own"
				if err := c.without(why, "effect", "seed-deviation", "baselines"); err != nil {
					return nil, err
				}
				rows, err = eval.PowerOf(c.args[0], p)
			} else {
				if len(p.Metrics) > 0 {
					return nil, usage("--metric is one of an evaluation: name its folder")
				}
				rows, err = eval.PowerTable(p)
			}
			if err != nil {
				return nil, err
			}
			return rows, printPower(c, rows)
		},
	}
}

// printPower prints a line per comparison and number of training seeds, or per number of seeds, and a column per what
// varies.
func printPower(c *call, rows []eval.PowerRow) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 3, 64) }
	if len(rows) == 0 || rows[0].Metric == "" {
		fmt.Fprintln(c, "probability of a verdict, by true difference in deviations between workloads")
		return pivot(c, rows, "training seeds\tworkload seeds\t",
			func(r eval.PowerRow) string { return fmt.Sprintf("%d\t%d\t", r.TrainingSeeds, r.WorkloadSeeds) },
			func(r eval.PowerRow) (float64, string) { return r.Difference, number(r.Difference) })
	}
	fmt.Fprintln(c, "probability of a verdict by workload seeds, if difference and deviations are as measured")
	line := func(r eval.PowerRow) string {
		seeds := "?"
		if r.TrainingSeeds > 1 || r.SeedDeviation > 0 {
			seeds = number(r.SeedDeviation)
		}
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%d\t", r.Metric, r.A, r.B, number(r.Difference), number(r.Deviation), seeds,
			r.TrainingSeeds)
	}
	return pivot(c, rows, "metric\ta\tb\tdifference\tdeviation\tof seeds\ttraining seeds\t", line,
		func(r eval.PowerRow) (float64, string) {
			return float64(r.WorkloadSeeds), strconv.Itoa(r.WorkloadSeeds)
		})
}

// pivot prints the powers of rows that stand in the order of their lines: a line for those that begin in the same way,
// and a column for each of the values that column tells, with its title.
func pivot(w io.Writer, rows []eval.PowerRow, head string, line func(eval.PowerRow) string,
	column func(eval.PowerRow) (float64, string)) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	var columns []float64
	for _, r := range rows {
		if x, title := column(r); !slices.Contains(columns, x) {
			columns = append(columns, x)
			head += title + "\t"
		}
	}
	fmt.Fprint(t, head)
	last := ""
	for _, r := range rows {
		if l := line(r); l != last {
			fmt.Fprint(t, "\n"+l)
			last = l
		}
		fmt.Fprintf(t, "%.2f\t", r.Power)
	}
	fmt.Fprintln(t)
	return t.Flush()
}

type explainFlags struct {
	sets               []string
	seeds              string
	states, steps, top int
	replay             bool
}

// explainedSeeds is the number of the configuration's evaluation seeds that are played where --seeds says nothing.
const explainedSeeds = 10

func explainCommand() *command {
	f := &explainFlags{states: 400, steps: 32, top: 3, replay: true}
	return &command{
		name: "explain", takes: "RUN|CHECKPOINT|POLICY", args: arguments{1, 1, "RUN, CHECKPOINT or POLICY"},
		stop: "stopping, nothing is written",
		json: "print explain.json instead of the table", out: "folder of the result (default: explain in the run's folder)",
		flags: []flag{
			option(seedList(&f.seeds), "seeds",
				fmt.Sprintf("workload seeds of the episodes, as in 1-20 (default: the configuration's first %d)", explainedSeeds)),
			option(whole(&f.states, 0), "states",
				"largest number of states to explain, spread evenly over the episodes; 0 takes all"),
			option(whole(&f.steps, 1), "steps", "points between the mean state and each state where gradients are taken"),
			option(whole(&f.top, 1), "top", "how many observations to print for each decision"),
			option(&f.replay, "replay",
				"run all episodes again with each feature shuffled, to measure its effect on the return"),
			option(repeated{&f.sets}, "set", "set a key of the configuration, as in eval.split=train (repeatable)"),
		},
		run: f.run,
	}
}

func (f *explainFlags) run(c *call) (any, error) {
	path := c.args[0]
	ck, err := train.OpenCheckpoint(path)
	if err != nil {
		return nil, err
	}
	r, err := f.request(c, ck)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Act.Close() }() // it frees memory: there is nothing left to lose
	out := c.folder
	if out == "" {
		if out, err = explainFolder(ck, path); err != nil {
			return nil, err
		}
	}
	if err := makeFolder(out); err != nil {
		return nil, err
	}
	e, err := explain.Explain(c.ctx, *r)
	if err != nil {
		os.Remove(out) //nolint:errcheck // only where it is empty: nothing was written
		return nil, err
	}
	e.Source = path
	files, err := explain.Write(out, e)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", out, err)
	}
	if err := explain.Text(c, e, f.top); err != nil {
		return nil, err
	}
	fmt.Fprintln(c)
	for _, file := range files {
		fmt.Fprintln(c, file)
	}
	return e, nil
}

// request opens what a checkpoint's experiment and policy need.
func (f *explainFlags) request(c *call, ck *checkpoints.Checkpoint) (*explain.Request, error) {
	x, err := train.ReadExperiment(ck, f.sets, c.Catalog)
	if err != nil {
		return nil, err
	}
	which := x.Eval.Seeds
	if f.seeds != "" {
		which = f.seeds
	}
	seeds, err := configs.ParseSeeds(which)
	if err != nil {
		return nil, usage("seeds: %w", err)
	}
	if f.seeds == "" {
		seeds = seeds[:min(len(seeds), explainedSeeds)]
	}
	if len(seeds) < 2 {
		return nil, usage("there is %d seed, want at least 2 for intervals, as in --seeds 1-10", len(seeds))
	}
	file, err := train.ReadPolicy(ck)
	if err != nil {
		return nil, err
	}
	a, err := c.Catalog.Learner(file.Agent)
	if err != nil {
		return nil, err
	}
	env, err := train.NewEnv(x, x.Eval.Split)
	if err != nil {
		return nil, err
	}
	act, err := engines.Open(engines.Native, engines.Options{Device: "cpu"})
	if err != nil {
		return nil, err
	}
	p, err := a.Open(file, env.Spec(), act)
	if err != nil {
		return nil, errors.Join(err, act.Close())
	}
	return &explain.Request{
		Env: env, Policy: p, Act: act, Seeds: seeds, States: f.states, Steps: f.steps, Replay: f.replay,
		Progress: c.count("episodes"),
	}, nil
}

// explainFolder is explain in the folder of the run that a checkpoint belongs to.
func explainFolder(ck *checkpoints.Checkpoint, path string) (string, error) {
	for _, run := range []string{path, filepath.Dir(filepath.Dir(ck.Dir()))} {
		if _, err := os.Stat(filepath.Join(run, checkpoints.MetricsFile)); err == nil {
			return filepath.Join(run, "explain"), nil
		}
	}
	return "", usage("%s is in no run's folder: name a folder for the result with --out", path)
}
