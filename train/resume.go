package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/normalise"
	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/engines"
)

// Resume continues a run from its latest checkpoint, or from that of Options.From. Where the run is finished it writes
// nothing: the result then has From equal to Steps.
func Resume(ctx context.Context, dir string, o Options) (*Result, error) {
	o = o.filled()
	dir = filepath.Clean(dir)
	full, err := filepath.Abs(dir) // the folder's name, should dir be a dot
	if err != nil {
		return nil, err
	}
	o.RunsDir, o.Name = filepath.Split(full)
	x, err := readConfig(o.FS, dir, o.Catalog)
	if err != nil { // no lock file in a folder that is no run
		return nil, err
	}
	if res := alreadyDone(dir, x, o); res != nil {
		return res, nil
	}
	lock, err := durable.AcquireLock(filepath.Join(dir, checkpoints.LockFile))
	if err != nil {
		return nil, fmt.Errorf("run %s can't be resumed: %w", dir, err)
	}
	r := &run{opts: o, fs: o.FS, dir: dir, lock: lock, saved: -1}
	if err := r.reopen(); err != nil {
		if r.world != nil {
			r.world.close()
		}
		return nil, errors.Join(err, lock.Release())
	}
	defer r.world.close()
	return r.carryOut(ctx, r.state.Steps+1) // what was logged up to and at Steps belongs to the checkpoint
}

// alreadyDone returns the result of a run that has nothing left to do, and nil for any other: one that is not done, that
// is to go on, or in which something is wrong, which the way through reopen then mends or refuses.
func alreadyDone(dir string, x *configs.Experiment, o Options) *Result {
	r := &run{opts: o, fs: o.FS, dir: dir}
	if o.From != "" || r.readSessions() != nil {
		return nil
	}
	paused := r.status == statusPaused && o.Until > 0
	if !paused && r.status != statusFinished {
		return nil
	}
	c, err := r.open(x)
	if err != nil {
		return nil
	}
	n := r.state.Steps
	end := x.Train.Steps
	if paused {
		end = o.Until
	}
	if r.state.Interrupted || n < end || (o.Steps > 0 && o.Steps != n) {
		return nil
	}
	// A torn or later line, which a resume would cut.
	info, err := r.fs.Lstat(filepath.Join(dir, checkpoints.MetricsFile))
	if err != nil || info.Size() != c.Header().Counters[checkpoints.MetricsOffset] {
		return nil
	}
	r.from = n
	return r.result(x)
}

// reopen builds what the folder's configuration describes and loads a checkpoint into it.
func (r *run) reopen() error {
	x, err := readConfig(r.fs, r.dir, r.opts.Catalog)
	if err != nil {
		return err
	}
	if err := r.readSessions(); err != nil {
		return err
	}
	c, err := r.open(x)
	if err != nil {
		return r.orFrom(x, err)
	}
	if n := r.opts.Steps; n > 0 && n < r.state.Steps {
		return Usage("--steps is %d, but %s of run %s has done %d already; want more, or leave it out", n, c.Name(),
			r.dir, r.state.Steps)
	}
	if err := r.opts.checkUntil(x); err != nil {
		return err
	}
	if r.world, err = build(x, r.opts.Threads, 0); err != nil {
		return err
	}
	if err := r.world.checkRollouts(r.opts); err != nil {
		return err
	}
	if r.world.load, err = ReportLoad(r.world.vector.Env(0), nil, r.opts.Out); err != nil {
		return err
	}
	if err := r.restore(c); err != nil {
		return err
	}
	if r.opts.From != "" {
		if err := r.goBack(c); err != nil {
			return err
		}
	}
	if err := r.pointBest(); err != nil {
		return err
	}
	return durable.Sweep(r.fs, r.dir)
}

// ReadConfig reads a run's configuration, which names rows of a catalog.
func ReadConfig(dir string, names *catalog.Catalog) (*configs.Experiment, error) {
	return readConfig(durable.OS{}, dir, names)
}

// maxConfig bounds what is read of a configuration.
const maxConfig = 1 << 24

