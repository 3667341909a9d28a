package train

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/sizing"
	"github.com/stoker-rl/stoker/envs/sizing/library"
	"github.com/stoker-rl/stoker/envs/workload"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
	"github.com/stoker-rl/stoker/rng"
)

// Choice is the engine and device on which a run trains. Why says what engine.device: auto chose them by; it is empty
// where the configuration names the device itself.
type Choice struct{ Engine, Device, Why string }

// Choose resolves engine.device for a machine with a number of GPUs and a program that has the named engines linked
// in. What the configuration names stands. With auto, torch takes the first GPU or else the CPU, and native, the
// default, leaves the choice of the engine to [engines.Auto] and the size of the learner's updates; it stays native
// where libtorch would be wanted and is not there.
func Choose(x *configs.Experiment, gpus int, have []string) (Choice, error) {
	e := x.Engine
	switch {
	case e.Device != "auto":
		return Choice{Engine: e.Name, Device: e.Device}, nil
	case e.Name == engines.Torch && gpus > 0:
		return Choice{e.Name, "cuda:0", "there is a GPU"}, nil
	case e.Name == engines.Torch:
		return Choice{e.Name, "cpu", "there is no GPU"}, nil
	case e.Name != engines.Native:
		return Choice{e.Name, "cpu", e.Name + " runs there only"}, nil
	case e.DType != nets.Float32.String():
		return Choice{e.Name, "cpu", "the rule for GPUs is for float32"}, nil
	}
	var size engines.Size
	if l, ok := x.Agent.Config.(sized); ok && gpus > 0 { // making an environment takes time
		env, err := NewEnv(x, trainSplit(x.Workload))
		if err != nil {
			return Choice{}, err
		}
		size.Agents, size.Batch = l.UpdateSize(env.Spec())
	}
	name, device, why := engines.Auto(gpus, size)
	if !slices.Contains(have, name) {
		return Choice{engines.Native, "cpu",
			fmt.Sprintf("%s would be on a GPU, since %s, but is not in this program: make cuda", name, why)}, nil
	}
	return Choice{name, device, why}, nil
}

// sized is a learner's configuration that knows how many agents' networks an update works on, and how many
// transitions of each.
type sized interface {
	UpdateSize(s *envs.Spec) (agents, batch int)
}

// GPUs is how many this machine lets the process see.
func GPUs() int {
	if only, ok := os.LookupEnv("CUDA_VISIBLE_DEVICES"); ok && (only == "" || strings.HasPrefix(only, "-")) {
		return 0
	}
	found, err := filepath.Glob("/dev/nvidia[0-9]*")
	if err != nil {
		return 0
	}
	return len(found)
}

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
	rounds         agents.Rounds    // the learner where it learns in rounds, else nil
	checker        *checker         // nil where evaluation during training is off
	load           *envs.LoadReport // nil where the environment has none
}

// build makes what a run computes with. Threads, of the engine and of those that step environments, are used where the
// configuration leaves their number open; 0 is one for each core. Results don't depend on it. First is the number of the
// first copy of the environment, where those of x are a part of a run's.
func build(x *configs.Experiment, threads, first int) (w *world, err error) {
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
	o := envs.VectorOptions{
		NumEnvs: copies, First: first, Workers: w.workers, Seed: rng.New(x.Seed, "training episodes").Uint64(),
	}
	c, ok := x.Agent.Config.(inRounds)
	inRounds := ok && c.InRounds()
	if inRounds {
		o.Autoreset = envs.Rounds
	}
	w.vector, err = envs.NewVector(newEnv, o)
	if err != nil {
		return w, err
	}
	a, err := catalog.Of(x).Learner(x.Agent.Name)
	if err != nil {
		return w, err
	}
	w.learner, err = newLearner(x, a, agents.Context{
		Spec: w.vector.Spec(), NumEnvs: copies, FirstEnv: first, Train: w.trainer, Act: w.actor, Seed: x.Seed, Steps: x.Train.Steps,
		NewEnv: newEnv, Teacher: func(name string) (agents.Teacher,
			error) {
			return newTeacher(catalog.Of(x), name, w.vector.Env(0))
		},
	})
	if err != nil {
		return w, Usage("%s: agent %s: %w", x.Source, x.Agent.Name, err)
	}
	if w.rounds, ok = w.learner.(agents.Rounds); inRounds && !ok {
		return w, Usage("%s: agent.rounds is true with wrappers.normalize_…, want one of them: statistics of observations would "+
			"depend on who plays which part of a round", x.Source)
	}
	if !inRounds {
		w.rounds = nil
	}
	if w.offline, err = offlineOf(x, w.learner); err != nil {
		return w, err
	}
	if x.Train.Evaluate.Every > 0 {
		w.checker, err = newChecker(x)
	}
	return w, err
}

// inRounds is a learner's configuration that can ask for rounds.
type inRounds interface{ InRounds() bool }

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
	for _, e := range []nets.Engine{w.trainer, w.actor} {
		if e != nil {
			// Closing frees memory; there is nothing left to lose.
			_ = e.Close()
		}
	}
}

