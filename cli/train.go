package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/catalog/schema"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// runsFolder is where runs come without --runs.
const runsFolder = "runs"

// trainFlags are the flags of train.
type trainFlags struct {
	sets                                     []string
	name, runs, seeds, device, engine, from  string
	cpuprofile, library                      string
	seed                                     uint64
	jobs                                     int
	printConfig, schema, json, deterministic bool
}

func trainCommand() *cobra.Command {
	var f trainFlags
	c := &cobra.Command{
		Use:   "train CONFIG",
		Short: "Train a policy",
		Long: `Train the policy that a configuration describes, and write a run folder: resolved configuration, metrics.jsonl,
TensorBoard event files and checkpoints. Ctrl-C and SIGTERM save before they stop; stoker resume continues.`,
		Example: `  stoker train configs/sizing/main.yaml
  stoker train configs/sizing/main.yaml --set train.steps=20000 --set agent.rate=1e-3 --name faster
  stoker train configs/sizing/main.yaml --seeds 1-5
  stoker train configs/sizing/main.yaml --device cuda:0
  stoker train configs/sizing/main.yaml --set workload.path=azure2019/      # a folder with the publisher's files
  stoker train configs/sizing/main.yaml --init-from runs/sizing-s1 --name again
  stoker train configs/sizing/attmf.yaml --library rows.csv --name offline   # from a library of runs alone
  stoker train configs/sizing/main.yaml --print-config
  stoker train --schema > stoker.schema.json`,
		Args: func(c *cobra.Command, a []string) error {
			if f.schema {
				return args(0, 0, "")(c, a)
			}
			return args(1, 1, "CONFIG")(c, a)
		},
		RunE: func(c *cobra.Command, a []string) error {
			if f.schema {
				text, err := schema.Of(names(c))
				if err != nil {
					return err
				}
				_, err = c.OutOrStdout().Write(text)
				return err
			}
			return runTrain(c, a[0], f)
		},
		ValidArgsFunction: completeConfigs,
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.sets, "set", nil, "set a key of the configuration, as in train.steps=1000 (repeatable)")
	fl.StringVar(&f.name, "name", "", "name of the run (default: the experiment's name and the seed)")
	fl.StringVar(&f.runs, "runs", runsFolder, "folder of the runs")
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the run (default: the configuration's)")
	seedsVar(fl, &f.seeds, "seeds", "several runs, one per seed, as in 1-5, side by side")
	countVar(fl, &f.jobs, "jobs", 0, 1, "with --seeds: runs at a time (default: one per core)")
	fl.StringVar(&f.device, "device", "", "auto, cpu or cuda:N (default: the configuration's)")
	fl.StringVar(&f.engine, "engine", "", "native, torch or gorgonia (default: the configuration's)")
	fl.BoolVar(&f.deterministic, "deterministic", false,
		"make results on CUDA repeat to the bit: slower, and operations that cannot fail")
	fl.StringVar(&f.from, "init-from", "", "start from the weights of a checkpoint or run")
	fl.StringVar(&f.library, "library", "",
		"learn from the rows of this library alone (stoker library), without a step in the environment")
	fl.StringVar(&f.cpuprofile, "cpuprofile", "",
		"write a CPU profile for go tool pprof to this file, and print where the time went")
	fl.BoolVar(&f.printConfig, "print-config", false, "print the resolved configuration and stop")
	fl.BoolVar(&f.schema, "schema", false, "print the JSON Schema of configurations, for editors, and stop")
	fl.BoolVar(&f.json, "json", false, "print the result as JSON")
	completeSets(c)
	completeWords(c, "engine", engines.Native, engines.Torch)
	completeWords(c, "device", "auto", "cpu", "cuda:0")
	return c
}

func runTrain(c *cobra.Command, path string, f trainFlags) error {
	x, err := load(names(c), path, f)
	if err != nil {
		return err
	}
	seeds, err := seedsOf(c, x, f)
	if err != nil {
		return err
	}
	if f.printConfig {
		x.Seed = seeds[0]
		text, err := x.YAML()
		if err != nil {
			return err
		}
		_, err = c.OutOrStdout().Write(text)
		return err
	}
	if c.Flags().Changed("jobs") && f.seeds == "" {
		return usage("--jobs is given without --seeds, want both")
	}
	if err := evaluates(c, x); err != nil {
		return err
	}
	jobs, err := jobsOf(c, x, len(seeds), f.jobs)
	if err != nil {
		return err
	}
	list := make([]train.Planned, len(seeds))
	for i, s := range seeds {
		if list[i], err = plan(c, x, s, f, len(seeds) > 1); err != nil { // all of them before any of them
			return err
		}
	}
	if err := trainInTorch(x); err != nil {
		return err
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "saving, then stopping")
	defer release()
	stop, err := profiled(f.cpuprofile)
	if err != nil {
		return err
	}
	defer stop(c)
	if f.seeds != "" {
		return trainSeeds(ctx, c, list, jobs, f.json)
	}
	res, err := train.Start(ctx, list[0].Experiment, list[0].Options)
	if err != nil {
		return goOn(c, res, err)
	}
	if f.json {
		return printJSON(c.OutOrStdout(), []*train.Result{res})
	}
	printResult(c, res)
	if f.cpuprofile != "" {
		printPhases(c.OutOrStdout(), res.Phases)
	}
	return nil
}

// evaluates refuses what the evaluation could not show, before training rather than after it. What is wrong with the
// environment is said where training makes it. Of the environment's baselines, those that do not fit are left out.
func evaluates(c *cobra.Command, x *configs.Experiment) error {
	env, err := train.NewEnv(x, x.Eval.Split)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if _, err := eval.Metrics(env.Spec(), x.Eval.Metrics); err != nil {
		return usage("%s: eval.metrics: %w", x.Source, err)
	}
	if _, err := eval.NewPlots(env.Spec(), x.Eval.Scatter, x.Eval.Series); err != nil {
		return usage("%s: %w", x.Source, err)
	}
	fitting(c, x, env)
	if err := eval.Fit(catalog.Of(x), x, env); err != nil {
		return usage("%s: %w; leave it out of eval.rivals, which stoker eval compares with", x.Source, err)
	}
	return nil
}

// fitting leaves out baselines of the environment that do not fit, where the file names none, and says so. It reports
// whether it left out any.
func fitting(c *cobra.Command, x *configs.Experiment, env envs.Env) bool {
	if !x.DefaultRivals {
		return false
	}
	n := len(x.Eval.Rivals)
	x.Eval.Rivals = slices.DeleteFunc(slices.Clone(x.Eval.Rivals), func(r configs.Choice) bool {
		one := *x
		one.Eval.Rivals = []configs.Choice{r}
		err := eval.Fit(catalog.Of(x), &one, env)
		if err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "note: %s, a baseline of %s, is left out: %v\n", r.Name, x.Env.Name, err)
		}
		return err != nil
	})
	return len(x.Eval.Rivals) < n
}

