package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/eval/explain"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

type explainFlags struct {
	sets               []string
	seeds, out         string
	states, steps, top int
	replay, json       bool
}

// explainedSeeds is the number of the configuration's evaluation seeds that are played where --seeds says nothing.
const explainedSeeds = 10

func explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use:   "explain RUN|CHECKPOINT|POLICY",
		Short: "Rank the observations that drive a policy's decisions",
		Long: `Rank the observations that drive a policy's decisions. Evaluation episodes are run; every component of every agent's
action is attributed to what the agent saw (integrated gradients through the policy). The ranking is checked by shuffling
each feature, in the recorded states and while the episodes run again. Where agents attend to neighbours, the weights are
shown. Of a run the best checkpoint is used. Policies that see vectors can be explained, whoever learned them; those
that see graphs, and spsa's, which see nothing, cannot.

The folder given by --out (default: explain in the run's folder) gets explain.json, features.csv, decisions.csv,
attention.csv, and the ranking and the attention weights as figures. Attention is compared with equal weights for all neighbours:
how far decisions move without it, and with --replay how much return is lost.`,
		Example: `  stoker explain runs/sizing-s1
  stoker explain runs/sizing-s1 --seeds 1-20 --states 0 --top 5
  stoker explain runs/spread-s1/checkpoints/step-000000625000 --replay=false --json`,
		Args: args(1, 1, "RUN, CHECKPOINT or POLICY"),
		RunE: func(c *cobra.Command, a []string) error { return runExplain(c, a[0], f) },
	}
	fl := c.Flags()
	seedsVar(fl, &f.seeds, "seeds",
		fmt.Sprintf("workload seeds of the episodes, as in 1-20 (default: the configuration's first %d)",
			explainedSeeds))
	countVar(fl, &f.states, "states", 400, 0,
		"largest number of states to explain, spread evenly over the episodes; 0 takes all")
	countVar(fl, &f.steps, "steps", 32, 1, "points between the mean state and each state where gradients are taken")
	countVar(fl, &f.top, "top", 3, 1, "how many observations to print for each decision")
	fl.BoolVar(&f.replay, "replay", true,
		"run all episodes again with each feature shuffled, to measure its effect on the return")
	fl.StringVar(&f.out, "out", "", "folder of the result (default: explain in the run's folder)")
	fl.StringArrayVar(&f.sets, "set", nil, "set a key of the configuration, as in eval.split=train (repeatable)")
	fl.BoolVar(&f.json, "json", false, "print explain.json instead of the table")
	return c
}

func runExplain(c *cobra.Command, path string, f explainFlags) error {
	ck, err := train.OpenCheckpoint(path)
	if err != nil {
		return err
	}
	r, err := explainRequest(c, ck, f)
	if err != nil {
		return err
	}
	defer func() { _ = r.Act.Close() }() // it frees memory: there is nothing left to lose
	out := f.out
	if out == "" {
		if out, err = explainFolder(ck, path); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(out, 0o777); err != nil { // before the work, not after it
		return fmt.Errorf("--out: %w", err)
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing is written")
	defer release()
	e, err := explain.Explain(ctx, *r)
	if err != nil {
		return err
	}
	e.Source = path
	files, err := explain.Write(out, e)
	if err != nil {
		return fmt.Errorf("writing %s: %w", out, err)
	}
	w := c.OutOrStdout()
	if f.json {
		return printJSON(w, e)
	}
	if err := explain.Text(w, e, f.top); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, file := range files {
		fmt.Fprintln(w, file)
	}
	return nil
}

// explainRequest opens what a checkpoint's experiment and policy need.
func explainRequest(c *cobra.Command, ck *checkpoints.Checkpoint, f explainFlags) (*explain.Request, error) {
	x, err := train.ReadExperiment(ck, f.sets, names(c))
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
	a, err := names(c).Learner(file.Agent)
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
		Env: env, Policy: p, Act: act, Seeds: seeds, States: f.states, Steps: f.steps, Replay: f.replay, Progress: countProgress(c, "episodes"),
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
