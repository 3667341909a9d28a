package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/train"
)

type libraryFlags struct {
	sets               []string
	env, workflow      string
	users              []int
	out, policy, split string
	rows, workers      int
	seed               uint64
	clip               []float64
	noise              float64
	force, json        bool
}

func libraryCommand() *cobra.Command {
	var f libraryFlags
	c := &cobra.Command{
		Use:   "library [CONFIG]",
		Short: "Run configurations of the sizing environment and write what came of them",
		Long: `Run configurations in the sizing environment and write a library: a CSV file with a line for each window, the
configuration of every function, what the functions' agents see after it, and what the window gave. Searches warm up with
such rows (stoker online), and stoker train --library learns from them alone.

The environment is that of CONFIG, or that of --env with its defaults. Configurations are uniformly random within --clip, or
those of a policy (--policy), with normal noise (--noise) where wanted. The rows follow from --seed alone, for any number of
workers.

Columns: workflow, users (closed-loop users; 0 under arrivals), seed and window (of the episode); action.FUNCTION.COMPONENT;
FUNCTION.FEATURE, what its agent sees after the window; and the quantities of the window. Units stand in brackets.`,
		Example: `  stoker library --env stoker/Sizing-v3 --workflow parallel --users 10,15,20,25,30 --rows 5000 --out parallel.csv
  stoker library configs/sizing/attmf.yaml --policy runs/sizing-attmf-s1 --noise 0.05 --rows 2000 --out near.csv
  stoker library show parallel.csv
  stoker library show data/faasconf/parallel_10.csv           # FaaSConf's published measurements`,
		Args:              args(0, 1, ""),
		RunE:              func(c *cobra.Command, a []string) error { return runLibrary(c, a, &f) },
		ValidArgsFunction: completeConfigs,
	}
	fl := c.Flags()
	fl.StringVar(&f.env, "env", "", "id of the environment, in place of CONFIG")
	environmentFlags(c, &f.sets, &f.workflow, &f.users)
	countVar(fl, &f.rows, "rows", 1000, 1, "number of windows")
	fl.StringVar(&f.out, "out", "", "CSV file to write")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of all draws")
	fl.Float64SliceVar(&f.clip, "clip", []float64{0, 1}, "least and greatest value of every component of a configuration")
	fl.StringVar(&f.policy, "policy", "", "run a policy's configurations: a run, a checkpoint, zoo:NAME or a rival's name")
	fl.Float64Var(&f.noise, "noise", 0, "with --policy: standard deviation of normal noise on its configurations")
	fl.StringVar(&f.split, "split", "train", "part of a trace: train, test or all")
	countVar(fl, &f.workers, "workers", 0, 0, "episodes at a time, as in 4; 0 is one per core")
	fl.BoolVar(&f.force, "force", false, "replace the file of --out")
	fl.BoolVar(&f.json, "json", false, "print the summary as JSON")
	completeWords(c, "split", "train", "test", "all")
	completeWords(c, "env", sizing.IDs()...)
	c.AddCommand(libraryShowCommand())
	return c
}

// environmentFlags defines --set and the flags for its most used keys.
func environmentFlags(c *cobra.Command, sets *[]string, workflow *string, users *[]int) {
	c.Flags().StringArrayVar(sets, "set", nil, "set a key of the configuration, as in env.qos.latency=12 (repeatable)")
	c.Flags().StringVar(workflow, "workflow", "", "workflow, as in env.workflow")
	countsVar(c.Flags(), users, "users", nil, "closed-loop users, as in 10,20; each episode draws one of them")
	completeSets(c)
	completeWords(c, "workflow", sizing.Sequential, sizing.Parallel, sizing.Branch, sizing.TcktApp)
}

// environmentSets are the keys that those flags stand for.
func environmentSets(sets []string, workflow string, users []int) []string {
	if workflow != "" {
		sets = append(sets, "env.workflow="+workflow, "env.workflows=[]")
	}
	if len(users) > 0 {
		list := make([]string, len(users))
		for i, u := range users {
			list[i] = strconv.Itoa(u)
		}
		sets = append(sets, "workload.kind=closed-loop", "env.users=["+strings.Join(list, ",")+"]",
			"workload.draw.factor=[]", "workload.draw.traces=[]")
	}
	return sets
}