// seedsOf are the seeds of the runs to do.
func seedsOf(c *cobra.Command, x *configs.Experiment, f trainFlags) ([]uint64, error) {
	one := c.Flags().Changed("seed")
	switch {
	case one && f.seeds != "":
		return nil, usage("--seed and --seeds are both given, want one of them")
	case one:
		return []uint64{f.seed}, nil
	case f.seeds == "":
		return []uint64{x.Seed}, nil
	}
	return configs.ParseSeeds(f.seeds)
}

func plan(c *cobra.Command, x *configs.Experiment, seed uint64, f trainFlags, several bool) (train.Planned, error) {
	y, o := *x, options(c)
	y.Seed = seed
	o.RunsDir, o.Name, o.InitFrom = f.runs, f.name, f.from
	if f.name != "" && several {
		o.Name = fmt.Sprintf("%s-s%d", f.name, seed)
	}
	_, err := train.Folder(&y, o)
	return train.Planned{Experiment: &y, Options: o}, err
}

// load reads a configuration with the flags that stand for keys.
func load(names *catalog.Catalog, path string, f trainFlags) (*configs.Experiment, error) {
	x, err := configs.Load(path, f.settings(), names)
	if err != nil {
		return nil, usage("%w", err)
	}
	return x, nil
}

// settings are those of --set and of the flags that stand for keys.
func (f trainFlags) settings() []string {
	sets := f.sets
	engine := f.engine
	if strings.HasPrefix(f.device, "cuda") && engine == "" {
		engine = engines.Torch // CUDA is reached through libtorch only
	}
	if engine == engines.Native && f.device == "" {
		f.device = "cpu" // who names the engine doesn't leave it to auto
	}
	if f.device != "" {
		sets = append(sets, "engine.device="+f.device)
	}
	if f.library != "" {
		sets = append(sets, "train.library.path="+strconv.Quote(f.library))
	}
	if f.deterministic {
		sets = append(sets, "engine.deterministic=true")
	}
	if engine != "" {
		sets = append(sets, "engine.name="+engine)
	}
	return sets
}

