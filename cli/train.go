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

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/catalog/schema"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// runsFolder is where runs come without --runs.
const runsFolder = "runs"

// trainFlags are the flags of train.
type trainFlags struct {
	coordinator
	sets                                    []string
	name, runs, seeds, device, engine, from string
	cpuprofile, library, track              string
	seed                                    uint64
	until                                   int64
	jobs, rollouts                          int
	printConfig, schema, deterministic      bool
}

func trainCommand() *command {
	f := &trainFlags{runs: runsFolder}
	return &command{
		name: "train", takes: "CONFIG", args: arguments{most: -1}, json: "print the result as JSON",
		stop: "saving, then stopping",
		flags: append(append(f.engineFlags(), f.coordinator.flags()...),
			option(repeated{&f.sets}, "set",
				"set a key of the configuration, as in train.steps=1000 (repeatable)").by(keys),
			option(&f.name, "name", "name of the run (default: the experiment's name and the seed)"),
			option(&f.runs, "runs", "folder of the runs"),
			option(&f.seed, "seed", "seed of the run (default: the configuration's)"),
			option(seedList(&f.seeds), "seeds", "several runs, one per seed, as in 1-5, side by side"),
			option(whole(&f.jobs, 1), "jobs", "with --seeds: runs at a time (default: one per core)"),
			rolloutsFlag(&f.rollouts),
			option(&f.deterministic, "deterministic",
				"make results on CUDA repeat to the bit: slower, and operations that cannot fail"),
			option(&f.until, "until",
				"stop after so many of train.steps, saved; stoker resume goes on as if it had not stopped"),
			option(&f.from, "init-from", "start from the weights of a checkpoint, a run or, for ppo, reinforce and dqn, a policy such as zoo:faasconf"),
			option(&f.library, "library",
				"learn from the rows of this library alone (stoker library), without a step in the environment"),
			trackFlag(&f.track),
			option(&f.cpuprofile, "cpuprofile",
				"write a CPU profile for go tool pprof to this file, and print where the time went"),
			option(&f.printConfig, "print-config", "print the resolved configuration and stop"),
			option(&f.schema, "schema", "print the JSON Schema of configurations, for editors, and stop"),
		),
		complete: configurations,
		run: func(c *call) (any, error) {
			wanted := arguments{1, 1, "CONFIG"}
			if f.schema {
				wanted = arguments{}
			}
			if err := wanted.check(c.command, c.args); err != nil {
				return nil, err
			}
			if !f.schema {
				return f.run(c)
			}
			text, err := schema.Of(c.Catalog)
			if err != nil {
				return nil, err
			}
			_, err = c.out.Write(text)
			return nil, err
		},
	}
}

// engineFlags choose what computes.
func (f *trainFlags) engineFlags() []flag {
	return []flag{
		option(&f.device, "device", "auto, cpu or cuda:N (default: the configuration's)", "auto", "cpu", "cuda:0"),
		option(&f.engine, "engine", "native, torch or gorgonia (default: the configuration's)",
			engines.Native, engines.Torch),
	}
}

func (f *trainFlags) run(c *call) (any, error) {
	if c.given("until") && f.until < 1 {
		return nil, usage("--until is %d, want at least 1", f.until)
	}
	if c.given("name") && f.name == "" {
		return nil, usage("--name is empty, want a folder's name (left out: NAME-sSEED of the configuration)")
	}
	x, err := c.experiment(c.args[0], f.settings())
	if err != nil {
		return nil, err
	}
	seeds, err := f.seedsOf(c, x)
	if err != nil {
		return nil, err
	}
	if f.printConfig {
		x.Seed = seeds[0]
		text, err := x.YAML()
		if err != nil {
			return nil, err
		}
		_, err = c.out.Write(text)
		return nil, err
	}
	for _, flag := range append([]string{"jobs"}, farmed...) {
		switch {
		case !c.given(flag) || f.seeds != "":
		case flag == "jobs":
			return nil, usage("--jobs is given without --seeds, want both")
		case f.rollouts == 0:
			return nil, usage("--%s is given without --seeds and --rollouts, want one of them", flag)
		}
	}
	if err := f.coordinator.forRollouts(f.rollouts, f.seeds != ""); err != nil {
		return nil, err
	}
	if err := evaluates(c, x); err != nil {
		return nil, err
	}
	jobs, err := jobsOf(c, x, len(seeds), f.jobs)
	if err != nil {
		return nil, err
	}
	list := make([]train.Planned, len(seeds))
	for i, s := range seeds {
		if list[i], err = f.plan(c, x, s, len(seeds) > 1); err != nil { // all of them before any of them
			return nil, err
		}
	}
	m, err := tracker(c, f.track)
	if err != nil {
		return nil, err
	}
	if f.listen == "" || f.rollouts > 0 {
		if err := trainInTorch(x); err != nil {
			return nil, err
		}
	}
	if f.rollouts == 0 {
		f.units = len(list)
	}
	e, closed, err := f.coordinator.open(c)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Options.Elsewhere, list[i].Options.Rollouts = e, f.rollouts
	}
	if e != nil && f.rollouts == 0 {
		report, err := trainSeeds(c, list, jobs, m)
		return report, errors.Join(err, closed())
	}
	stop, err := profiled(f.cpuprofile)
	if err != nil {
		return nil, err
	}
	defer stop(c)
	if f.seeds != "" {
		return trainSeeds(c, list, jobs, m)
	}
	res, err := train.Start(c.ctx, list[0].Experiment, list[0].Options)
	if err = tell(c, m, res, errors.Join(err, closed())); err != nil {
		return nil, goOn(c, res, err)
	}
	printResult(c, res)
	if f.cpuprofile != "" {
		printPhases(c, res.Phases)
	}
	return []*train.Result{res}, nil
}

