package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

type evalFlags struct {
	sets               []string
	seeds, out, config string
	workers            int
	json, force        bool
	noFrontier         bool
}

func evalCommand() *cobra.Command {
	var f evalFlags
	c := &cobra.Command{
		Use:   "eval RUN|SWEEP|CHECKPOINT|POLICY…",
		Short: "Compare policies on the same workloads, with intervals, verdicts and plots",
		Long: `Compare policies on the same workload seeds. Runs that differ only by their seed count as one method. They are compared
with the policies that the configuration lists, or with those named (see stoker agents). Of a run the best checkpoint is
used; a sweep stands for its finished runs, which are named by the keys that differ.

The first sentence says how well each policy keeps the constraint, at what price, and what the cheapest baseline costs that
keeps it as well. For that, policies with a dial and baselines with a threshold (autoscaler's cpu) also play under other
values of it; --no-frontier leaves this out. Oracles are a bound and stand last.

The folder given by --out (default: eval in the first run's folder, or the sweep's) gets report.html, one page with
verdicts, tables and figures for any browser, phone or printer; eval.json, scores.csv and table.md; and the figures as
PNG and SVG with their data as CSV. An evaluation there is written again where its settings are the same, else it is kept: give --out or
--force.

The verdict is on the configuration's constraint and objective, eval.constraint and eval.objective (default: the
environment's): better is a better objective with the constraint kept at least as well, within eval.tolerance. Where no
policy keeps the constraint, prices and returns give no verdict (docs/statistics.md).`,
		Example: `  stoker eval runs/sizing-s1
  stoker eval 'runs/sizing-s*' --seeds 1-50
  stoker eval runs/sizing-s1 autoscaler oracle --set eval.split=train
  stoker eval runs/sizing-s1 --set eval.objective=return --set eval.constraint=none --out by-return/
  stoker eval zoo:deeprm --set env.sets=0 --out compare/
  stoker eval fixed autoscaler --config configs/sizing/main.yaml --out compare/`,
		Args: args(1, -1, "what to compare, a run, checkpoint or policy,"),
		RunE: func(c *cobra.Command, a []string) error { return runEval(c, a, f) },
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			var out []string
			for _, r := range names(c).Rivals {
				out = append(out, r.Name+"\t"+r.Doc)
			}
			return out, cobra.ShellCompDirectiveDefault
		},
	}
	fl := c.Flags()
	seedsVar(fl, &f.seeds, "seeds", "workload seeds, as in 1-20 (default: the configuration's)")
	fl.StringArrayVar(&f.sets, "set", nil, "set a key of the configuration, as in eval.split=train (repeatable)")
	fl.StringVar(&f.out, "out", "", "folder of the result (default: eval in the first run's folder, or the sweep's)")
	fl.StringVar(&f.config, "config", "",
		"configuration of environment and workload (default: that of the first checkpoint)")
	countVar(fl, &f.workers, "workers", 0, 0, "episodes that run at the same time, as in 4; 0 is one per core")
	fl.BoolVar(&f.force, "force", false, "replace an evaluation with other settings in that folder, and say what it was")
	fl.BoolVar(&f.noFrontier, "no-frontier", false, "leave out the frontiers of policies with a dial, and their episodes")
	fl.BoolVar(&f.json, "json", false, "print eval.json instead of the table")
	completeSets(c)
	return c
}

// textWidth is where sentences wrap: a terminal's width, and a fixed one elsewhere, so that output in a pipe is stable.
func textWidth(w io.Writer) int {
	if !isTerminal(w) {
		return eval.TextWidth
	}
	return terminalWidth(w)
}

// tracedSeeds is the number of workload seeds whose steps and latencies are kept for figures.
const tracedSeeds = 5

func runEval(c *cobra.Command, a []string, f evalFlags) error {
	sets := f.sets
	if f.seeds != "" {
		sets = append(sets, "eval.seeds="+f.seeds)
	}
	choice, err := eval.Choose(names(c), a, f.config, sets)
	var damaged *checkpoints.RefusedError
	switch {
	case errors.As(err, &damaged):
		return err
	case err != nil:
		return usage("%w", err)
	}
	x := choice.Experiment
	out := f.out
	if out == "" {
		if len(choice.Runs) == 0 {
			return usage("there is no run's folder: name a folder for the result with --out")
		}
		out = filepath.Join(choice.Runs[0].Dir, "eval")
		if sweep.Is(a[0]) {
			out = filepath.Join(a[0], "eval")
		}
	}
	settings, err := choice.Settings()
	if err != nil {
		return err
	}
	replaced, err := settings.May(out, f.force)
	if err != nil {
		return err
	}
	if replaced != "" {
		fmt.Fprintln(c.ErrOrStderr(), replaced)
	}
	if err := os.MkdirAll(out, 0o777); err != nil { // before the work, not after it
		return fmt.Errorf("--out: %w", err)
	}
	s, p, err := play(c, choice, f)
	if err != nil {
		os.Remove(out) //nolint:errcheck // only where it is empty: nothing was written
		var sig stopped
		if errors.As(err, &sig) {
			fmt.Fprintf(c.ErrOrStderr(), "stopped by %v: nothing is written\n", sig)
		}
		return err
	}
	s.Settings, s.SettingsDigest = settings, settings.Digest()
	s.EnvConfig, s.Workload, s.Split = x.Env.Config, x.Workload, x.Eval.Split
	s.Command, s.Version, s.Revision = os.Args, Version(), revision()
	if err := eval.Write(out, p, s, curvesOf(c, choice)); err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	w := c.OutOrStdout()
	if f.json {
		return printJSON(w, s)
	}
	fmt.Fprintln(w, eval.TextAt(s, textWidth(w)))
	fmt.Fprintf(w, "report: %s\n", filepath.Join(out, eval.ReportFile))
	fmt.Fprintf(w, "data:   %s, %s\n", filepath.Join(out, eval.SummaryFile), filepath.Join(out, eval.ScoresFile))
	for _, fig := range s.Figures {
		if filepath.Ext(fig) == ".png" {
			fmt.Fprintf(w, "plot:   %s (and .svg, .pdf)\n", filepath.Join(out, fig))
		}
	}
	fmt.Fprintf(w, "redraw with: stoker plot %s\n", quote(out))
	return nil
}