func readConfig(fsys durable.FS, dir string, names *catalog.Catalog) (*configs.Experiment, error) {
	path := filepath.Join(dir, configFile)
	text, err := durable.ReadFile(fsys, path, maxConfig)
	if err != nil {
		if _, e := fsys.Lstat(dir); errors.Is(e, fs.ErrNotExist) {
			return nil, Missing(dir, "a run's folder")
		}
		return nil, Usage("%s is not a run folder: it has no %s (%w)", dir, configFile, err)
	}
	return configs.ParseResolved(path, text, nil, names)
}

// open opens the checkpoint to go on from under configuration x, in which it sets the new total, and reads the loop's
// state there. It builds nothing: a damaged config.yaml could ask for the memory of a hundred machines.
func (r *run) open(x *configs.Experiment) (c *checkpoints.Checkpoint, err error) {
	if r.opts.Steps > 0 {
		x.Train.Steps = r.opts.Steps
	}
	if r.shape, err = shapeOf(x); err != nil {
		return nil, err
	}
	var dir string
	if r.opts.From != "" {
		dir, err = r.named(r.opts.From)
	} else if dir, err = checkpoints.Find(r.fs, r.dir, checkpoints.Latest); err != nil {
		err = fmt.Errorf("nothing to resume: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if c, err = r.sound(x, dir); err != nil {
		return nil, err
	}
	return c, readJSON(c, loopFile, &r.state)
}

// sound opens a checkpoint, and checks that the rest of the folder is what was there when it was taken.
func (r *run) sound(x *configs.Experiment, dir string) (*checkpoints.Checkpoint, error) {
	c, err := checkpoints.OpenFS(r.fs, dir)
	if err != nil {
		return nil, err
	}
	if err := r.sameShape(x, c); err != nil {
		return nil, err
	}
	return c, r.sameMetrics(c)
}

// restore loads a checkpoint.
func (r *run) restore(c *checkpoints.Checkpoint) (err error) {
	have := r.world.kernels()
	if was := c.Header().Kernels; was != have && !r.opts.Inexact {
		return Usage("%s was made with kernels %q, this machine has %q: the results would differ in the last bits; "+
			"allow it with --inexact", c.Dir(), was, have)
	}
	if r.store, err = checkpoints.OpenStore(r.fs, filepath.Join(r.dir, checkpoints.CheckpointsDir)); err != nil {
		return err
	}
	return r.load(c)
}

// pointBest makes the pointer best that of the loop's state: what came after the checkpoint does not count. Where that
// checkpoint is gone there is no pointer, and the latest stands for the best, until a better one is found.
func (r *run) pointBest() error {
	if b := r.state.Best.Checkpoint; b != "" {
		if err := r.store.SetPointer(checkpoints.Best, b); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.store.RemovePointer(checkpoints.Best)
}

// sameMetrics refuses to go on where what metrics.jsonl held when the checkpoint was taken has changed since, or is
// gone.
func (r *run) sameMetrics(c *checkpoints.Checkpoint) error {
	counters := c.Header().Counters
	path := filepath.Join(r.dir, checkpoints.MetricsFile)
	sum, err := durable.Checksum(r.fs, path, counters[checkpoints.MetricsOffset])
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: is missing: %s was taken when it had %d bytes", path, c.Dir(),
			counters[checkpoints.MetricsOffset])
	}
	if want, ok := counters[checkpoints.MetricsChecksum]; err == nil && ok && want != int64(sum) {
		return fmt.Errorf("%s: damaged or edited: its first %d bytes are not those that it had when %s was taken",
			path, counters[checkpoints.MetricsOffset], c.Dir())
	}
	return err
}