// environmentOf reads CONFIG, or what --env stands for.
func environmentOf(c *cobra.Command, a []string, id string, sets []string) (*configs.Experiment, error) {
	var x *configs.Experiment
	var err error
	switch {
	case len(a) == 1 && id != "":
		return nil, usage("%s and --env are both given, want one of them", a[0])
	case len(a) == 1:
		x, err = configs.Load(a[0], sets, names(c))
	case id == "":
		return nil, usage("the environment is missing: name a CONFIG, or --env %s", sizing.CountedID)
	default:
		text := "name: library\nenv: {id: " + strconv.Quote(id) + "}\nagent: {name: maddpg}\n"
		x, err = configs.Parse("--env", []byte(text), sets, names(c))
	}
	if err != nil {
		return nil, usage("%w", err)
	}
	return x, nil
}

func runLibrary(c *cobra.Command, a []string, f *libraryFlags) error {
	switch {
	case f.out == "":
		return usage("--out is missing: name the CSV file to write")
	case len(f.clip) != 2:
		return usage("--clip has %d numbers, want two, as in 0.2,0.8", len(f.clip))
	case f.noise != 0 && f.policy == "":
		return usage("--noise is given without --policy, want both")
	}
	if _, err := os.Lstat(f.out); err == nil && !f.force {
		return usage("%s exists: give another --out, or --force to replace it", f.out)
	}
	x, err := environmentOf(c, a, f.env, environmentSets(f.sets, f.workflow, f.users))
	if err != nil {
		return err
	}
	plan := library.Plan{
		NewEnv: func() (envs.Env, error) { return train.NewEnv(x, f.split) }, Rows: f.rows, Seed: f.seed,
		Low: f.clip[0], High: f.clip[1], Noise: f.noise, Workers: f.workers, Progress: countProgress(c, "rows"),
	}
	if plan.Workers == 0 {
		plan.Workers = runtime.GOMAXPROCS(0)
	}
	if f.policy != "" {
		if plan.Policy, err = search.Policy(names(c), f.policy); err != nil {
			return err
		}
	}
	ctx, release := onSignal(c.Context(), c.ErrOrStderr(), "stopping, nothing is written")
	defer release()
	l, err := library.Make(ctx, plan)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := l.Write(&text); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.out), 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := durable.WriteFile(durable.OS{}, f.out, text.Bytes()); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if f.json {
		return printJSON(c.OutOrStdout(), l.Summaries())
	}
	printSummaries(c, f.out, l)
	return nil
}

func libraryShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show FILE",
		Short: "Sum a library up: rows, share of feasible ones, prices, the cheapest feasible",
		Long: `Sum a library up by users: rows, the share that kept the thresholds under which it was made, the range of prices and
the cheapest feasible row. FaaSConf's published measurements are judged by the thresholds of its code.`,
		Example: "  stoker library show parallel.csv\n  stoker library show parallel.csv --json",
		Args:    args(1, 1, "FILE"),
		RunE: func(c *cobra.Command, a []string) error {
			if _, err := os.Lstat(a[0]); err != nil {
				return train.Missing(a[0], "a library (a CSV file of stoker library)")
			}
			l, err := library.Read(a[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), l.Summaries())
			}
			printSummaries(c, a[0], l)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func printSummaries(c *cobra.Command, path string, l *library.Library) {
	rows := [][]string{{"workflow", "users", "rows", "feasible", "price, USD/h", "cheapest feasible, USD/h"}}
	for _, s := range l.Summaries() {
		cheapest := "none"
		if s.Cheapest != nil {
			cheapest = fmt.Sprintf("%.3f (row %d)", *s.Cheapest, s.Row)
		}
		rows = append(rows, []string{s.Workflow, strconv.Itoa(s.Users), strconv.Itoa(s.Rows),
			fmt.Sprintf("%.1f %%", 100*s.Feasible), fmt.Sprintf("%.2f to %.2f, mean %.2f", s.Low, s.High, s.Mean), cheapest})
	}
	fmt.Fprintf(c.OutOrStdout(), "%s: %d functions, %d numbers each are seen\n\n%s", path, len(l.Functions), len(l.Features),
		report.Columns(rows, true))
}
