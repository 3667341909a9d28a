package eval

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/rollout"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/zoo"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/train"
)

// Trained is a policy that was trained, with the experiment that it comes from.
type Trained struct {
	Checkpoint *checkpoints.Checkpoint
	Experiment *configs.Experiment
	File       *agents.PolicyFile
	// Threads is how many the policy acts with; 0 is the engine's default.
	Threads int
}

// OpenTrained reads the policy of a run (its best checkpoint), a checkpoint or the zoo (zoo:NAME), whose configuration
// names rows of a catalog. Settings such as eval.split=train are put over its configuration and over its eval.set.
func OpenTrained(names *catalog.Catalog, path string, sets []string) (*Trained, error) {
	ck, err := train.OpenCheckpoint(path)
	if err != nil {
		return nil, err
	}
	t := &Trained{Checkpoint: ck}
	read := func(sets []string) (*configs.Experiment, error) { return train.ReadExperiment(ck, sets, names) }
	if t.Experiment, err = inEvaluation(read, sets); err != nil {
		return nil, err
	}
	t.File, err = train.ReadPolicy(ck)
	return t, err
}

// inEvaluation reads an experiment with its eval.set, and with the caller's settings over that.
func inEvaluation(read func(sets []string) (*configs.Experiment, error), sets []string) (*configs.Experiment, error) {
	x, err := read(sets)
	if err != nil || len(x.Eval.Set) == 0 {
		return x, err
	}
	return read(append(slices.Clone(x.Eval.Set), sets...))
}

// Shipped opens the policy of the zoo of a name; nil without an error where this program's zoo has none.
func Shipped(name string) (*Trained, error) {
	if !slices.Contains(zoo.Names(), name) {
		return nil, nil //nolint:nilnil // a suite says that the policy is missing and plays on
	}
	t, err := OpenTrained(catalog.Default(), zoo.Prefix+name, nil)
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", zoo.Prefix, name, err)
	}
	return t, nil
}

// Steps is how many steps the policy was trained for.
func (t *Trained) Steps() int64 { return t.Checkpoint.Header().Counters["steps"] }

// Policy makes the policy for an environment's spec, acting on the CPU.
func (t *Trained) Policy(spec *envs.Spec) (envs.Policy, error) {
	a, err := catalog.Of(t.Experiment).Learner(t.File.Agent)
	if err != nil {
		return nil, err
	}
	cpu, err := engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: t.Threads})
	if err != nil {
		return nil, err
	}
	return a.Open(t.File, spec, cpu)
}

// Version is the policy as a version of a contestant; source says where it was read from.
func (t *Trained) Version(source string) Version {
	return Version{TrainingSeed: t.Experiment.Seed, Source: source, New: func(env envs.Env) (rollout.Actor, error) {
		p, err := t.Policy(env.Spec())
		return rollout.Actor{Policy: p}, err
	}}
}
