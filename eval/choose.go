package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/eval/foreign"
	"github.com/stoker-rl/stoker/train"
	"github.com/stoker-rl/stoker/train/sweep"
)

// Choice is the contestants and the experiment in which they are compared.
type Choice struct {
	// Experiment is that of the first checkpoint, with the caller's settings over it: its environment, workload and
	// eval section hold for all contestants.
	Experiment  *configs.Experiment
	Contestants []Contestant
	// Runs are the run folders among the sources, for learning curves, with the contestant they belong to.
	Runs []RunOf

	learned, sets []string          // the paths of learned contestants, and the caller's settings
	config        string            // the experiment's file, where one was given
	dials         map[int][]float64 // the ranges of the dial that learned contestants were trained with
	dialKey       string            // the key of that dial
	chosen        []configs.Choice  // the baseline that a contestant is, by contestant; empty for a learned one
	methods       map[string]string

	loads  map[int]*envs.Load // that learned contestants were trained on, as far as they are known
	names  *catalog.Catalog
	groups map[string]int // contestants by what made them, see groupOf
	called []named        // what the contestants are called by
	runOf  []int          // the contestant of each of Runs
	played []string       // what each contestant is, see Settings
	opened []*foreign.Policy
}

// RunOf is a run folder and its contestant's name.
type RunOf struct{ Dir, Contestant string }