// kernels names the families of all that a run computes with: where another engine trains, the CPU's own still acts.
func (w *world) kernels() string {
	trainer, actor := w.trainer.Info().Kernels, w.actor.Info().Kernels
	if trainer == actor {
		return trainer
	}
	return trainer + ", acting on " + actor
}

// newTeacher makes a baseline, with its defaults, for a learner to imitate.
func newTeacher(c *catalog.Catalog, name string, env envs.Env) (agents.Teacher, error) {
	r, err := c.Baseline(name)
	if err != nil {
		return nil, err
	}
	if !r.In(env.Spec().ID) {
		return nil, fmt.Errorf("%s acts in %s, not in %s", name, strings.Join(r.Envs, ", "), env.Spec().ID)
	}
	a, err := r.New(r.Config(), env)
	switch {
	case err != nil:
		return nil, err
	case a.Policy != nil:
		return policyTeacher{a.Policy}, nil
	}
	if t, ok := a.Planner.(agents.Teacher); ok {
		return t, nil
	}
	if p, ok := a.Planner.(saved); ok {
		return planTeacher{p}, nil
	}
	return nil, fmt.Errorf("%s can't be imitated: it learns from rewards while it acts, or its state can't be saved",
		name)
}

// saved is a planner whose state can be kept.
type saved interface {
	envs.Planner
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

type policyTeacher struct{ envs.Policy }

// Show implements [agents.Teacher].
func (t policyTeacher) Show(_ envs.Env, obs *envs.Observation, act *envs.Action) error {
	return t.Act(obs, act, true)
}

type planTeacher struct{ saved }

// Show implements [agents.Teacher].
func (t planTeacher) Show(env envs.Env, obs *envs.Observation, act *envs.Action) error {
	return t.Plan(env, obs, act)
}

// copiesOf is the number of environments that step together. One that learns from a library steps none, and has one to
// know what it sizes.
func copiesOf(x *configs.Experiment) int {
	if x.Train.Library.Path != "" {
		return 1
	}
	return x.Train.Envs
}

// offlineOf is the learner as one that learns from a library, nil where the experiment names none.
func offlineOf(x *configs.Experiment, l agents.Learner) (agents.Offline, error) {
	if x.Train.Library.Path == "" {
		return nil, nil //nolint:nilnil // most runs learn in their environment
	}
	o, ok := l.(agents.Offline)
	if !ok {
		return nil, Usage("train.library: agent %s cannot learn from a library; want one with a replay that takes actions as "+
			"they are, such as maddpg, and no wrappers.normalize_observation or normalize_reward", x.Agent.Name)
	}
	return o, nil
}

// fill puts the library's rows into the replay, and notes its digest in the configuration.
func (w *world) fill() error {
	if w.offline == nil {
		return nil
	}
	at := w.x.Train.Library
	l, err := library.Read(at.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Missing(at.Path, "a library (train.library.path, --library)")
	case err != nil:
		return fmt.Errorf("train.library: %w", err)
	case at.Digest != "" && at.Digest != l.Digest:
		return Usage("train.library.digest is %s, but %s has %s: it is another file", at.Digest, at.Path, l.Digest)
	}
	y := *w.x
	y.Train.Library.Digest = l.Digest
	w.x = &y
	e, err := library.One(w.vector.Env(0))
	if err != nil {
		return Usage("train.library: %w", err)
	}
	list, err := Transitions(l, e)
	if err != nil {
		return fmt.Errorf("train.library: %w", err)
	}
	if n := w.learner.Replay().Capacity(); n < len(list) {
		return Usage("agent.replay is %d, but %s has %d rows: all of them are to be learned from", n, at.Path, len(list))
	}
	for i := range list {
		if err := w.offline.Take(&list[i]); err != nil {
			return fmt.Errorf("train.library: row %d: %w", i+1, err)
		}
	}
	return nil
}

// Transitions are the rows of a library as steps in an environment: each row's configuration, chosen after the row
// before it (see [library.Before]), and rewarded as the environment does. Rows that follow no other are left out.
func Transitions(l *library.Library, e *sizing.Env) ([]agents.Transition, error) {
	rows, err := l.Fit(e)
	if err != nil {
		return nil, err
	}
	list, err := RowTransitions(rows, e)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: no window follows another one of the same episode", l.Path)
	}
	return list, err
}

// RowTransitions is [Transitions] of rows in the environment's layout.
func RowTransitions(rows []library.Row, e *sizing.Env) ([]agents.Transition, error) {
	var out []agents.Transition
	for i, k := range library.Before(rows, e.Fresh()) {
		if k < 0 {
			continue
		}
		t := agents.Transition{
			Before: rows[k].Observation, After: rows[i].Observation, Action: rows[i].Action,
			Rewards: make([]float32, len(e.Functions())), Elapsed: int64(sizing.Window),
		}
		if err := e.Judge(rows[i].Users, e.DialOf(rows[i].Observation), rows[i].Info, t.Rewards); err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}