// Missing returns the usage error for a path that is not there, where want says what it should be. It names the nearest
// path beside it.
func Missing(path, want string) error {
	dir, base := filepath.Split(filepath.Clean(path))
	where := dir
	if where == "" {
		where = "."
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return Usage("there is no %s, nor a folder %s; want %s", path, filepath.Clean(where), want)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := configs.Nearest(base, names); near != "" {
		return Usage("there is no %s; did you mean %s? Want %s", path, filepath.Join(dir, near), want)
	}
	return Usage("there is no %s; want %s", path, want)
}

// Reviver makes learners that go on with what a checkpoint has learned, in an environment that may differ from the one
// of training. They have its weights and statistics of observations; optimiser and replay are new.
type Reviver struct {
	dir    string
	x      *configs.Experiment
	row    catalog.Learner
	state  *agents.State
	engine nets.Engine
}

// Revive reads a checkpoint for the experiment x: the checkpoint's own, perhaps with other settings. It must be a full
// one, of a learner that learns from transitions.
func Revive(c *checkpoints.Checkpoint, x *configs.Experiment) (*Reviver, error) {
	if k := c.Header().Kind; k != checkpoints.Full {
		return nil, Usage("%s holds a %s only, want a full checkpoint: a learner needs its critics too", c.Dir(), k)
	}
	r := &Reviver{dir: c.Dir(), x: x}
	var err error
	if r.row, err = catalog.Of(x).Learner(x.Agent.Name); err != nil {
		return nil, err
	}
	if r.state, err = readLearner(c); err != nil {
		return nil, err
	}
	r.engine, err = engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: 1})
	return r, err
}

// Learner makes a learner for environments such as one with the given spec. Its random streams follow from seed.
func (r *Reviver) Learner(spec *envs.Spec, seed uint64) (agents.Offline, error) {
	l, err := newLearner(r.x, r.row, agents.Context{
		Spec: spec, NumEnvs: 1, Train: r.engine, Act: r.engine, Seed: seed, Steps: math.MaxInt32,
	})
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", r.x.Agent.Name, err)
	}
	o, ok := l.(agents.Offline)
	if !ok {
		return nil, Usage("agent %s cannot go on learning from single windows; want one with a replay that takes actions as "+
			"they are, such as maddpg, trained without wrappers.normalize_observation and normalize_reward", r.x.Agent.Name)
	}
	if err := l.Adopt(r.state); err != nil {
		return nil, Usage("%s cannot serve this environment: %w", r.dir, err)
	}
	return o, nil
}

// Open makes a policy of the learner's kind from its file.
func (r *Reviver) Open(f *agents.PolicyFile, spec *envs.Spec) (envs.Policy, error) {
	e, err := engines.Open(engines.Native, engines.Options{Device: "cpu", Threads: 1})
	if err != nil {
		return nil, err
	}
	return r.row.Open(f, spec, e)
}

// Close frees the engine's memory.
func (r *Reviver) Close() error { return r.engine.Close() }

// initFrom gives a fresh learner what another run has learned; counters, optimiser and replay start anew.
func initFrom(w *world, path string) error {
	c, err := OpenCheckpoint(path)
	var refused *checkpoints.RefusedError
	switch {
	case errors.As(err, &refused):
		return fmt.Errorf("--init-from: %w", err)
	case err != nil:
		return Usage("--init-from: %w", err)
	}
	p, err := ReadPolicy(c)
	if err != nil {
		return fmt.Errorf("--init-from: %w", err)
	}
	if have := w.x.Agent.Name; p.Agent != have {
		return Usage("--init-from %s: its agent is %s, this run's is %s", path, p.Agent, have)
	}
	if k := c.Header().Kind; k != checkpoints.Full {
		l, ok := w.learner.(agents.Pretrained)
		if !ok {
			return Usage("--init-from %s: it holds a %s only, want a full checkpoint: %s needs its critics too", path, k, p.Agent)
		}
		if err := l.AdoptPolicy(p); err != nil {
			return Usage("--init-from %s: %w", path, err)
		}
		return nil
	}
	if its, own := normalise.Clip(p), float32(w.x.Wrappers.NormalizeObservation.Clip); its != own {
		return Usage("--init-from %s: what its policy sees is standardised within ±%g (0: as it is), here within ±%g: set "+
			"wrappers.normalize_observation.clip=%g", path, its, own, its)
	}
	if err := actor.CheckAdopted(w.learner, p); err != nil {
		return Usage("--init-from %s: %w", path, err)
	}
	s, err := readLearner(c)
	if err != nil {
		return fmt.Errorf("--init-from: %w", err)
	}
	if err := w.learner.Adopt(s); err != nil {
		return Usage("--init-from %s: %w", path, err)
	}
	return nil
}