// evaluates refuses what the evaluation could not show, before training rather than after it. What is wrong with the
// environment is said where training makes it. Of the environment's baselines, those that do not fit are left out.
func evaluates(c *call, x *configs.Experiment) error {
	env, err := train.NewEnv(x, x.Eval.Split)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if _, err := eval.NewAnalysis(env.Spec(), x.Eval); err != nil {
		return usage("%s: %w", x.Source, err)
	}
	fitting(c, x, env)
	if err := eval.Fit(catalog.Of(x), x, env); err != nil {
		return usage("%s: %w; leave it out of eval.baselines, which stoker eval compares with", x.Source, err)
	}
	return nil
}

// fitting leaves out baselines of the environment that do not fit, where the file names none, and says so. It reports
// whether it left out any.
func fitting(c *call, x *configs.Experiment, env envs.Env) bool {
	if !x.DefaultBaselines {
		return false
	}
	n := len(x.Eval.Baselines)
	x.Eval.Baselines = slices.DeleteFunc(slices.Clone(x.Eval.Baselines), func(r configs.Choice) bool {
		one := *x
		one.Eval.Baselines = []configs.Choice{r}
		err := eval.Fit(catalog.Of(x), &one, env)
		if err != nil {
			fmt.Fprintf(c.errs, "note: %s, a baseline of %s, is left out: %v\n", r.Name, x.Env.Name, err)
		}
		return err != nil
	})
	return len(x.Eval.Baselines) < n
}

// seedsOf are the seeds of the runs to do.
func (f *trainFlags) seedsOf(c *call, x *configs.Experiment) ([]uint64, error) {
	one := c.given("seed")
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

func (f *trainFlags) plan(c *call, x *configs.Experiment, seed uint64, several bool) (train.Planned, error) {
	y, o := *x, options(c)
	y.Seed = seed
	o.RunsDir, o.Name, o.InitFrom, o.Until = f.runs, f.name, f.from, f.until
	if f.name != "" && several {
		o.Name = fmt.Sprintf("%s-s%d", f.name, seed)
	}
	_, err := train.Folder(&y, o)
	return train.Planned{Experiment: &y, Options: o}, err
}

// settings are those of --set and of the flags that stand for keys.
func (f *trainFlags) settings() []string {
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

// options are what all runs share.
func options(c *call) train.Options {
	return train.Options{
		Catalog: c.Catalog,
		Out:     c.errs, Terminal: isTerminal(c.errs),
		Version: Version(), Revision: revision(), Command: os.Args,
	}
}

// goOn says where a stopped or failed run can go on.
func goOn(c *call, res *train.Result, err error) error {
	if res == nil || res.Checkpoint == "" {
		return err
	}
	var sig stopped
	if errors.As(err, &sig) {
		fmt.Fprintf(c.errs, "stopped by %v at step %d of %d, all saved; %s\n", sig, res.Steps, res.Planned,
			exitHint(res.Dir))
		return err
	}
	if errors.As(err, new(*bounds.Error)) {
		return fmt.Errorf("%w\na run's configuration stays as it is: change yours, and start a new run", err)
	}
	return fmt.Errorf("%w\neverything up to %s is saved; when the cause is fixed, %s", err, res.Checkpoint,
		exitHint(res.Dir))
}

func printResult(c *call, r *train.Result) {
	if r.Steps < r.Planned {
		fmt.Fprintf(c, "trained %d of %d steps, %d episodes: %s\ngo on with: stoker resume %s\n", r.Steps, r.Planned, r.Episodes,
			r.Dir, shell.Quote(r.Dir))
		return
	}
	if r.From == r.Steps && r.Aside != "" {
		fmt.Fprintf(c, "%s is at step %d of %d again; compare it: stoker eval %s\n", r.Dir, r.Steps, r.Planned, shell.Quote(r.Dir))
		return
	}
	if r.From == r.Steps {
		fmt.Fprintf(c, "%s is finished: %d of %d steps, nothing was written; go on with a larger total: "+
			"stoker resume %s --steps %d\n", r.Dir, r.Steps, r.Planned, shell.Quote(r.Dir), 2*r.Steps)
		return
	}
	fmt.Fprintf(c, "trained %d steps, %d episodes: %s\n", r.Steps, r.Episodes, r.Dir)
	if r.BestValue != nil {
		fmt.Fprintf(c, "best %s in evaluation %.5g, at step %d\n", r.BestMetric, *r.BestValue, r.BestStep)
	}
	fmt.Fprintf(c, "compare it: stoker eval %s\nwatch it:   tensorboard --logdir %s\n", shell.Quote(r.Dir),
		shell.Quote(filepath.Dir(r.Dir)))
}

// profiled writes a CPU profile to a new file at path until stop is called; nothing where path is empty.
func profiled(path string) (stop func(*call), err error) {
	if path == "" {
		return func(*call) {}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, usage("--cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("--cpuprofile: %w", err)
	}
	return func(c *call) {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintf(c.errs, "--cpuprofile: %v\n", err)
			return
		}
		fmt.Fprintf(c.errs, "profile:    go tool pprof -top %s\n", shell.Quote(path))
	}, nil
}

// printPhases says where a run's time went.
func printPhases(w io.Writer, phases []train.Phase) {
	for _, p := range phases {
		fmt.Fprintf(w, "%-9s %8.2f s %5.1f %%\n", p.Name, p.Seconds, 100*p.Share)
	}
}
