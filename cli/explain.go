package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/explain"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

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
		json: "print explain.json instead of the table", out: "folder of the result (default: explain in the run's folder)",
		flags: []flag{
			option(seedList{&f.seeds}, "seeds",
				fmt.Sprintf("workload seeds of the episodes, as in 1-20 (default: the configuration's first %d)", explainedSeeds)),
			option(whole{&f.states, 0}, "states",
				"largest number of states to explain, spread evenly over the episodes; 0 takes all"),
			option(whole{&f.steps, 1}, "steps", "points between the mean state and each state where gradients are taken"),
			option(whole{&f.top, 1}, "top", "how many observations to print for each decision"),
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
	ctx, release := c.stoppable("stopping, nothing is written")
	defer release()
	e, err := explain.Explain(ctx, *r)
	if err != nil {
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