func resumeCommand() *cobra.Command {
	var steps int64
	var from string
	var jobs int
	var inexact, asJSON bool
	c := &cobra.Command{
		Use:   "resume RUN|SWEEP",
		Short: "Resume a run from its latest checkpoint, or from an earlier one, or go on with a sweep",
		Long: `Resume a run from its latest checkpoint. The result is byte for byte that of an uninterrupted run. A run that is
finished stays as it is: nothing is written.

With --steps the run gets a new total; schedules that depend on the total follow it.

With --from the run goes back to an earlier checkpoint: its name, its folder, its number of steps, or best. Nothing is
lost: the run as it stood is kept in the run's folder, under aside/1, aside/2, …, and plot, eval, check and resume take
that folder like any run.

A sweep's folder goes on with what is not finished in it: runs that were stopped, killed or failed, and those not begun.`,
		Example: `  stoker resume runs/sizing-s1
  stoker resume runs/sizing-s1 --steps 200000
  stoker resume runs/sizing-s1 --from step-000000100000
  stoker resume runs/cartpole-actor_rate --jobs 2                    # a sweep`,
		Args: args(1, 1, "RUN"),
		RunE: func(c *cobra.Command, a []string) error {
			if c.Flags().Changed("steps") && steps < 1 {
				return usage("--steps is %d, want at least 1", steps)
			}
			if sweep.Is(a[0]) {
				return resumeSweep(c, a[0], jobs, inexact, asJSON)
			}
			if c.Flags().Changed("jobs") {
				return usage("--jobs is for sweeps; %s is none", a[0])
			}
			x, err := train.ReadConfig(a[0], names(c))
			if err != nil {
				return err
			}
			if err := trainInTorch(x); err != nil {
				return err
			}
			o := options(c)
			o.Steps, o.Inexact, o.From = steps, inexact, from
			ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "saving, then stopping")
			defer release()
			res, err := train.Resume(ctx, a[0], o)
			if err != nil {
				return goOn(c, res, err)
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), res)
			}
			printResult(c, res)
			return nil
		},
	}
	c.Flags().Int64Var(&steps, "steps", 0, "new total number of environment steps")
	countVar(c.Flags(), &jobs, "jobs", 0, 1, "of a sweep: runs at a time (default: one per core)")
	c.Flags().StringVar(&from, "from", "",
		"checkpoint of this run to go back to: its name, folder or number of steps, or best")
	c.Flags().
		BoolVar(&inexact, "inexact", false, "resume although the kernels differ from those that made the checkpoint")
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	completeCheckpoints(c)
	return c
}

// options are what all runs share.
func options(c *cobra.Command) train.Options {
	return train.Options{
		Catalog: names(c),
		Out:     c.ErrOrStderr(), Terminal: isTerminal(c.ErrOrStderr()),
		Version: Version(), Revision: revision(), Command: os.Args,
	}
}

// goOn says where a stopped or failed run can go on.
func goOn(c *cobra.Command, res *train.Result, err error) error {
	if res == nil || res.Checkpoint == "" {
		return err
	}
	var sig stopped
	if errors.As(err, &sig) {
		fmt.Fprintf(c.ErrOrStderr(), "stopped by %v at step %d of %d, all saved; %s\n", sig, res.Steps, res.Planned,
			exitHint(res.Dir))
		return err
	}
	return fmt.Errorf("%w\neverything up to %s is saved; when the cause is fixed, %s", err, res.Checkpoint,
		exitHint(res.Dir))
}

func printResult(c *cobra.Command, r *train.Result) {
	w := c.OutOrStdout()
	if r.From == r.Steps {
		fmt.Fprintf(w, "%s is finished: %d of %d steps, nothing was written; go on with a larger total: "+
			"stoker resume %s --steps %d\n", r.Dir, r.Steps, r.Planned, quote(r.Dir), 2*r.Steps)
		return
	}
	fmt.Fprintf(w, "trained %d steps, %d episodes: %s\n", r.Steps, r.Episodes, r.Dir)
	if r.BestValue != nil {
		fmt.Fprintf(w, "best %s in evaluation %.5g, at step %d\n", r.BestMetric, *r.BestValue, r.BestStep)
	}
	fmt.Fprintf(w, "compare it: stoker eval %s\nwatch it:   tensorboard --logdir %s\n", quote(r.Dir),
		quote(filepath.Dir(r.Dir)))
}

// profiled writes a CPU profile to a new file at path until stop is called; nothing where path is empty.
func profiled(path string) (stop func(*cobra.Command), err error) {
	if path == "" {
		return func(*cobra.Command) {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, usage("--cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("--cpuprofile: %w", err)
	}
	return func(c *cobra.Command) {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintf(c.ErrOrStderr(), "--cpuprofile: %v\n", err)
			return
		}
		fmt.Fprintf(c.ErrOrStderr(), "profile:    go tool pprof -top %s\n", quote(path))
	}, nil
}

// printPhases says where a run's time went.
func printPhases(w io.Writer, phases []train.Phase) {
	for _, p := range phases {
		fmt.Fprintf(w, "%-9s %8.2f s %5.1f %%\n", p.Name, p.Seconds, 100*p.Share)
	}
}