// play runs the episodes and summarises them.
func play(c *cobra.Command, choice *eval.Choice, f evalFlags) (*eval.Summary, *eval.Played, error) {
	x := choice.Experiment
	seeds, err := configs.ParseSeeds(x.Eval.Seeds)
	if err != nil {
		return nil, nil, usage("eval.seeds: %w", err)
	}
	newEnv := func() (envs.Env, error) { return train.NewEnv(x, x.Eval.Split) }
	probe, err := newEnv()
	if err != nil {
		return nil, nil, err
	}
	metrics, err := eval.Metrics(probe.Spec(), x.Eval.Metrics)
	if err != nil {
		return nil, nil, usage("eval.metrics: %w", err)
	}
	by, err := eval.NewCriteria(probe.Spec(), x.Eval.Constraint, x.Eval.Objective, x.Eval.Tolerance)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	plots, err := eval.NewPlots(probe.Spec(), x.Eval.Scatter, x.Eval.Series)
	if err != nil {
		return nil, nil, usage("%w", err)
	}
	workers := f.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing is written")
	defer release()
	r := eval.Request{
		NewEnv: newEnv, Contestants: choice.Contestants, Seeds: seeds, Workers: workers,
		Stochastic: x.Eval.Stochastic, Traced: tracedSeeds, Progress: evalProgress(c),
	}
	p, err := eval.Run(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s, err := eval.Summarise(p, eval.Analysis{
		Metrics: metrics, Plots: plots, Criteria: by, Resamples: x.Eval.Resamples, Seed: 1,
	})
	if err != nil {
		return nil, nil, err
	}
	if !f.noFrontier {
		r.Progress = evalProgress(c)
		if err := choice.Frontiers(ctx, r, p, s); err != nil {
			return nil, nil, err
		}
	}
	load, err := train.ReportLoad(probe, choice.TrainedLoads(), c.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	return s, p, s.SetLoad(p, load)
}

// countProgress shows how many of the things named are done: a bar on a terminal, else a line now and then.
func countProgress(c *cobra.Command, things string) func(done, all int) {
	w := c.ErrOrStderr()
	if isTerminal(w) {
		var bar *progressbar.ProgressBar
		return func(done, all int) {
			if bar == nil {
				bar = progressbar.NewOptions(
					all,
					progressbar.OptionSetWriter(w),
					progressbar.OptionSetDescription(things),
					progressbar.OptionShowCount(),
					progressbar.OptionShowIts(),
					progressbar.OptionSetPredictTime(true),
					progressbar.OptionClearOnFinish(),
				)
			}
			_ = bar.Set(done) // a bar that cannot be drawn must not end an evaluation
		}
	}
	begun := time.Now()
	last := begun
	return func(done, all int) {
		if now := time.Now(); now.Sub(last) > 5*time.Second {
			last = now
			rate := float64(done) / now.Sub(begun).Seconds()
			left := time.Duration(float64(all-done) / max(rate, 1e-9) * float64(time.Second))
			fmt.Fprintf(w, "%d of %d %s  %.3g/s  ETA %s\n", done, all, things, rate, left.Round(time.Second))
		}
	}
}

// curvesOf reads the learning curves of the runs evaluated. A run that has none yet is said, and costs the evaluation
// nothing else.
func curvesOf(c *cobra.Command, choice *eval.Choice) []eval.Curve {
	metric := "rollout/ep_rew_mean"
	if e := choice.Experiment.Train.Evaluate; e.Every > 0 {
		metric = train.EvalMetric(e.Metric)
	}
	var out []eval.Curve
	for _, r := range choice.Runs {
		curve, err := eval.ReadCurve(r.Dir, r.Contestant, metric)
		if err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "no learning curve of %s: %v\n", r.Dir, err)
			continue
		}
		out = append(out, curve)
	}
	return out
}

// evalProgress shows how far an evaluation is: on a terminal a line that is drawn over and over, else one now and then.
func evalProgress(c *cobra.Command) func(eval.Progress) {
	w, terminal := c.ErrOrStderr(), isTerminal(c.ErrOrStderr())
	begun := time.Now()
	last, every, drawn := begun, 5*time.Second, false
	if terminal {
		every = 200 * time.Millisecond
	}
	return func(p eval.Progress) {
		now := time.Now()
		switch {
		case terminal && drawn && p.Done == p.All:
			fmt.Fprint(w, "\r\x1b[K")
		case now.Sub(last) < every || p.Done == p.All:
		case terminal:
			last, drawn = now, true
			fmt.Fprintf(w, "\r\x1b[K%s", short(evalLine(p, now.Sub(begun)), terminalWidth(w)-1))
		default:
			last = now
			fmt.Fprintln(w, evalLine(p, now.Sub(begun)))
		}
	}
}

// evalLine is what evalProgress shows.
func evalLine(p eval.Progress, elapsed time.Duration) string {
	left := "ETA after the first episode of every policy"
	if p.Known {
		left = "ETA " + p.Left.Round(time.Second).String()
	}
	return fmt.Sprintf("%d of %d episodes  %.0f %% of the work  %.3g episodes/s  %s", p.Done, p.All, 100*p.Work,
		float64(p.Done)/elapsed.Seconds(), left)
}
