package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/eval/report"
	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/internal/lists"
	"github.com/stoker-rl/stoker/train"
)

type libraryFlags struct {
	sets                  []string
	env, workflow, policy string
	split                 string
	users                 []int
	rows, workers         int
	seed                  uint64
	clip                  []float64
	noise                 float64
	force                 bool
}

func libraryCommand() *command {
	f := &libraryFlags{rows: 1000, seed: 1, clip: []float64{0, 1}, split: "train"}
	return &command{
		name: "library", takes: "[CONFIG]", args: arguments{most: 1}, stop: "stopping, nothing is written",
		json: "print the summary as JSON", out: "CSV file to write", noOut: "name the CSV file to write",
		flags: []flag{
			option(&f.env, "env", "id of the environment, in place of CONFIG", sizing.IDs()...),
			option(repeated{&f.sets}, "set",
				"set a key of the configuration, as in env.qos.latency=12 (repeatable)").by(keys),
			option(&f.workflow, "workflow", "workflow, as in env.workflow", workflows...),
			option(wholes(&f.users), "users", "closed-loop users, as in 10,20; each episode draws one of them"),
			option(whole(&f.rows, 1), "rows", "number of windows"),
			option(&f.seed, "seed", "seed of all draws"),
			option(&f.clip, "clip", "least and greatest value of every component of a configuration"),
			option(&f.policy, "policy", "run a policy's configurations: a run, a checkpoint, zoo:NAME or a baseline's name"),
			option(&f.noise, "noise", "with --policy: standard deviation of normal noise on its configurations"),
			option(&f.split, "split", "part of a trace: train, test or all", "train", "test", "all"),
			workers(&f.workers),
			option(&f.force, "force", "replace the file of --out"),
		},
		complete: configurations,
		run:      f.run,
		sub:      []*command{libraryShowCommand()},
	}
}

// workflows are those that a workflow's flag is completed by.
var workflows = []string{sizing.Sequential, sizing.Parallel, sizing.Branch, sizing.TcktApp}

// environmentSets are the keys that those flags stand for.
func environmentSets(sets []string, workflow string, users []int) []string {
	if workflow != "" {
		sets = append(sets, "env.workflow="+workflow, "env.workflows=[]")
	}
	if len(users) > 0 {
		sets = append(sets, "workload.kind=closed-loop", "env.users=["+strings.Join(lists.From(users, strconv.Itoa), ",")+"]",
			"workload.draw.factor=[]", "workload.draw.traces=[]")
	}
	return sets
}

// environmentOf reads CONFIG, or what --env stands for.
func environmentOf(c *call, id string, sets []string) (*configs.Experiment, error) {
	var x *configs.Experiment
	var err error
	switch {
	case len(c.args) == 1 && id != "":
		return nil, usage("%s and --env are both given, want one of them", c.args[0])
	case len(c.args) == 1:
		return c.experiment(c.args[0], sets)
	case id == "":
		return nil, usage("the environment is missing: name a CONFIG, or --env %s", sizing.CountedID)
	default:
		text := "name: library\nenv: {id: " + strconv.Quote(id) + "}\nagent: {name: maddpg}\n"
		x, err = configs.Parse("--env", []byte(text), sets, c.Catalog)
	}
	if err != nil {
		return nil, usage("%w", err)
	}
	return x, nil
}

func (f *libraryFlags) run(c *call) (any, error) {
	switch {
	case len(f.clip) != 2:
		return nil, usage("--clip has %d numbers, want two, as in 0.2,0.8", len(f.clip))
	case f.noise != 0 && f.policy == "":
		return nil, usage("--noise is given without --policy, want both")
	}
	if _, err := os.Lstat(c.folder); err == nil && !f.force {
		return nil, usage("%s exists: give another --out, or --force to replace it", c.folder)
	}
	x, err := environmentOf(c, f.env, environmentSets(f.sets, f.workflow, f.users))
	if err != nil {
		return nil, err
	}
	plan := library.Plan{
		NewEnv: func() (envs.Env, error) { return train.NewEnv(x, f.split) }, Rows: f.rows, Seed: f.seed,
		Low: f.clip[0], High: f.clip[1], Noise: f.noise, Workers: perCore(f.workers), Progress: c.count("rows"),
	}
	if f.policy != "" {
		if plan.Policy, err = search.Policy(c.Catalog, f.policy); err != nil {
			return nil, err
		}
	}
	l, err := library.Make(c.ctx, plan)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := l.Write(&text); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(c.folder), 0o777); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	if err := durable.WriteFile(durable.OS{}, c.folder, text.Bytes()); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	printSummaries(c, c.folder, l)
	return l.Summaries(), nil
}

func libraryShowCommand() *command {
	return &command{
		name: "library show", takes: "FILE", args: arguments{1, 1, "FILE"},
		json: "print as JSON",
		run: func(c *call) (any, error) {
			l, err := readLibrary(c.args[0])
			if err != nil {
				return nil, err
			}
			printSummaries(c, c.args[0], l)
			return l.Summaries(), nil
		},
	}
}

func readLibrary(path string) (*library.Library, error) {
	if _, err := os.Lstat(path); err != nil {
		return nil, train.Missing(path, "a library (a CSV file of stoker library)")
	}
	return library.Read(path)
}

func printSummaries(c *call, path string, l *library.Library) {
	rows := [][]string{{"workflow", "users", "rows", "feasible", "price, USD/h", "cheapest feasible, USD/h"}}
	for _, s := range l.Summaries() {
		cheapest := "none"
		if s.Cheapest != nil {
			cheapest = fmt.Sprintf("%.3f (row %d)", *s.Cheapest, s.Row)
		}
		rows = append(rows, []string{s.Workflow, strconv.Itoa(s.Users), strconv.Itoa(s.Rows),
			fmt.Sprintf("%.1f %%", 100*s.Feasible), fmt.Sprintf("%.2f to %.2f, mean %.2f", s.Low, s.High, s.Mean), cheapest})
	}
	fmt.Fprintf(c, "%s: %d functions, %d numbers each are seen\n\n%s", path, len(l.Functions), len(l.Features),
		report.Columns(rows, true))
}