// matched puts the run folders in the place of the patterns that they match, as a shell does with patterns not quoted.
func matched(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if _, err := os.Lstat(p); err == nil || !strings.ContainsAny(p, "*?[") {
			out = append(out, p)
			continue
		}
		found, err := FindRuns([]string{p})
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Choose reads what paths stand for: run folders (their best checkpoint) or patterns of them, sweeps (their finished
// runs), checkpoints, policies of the zoo, or baselines of the catalog names. Runs whose configurations are equal but for the
// seed form one contestant, and so do checkpoints of such runs after the same number of steps. Baselines that the experiment
// lists are added, unless the caller named some; a named one has the experiment's configuration where it lists that baseline.
// Policies that were trained elsewhere are opened: the choice is to be closed. What the caller got wrong is marked as
// train.ErrUsage.
func Choose(names *catalog.Catalog, paths []string, config string, sets []string,
	elsewhere ...Elsewhere) (_ *Choice, err error) {
	c := &Choice{names: names, groups: map[string]int{}, loads: map[int]*envs.Load{}, sets: sets, config: config,
		dials: map[int][]float64{}}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if config != "" {
		load := func(sets []string) (*configs.Experiment, error) { return configs.Load(config, sets, names) }
		if c.Experiment, err = InEvaluation(load, sets); err != nil {
			return nil, err
		}
	}
	paths, err = matched(paths)
	if err != nil {
		return nil, err
	}
	var baselines []catalog.Baseline
	for _, path := range paths {
		if folder := filepath.Dir(filepath.Clean(path)); sweep.Is(folder) && !logsMetrics(path) {
			return nil, train.Usage("%s is no run, but a part of the sweep %s: give %s for its finished runs, or some of %s",
				path, folder, folder, filepath.Join(folder, "*-s*"))
		}
		if sweep.Is(path) {
			finished, err := sweep.FinishedRuns(path, names)
			if err != nil {
				return nil, err
			}
			for _, dir := range finished {
				if err := c.addLearned(dir, sets); err != nil {
					return nil, err
				}
			}
			continue
		}
		_, inZoo := zoo.Cut(path)
		if _, err := os.Stat(path); inZoo || !errors.Is(err, fs.ErrNotExist) {
			if err := c.addLearned(path, sets); err != nil {
				return nil, err
			}
			continue
		}
		r, err := names.Baseline(path)
		if err != nil && strings.ContainsAny(path, `/\\`) { // no policy's name
			return nil, train.Missing(path, "a run's folder, a checkpoint, a policy of the zoo or a baseline's name")
		}
		if err != nil {
			return nil, train.Usage("%s is neither a run nor a checkpoint, and there is %w", path, err)
		}
		if slices.ContainsFunc(baselines, func(o catalog.Baseline) bool { return o.Name == r.Name }) {
			return nil, train.Usage("policy %s is named twice", path)
		}
		baselines = append(baselines, r)
	}
	if c.Experiment == nil {
		return nil, train.Usage("no run or checkpoint names an environment: give a configuration with --config")
	}
	if err := c.addElsewhere(elsewhere); err != nil {
		return nil, err
	}
	for _, r := range c.baselines(baselines) {
		if err := c.addBaseline(r); err != nil {
			return nil, err
		}
	}
	c.name()
	return c, nil
}

// baselines are the named ones as the experiment configures them, or all that it lists where none is named.
func (c *Choice) baselines(named []catalog.Baseline) []configs.Choice {
	listed := c.Experiment.Eval.Baselines
	if len(named) == 0 {
		return listed
	}
	var out []configs.Choice
	for _, r := range named {
		same := slices.DeleteFunc(slices.Clone(listed), func(o configs.Choice) bool { return o.Name != r.Name })
		if len(same) == 0 {
			same = []configs.Choice{{Name: r.Name, Config: r.Config()}}
		}
		out = append(out, same...)
	}
	return out
}

func (c *Choice) addLearned(path string, sets []string) error {
	trained, err := OpenTrained(c.names, path, sets)
	if err != nil {
		return err
	}
	c.learned = append(c.learned, path)
	ck, x := trained.Checkpoint, trained.Experiment
	if c.Experiment == nil {
		c.Experiment = x
	}
	if x.Env.Name != c.Experiment.Env.Name {
		return train.Usage("%s acts in %s, the comparison is in %s", path, x.Env.Name, c.Experiment.Env.Name)
	}
	key, err := groupOf(ck, path)
	if err != nil {
		return err
	}
	called, err := callOf(ck, path, x.Name)
	if err != nil {
		return err
	}
	v := trained.Version(ck.Dir())
	at, ok := c.groups[key]
	if !ok {
		at = len(c.Contestants)
		c.groups[key] = at
		c.called = append(c.called, called)
		c.Contestants = append(c.Contestants, Contestant{Name: called.base, Kind: catalog.Learned})
		c.chosen = append(c.chosen, configs.Choice{})
		own, err := train.ReadExperiment(ck, nil, c.names) // settings of the evaluation are not those of training
		if err != nil {
			return err
		}
		if l := train.TrainedLoad(ck, own); l != nil {
			c.loads[at] = l
		}
		if key, dial := dialOf(own); len(dial) == 2 {
			c.dialKey, c.dials[at] = key, dial
		}
	}
	if called.base != c.called[at].base { // runs of several names: by the experiment
		c.called[at].base = x.Name + stepOf(ck, path)
	}
	con := &c.Contestants[at]
	for _, o := range con.Versions {
		if o.TrainingSeed == v.TrainingSeed {
			return train.Usage("%s: training seed %d of %s is there already, from %s", path, v.TrainingSeed, con.Name, o.Source)
		}
	}
	v.New = c.explained(v.New, path, trained)
	con.Versions = append(con.Versions, v)
	c.note(at, fmt.Sprintf("training seed %d at step %d (%.12s)", v.TrainingSeed, steps(ck), ck.ID()))
	if _, err := os.Stat(filepath.Join(path, checkpoints.MetricsFile)); err == nil {
		c.Runs = append(c.Runs, RunOf{path, con.Name})
		c.runOf = append(c.runOf, at)
	}
	return nil
}

// explained adds to the error of a policy that does not fit the environment the env keys that differ from its training,
// such as a reward's dial, which it sees.
func (c *Choice) explained(open func(envs.Env) (rollout.Actor, error), path string, t *Trained) func(envs.Env) (rollout.Actor, error) {
	return func(env envs.Env) (rollout.Actor, error) {
		a, err := open(env)
		if err == nil {
			return a, nil
		}
		trained, e := train.ReadExperiment(t.Checkpoint, nil, c.names)
		if e != nil {
			return a, err
		}
		differ := envSettings(c.Experiment).differences(envSettings(trained))
		if len(differ) == 0 {
			return a, err
		}
		return a, train.Usage("%s does not fit this environment: %v; "+
			"it was trained with other keys (there: in training): %s. Set them with --set, or evaluate it without --config", path, err, strings.Join(differ, "; "))
	}
}

// envSettings are the keys of an experiment's environment.
func envSettings(x *configs.Experiment) Settings {
	out := Settings{}
	text, err := json.Marshal(map[string]any{"env": x.Env.Config})
	if err != nil {
		return out
	}
	var m map[string]any
	if json.Unmarshal(text, &m) == nil {
		flatten(out, "", m)
	}
	maps.DeleteFunc(out, func(_, v string) bool { return v == "[]" })
	return out
}

// name gives all contestants their names.
func (c *Choice) name() {
	for i, label := range labelsOf(c.called) {
		c.Contestants[i].Name = label
	}
	for i, at := range c.runOf {
		c.Runs[i].Contestant = c.Contestants[at].Name
	}
}

// isCheckpoint reports whether path is the checkpoint itself, not its run.
func isCheckpoint(ck *checkpoints.Checkpoint, path string) bool {
	return filepath.Clean(ck.Dir()) == filepath.Clean(path)
}

func steps(ck *checkpoints.Checkpoint) int64 { return ck.Header().Counters["steps"] }

// groupOf is the same text for checkpoints that differ by their training seed only: the configuration of what shapes
// the policy and, where path names a checkpoint rather than a run's best, its steps.
func groupOf(ck *checkpoints.Checkpoint, path string) (string, error) {
	m, err := policyShape(ck.Header().Config)
	if err != nil {
		return "", fmt.Errorf("%s: %w", ck.Dir(), err)
	}
	if isCheckpoint(ck, path) {
		m["steps of the checkpoint"] = steps(ck)
	}
	b, err := json.Marshal(m)
	return string(b), err
}

// stepOf marks a path that names a checkpoint, not its run.
func stepOf(ck *checkpoints.Checkpoint, path string) string {
	if !isCheckpoint(ck, path) {
		return ""
	}
	return fmt.Sprintf("@%d", steps(ck))
}

// callOf is what the policy in path is called by.
func callOf(ck *checkpoints.Checkpoint, path, experiment string) (named, error) {
	if name, ok := zoo.Cut(path); ok {
		return named{base: name, folder: path}, nil
	}
	run, at := path, stepOf(ck, path)
	if at != "" {
		run = filepath.Dir(filepath.Clean(path))
		if filepath.Base(run) == checkpoints.CheckpointsDir {
			run = filepath.Dir(run)
		}
	}
	m, err := policyShape(ck.Header().Config)
	if _, missing := os.Stat(filepath.Join(run, checkpoints.RunFile)); missing == nil && !sweep.Is(filepath.Dir(run)) {
		experiment = groupName(run) // as --name has it
	}
	return named{base: experiment + at, folder: groupName(run) + at, config: m}, err
}

func (c *Choice) addBaseline(choice configs.Choice) error {
	r, err := c.names.Baseline(choice.Name)
	if err != nil {
		return err
	}
	plays := c.names.PlaysIn(r, c.Experiment.Env.Name)
	if plays == "" {
		return train.Usage("%s is made for %v, not for %s", r.Name, r.Envs, c.Experiment.Env.Name)
	}
	config, err := json.Marshal(choice.Config)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	m, err := keysOf(config)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	c.note(len(c.Contestants), r.Name+" "+string(config))
	c.chosen = append(c.chosen, choice)
	c.called = append(c.called, named{base: r.Name, folder: r.Name, config: m, plain: true})
	con := BaselineOf(r, r.Name, choice.Config)
	if x := *c.Experiment; plays != x.Env.Name {
		x.Env.Name = plays
		con.NewEnv = func() (envs.Env, error) { return train.NewEnv(&x, x.Eval.Split) }
	}
	c.Contestants = append(c.Contestants, con)
	return nil
}
