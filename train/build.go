package train

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/rng"
)

// NewEnv builds an experiment's environment over a split of its workload (train, test or all; empty leaves the
// configuration's own).
func NewEnv(x *configs.Experiment, split string) (envs.Env, error) {
	w := x.Workload
	if split != "" {
		w.Split = split
	}
	env, err := catalog.Of(x).NewEnv(x.Env.Name, x.Env.Config, w)
	if err != nil {
		return nil, fmt.Errorf("environment %s: %w", x.Env.Name, err)
	}
	if n := x.Wrappers.TimeLimit; n > 0 {
		limited, err := envs.NewTimeLimit(env, n)
		if err != nil {
			return nil, fmt.Errorf("wrappers.time_limit: %w", err)
		}
		return limited, nil
	}
	return env, nil
}

// openEngines opens the engine that trains, where it was chosen, and the one that acts, which is always native. They
// are the same where native trains.
func openEngines(c configs.Engine, on Choice) (trainer, actor nets.Engine, err error) {
	o := engines.Options{Device: on.Device, Threads: c.Threads, Deterministic: c.Deterministic}
	if c.DType == nets.Float64.String() {
		o.DType = nets.Float64
	}
	trainer, err = engines.Open(on.Engine, o)
	if err != nil {
		return nil, nil, err
	}
	if on.Engine == engines.Native {
		return trainer, trainer, nil
	}
	o.Device = "cpu"
	actor, err = engines.Open(engines.Native, o)
	if err != nil {
		return nil, nil, errors.Join(err, trainer.Close())
	}
	return trainer, actor, nil
}

// world is all that a run computes with.
type world struct {
	x              *configs.Experiment
	on             Choice
	trainer, actor nets.Engine
	workers        int // that step environments
	vector         *envs.Vector
	learner        agents.Learner
	offline        agents.Offline   // the learner where it learns from a library alone, else nil
	checker        *checker         // nil where evaluation during training is off
	load           *envs.LoadReport // nil where the environment has none
}

// build makes what a run computes with. Threads, of the engine and of those that step environments, are used where the
// configuration leaves their number open; 0 is one for each core. Results don't depend on it.
func build(x *configs.Experiment, threads int) (w *world, err error) {
	w = &world{x: x}
	defer func() {
		if err != nil {
			w.close()
			w = nil
		}
	}()
	engine := x.Engine
	engine.Threads = cmp.Or(engine.Threads, threads)
	if w.on, err = Choose(x, GPUs(), engines.Names()); err != nil {
		return w, err
	}
	if w.trainer, w.actor, err = openEngines(engine, w.on); err != nil {
		return w, err
	}
	copies := copiesOf(x)
	w.workers = min(cmp.Or(engine.Workers, threads, runtime.GOMAXPROCS(0)), copies)
	newEnv := func() (envs.Env, error) { return NewEnv(x, trainSplit(x.Workload)) }
	w.vector, err = envs.NewVector(newEnv, envs.VectorOptions{
		Copies: copies, Workers: w.workers, Seed: rng.New(x.Seed, "training episodes").Uint64(),
	})
	if err != nil {
		return w, err
	}
	a, err := catalog.Of(x).Learner(x.Agent.Name)
	if err != nil {
		return w, err
	}
	w.learner, err = newLearner(x, a, agents.Context{
		Spec: w.vector.Spec(), Copies: copies, Train: w.trainer, Act: w.actor, Seed: x.Seed, Steps: x.Train.Steps,
		NewEnv: newEnv, Teacher: func(name string) (agents.Teacher,
			error) {
			return newTeacher(catalog.Of(x), name, w.vector.Env(0))
		},
	})
	if err != nil {
		return w, fmt.Errorf("agent %s: %w", x.Agent.Name, err)
	}
	if w.offline, err = offlineOf(x, w.learner); err != nil {
		return w, err
	}
	if x.Train.Evaluate.Every > 0 {
		w.checker, err = newChecker(x)
	}
	return w, err
}

// newLearner makes the experiment's learner, with normalisation around it where the wrappers ask for it.
func newLearner(x *configs.Experiment, row catalog.Learner, ctx agents.Context) (agents.Learner, error) {
	n := normalise.Options{
		ObservationClip: x.Wrappers.NormalizeObservation.Clip,
		RewardClip:      x.Wrappers.NormalizeReward.Clip,
		Gamma:           x.Wrappers.NormalizeReward.Gamma,
	}
	if !n.On() {
		return row.New(x.Agent.Config, ctx)
	}
	l, err := normalise.New(n, ctx, func(ctx agents.Context) (agents.Learner, error) {
		return row.New(x.Agent.Config, ctx)
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// trainSplit keeps training off the part of a trace that evaluation will see, unless the configuration splits by
// itself.
func trainSplit(w workload.Config) string {
	if w.Split == "all" {
		return "train"
	}
	return w.Split
}

func (w *world) close() {
	if w.vector != nil {
		w.vector.Close()
	}
	for _, e := range []nets.Engine{w.trainer, w.actor} {
		if e != nil {
			// Closing frees memory; there is nothing left to lose.
			_ = e.Close()
		}
	}
}
