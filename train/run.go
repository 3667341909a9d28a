package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/train/internal/tensorboard"
)

// Options say how a run is carried out; nothing here but InitFrom and Steps shapes its results.
type Options struct {
	// RunsDir holds the run folders, Name is the new one's name; empty makes one from the experiment's name and seed.
	RunsDir, Name string
	// InitFrom is a checkpoint or run from which weights, and the statistics of observations that belong to them, are
	// taken.
	InitFrom string
	// Inexact allows resuming with another family of kernels than the checkpoint's.
	Inexact bool
	// Steps, where positive, is the new total at resume.
	Steps int64
	// Until, where positive, is the number of steps after which the run stops, saved, although more are planned: a later
	// process goes on. It shapes nothing: schedules depend on the planned steps.
	Until int64
	// From is the checkpoint of the run from which it is resumed, by its name, folder, pointer or number of steps; empty
	// is the latest.
	From string
	// Out gets progress; Terminal says that it can draw bars.
	Out      io.Writer
	Terminal bool
	// LineEvery bounds how often progress is a plain line: every two seconds where 0.
	LineEvery time.Duration
	// Count, where set, always holds the number of steps that are done: progress over several runs reads it.
	Count *atomic.Int64
	// Threads is the number of threads where the configuration leaves it open; 0 is one per core.
	Threads int
	// Elsewhere, where set, has the workers of a farm carry out the runs of [Together]. With Rollouts they play the rounds of a
	// run that is carried out here, each in so many parts.
	Elsewhere *Elsewhere
	Rollouts  int
	// Version and Revision of the program, and the command that started it, are written down.
	Version, Revision string
	Command           []string
	// Catalog has the names that a run's configuration may use; nil is that of [catalog.Default]. A new run uses that
	// with which its experiment was read.
	Catalog *catalog.Catalog
	// FS is where everything but the lock and the event files is written: the real file system where nil. Tests put
	// failpoints there.
	FS durable.FS
}

// filled returns the options with what was left out.
func (o Options) filled() Options {
	if o.FS == nil {
		o.FS = durable.OS{}
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Catalog == nil {
		o.Catalog = catalog.Default()
	}
	return o
}

// Result is what a finished or stopped run leaves.
type Result struct {
	Dir string `json:"dir"`
	// From is the step at which this process began, Steps the one it reached of those Planned.
	From     int64 `json:"from"`
	Steps    int64 `json:"steps"`
	Planned  int64 `json:"planned"`
	Episodes int64 `json:"episodes"`
	// Checkpoint is the latest.
	Checkpoint string `json:"checkpoint"`
	// Aside is the folder in which the run is kept as it stood before it was resumed from an earlier checkpoint.
	Aside string `json:"aside,omitempty"`
	// BestValue is the best evaluation during training, of BestMetric; nil where there was none.
	BestValue  *float64 `json:"best_value"`
	BestMetric string   `json:"best_metric,omitempty"`
	BestStep   int64    `json:"best_step,omitempty"`
	// LastValue is the last evaluation's, nil where this process made none.
	LastValue *float64 `json:"last_value,omitempty"`
	LastStep  int64    `json:"last_step,omitempty"`
	// GaveUp is set where the last evaluation's policy serves next to nothing.
	GaveUp *GaveUp `json:"gave_up,omitempty"`
	// Phases are where this process's time went.
	Phases []Phase `json:"phases,omitempty"`
}

// run is a run under way.
type run struct {
	opts     Options
	fs       durable.FS
	dir      string
	world    *world
	lock     *durable.Lock
	store    *checkpoints.Store
	log      *logger
	progress *progress
	phases   phases
	state    loopState
	text     []byte // see yaml
	shape    []byte // the part of the configuration that shapes results, as JSON
	from     int64  // steps done before this process
	last     evaluation
	rollout  *farm.Unit // what the units of all rounds share, nil before the first
	saved    int64      // steps of the last checkpoint, -1 before the first
	started  time.Time  // when the run's first process began
	planned  int64      // steps that run.json names, 0 where there is none
	status   string     // that run.json names, of the process before this one
	aside    string     // where the run as it stood is kept, after a resume from an earlier checkpoint
	sessions []session  // of the processes that worked on the run; the last is this one
}

// evaluation is one during training; its value is nil where there was none.
type evaluation struct {
	value *float64
	step  int64
}

// ErrUsage marks what the caller did wrong before anything was begun: exit code 2.
var ErrUsage = errors.New("usage")

// Usage returns an error marked as ErrUsage.
func Usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// usageError is ErrUsage to errors.Is, and shows and unwraps to its cause.
type usageError struct{ error }

func (e usageError) Unwrap() error        { return e.error }
func (e usageError) Is(target error) bool { return target == ErrUsage }

var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Start trains a new run until it is done or ctx ends. An existing name is refused.
func Start(ctx context.Context, x *configs.Experiment, o Options) (*Result, error) {
	o = o.filled()
	dir, err := Folder(x, o)
	if err != nil {
		return nil, err
	}
	o.Name = filepath.Base(dir)
	if err := o.checkUntil(x); err != nil {
		return nil, err
	}
	if x, err = located(x); err != nil {
		return nil, err
	}
	w, err := build(x, o.Threads, 0)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.checkRollouts(o); err != nil {
		return nil, err
	}
	if w.load, err = ReportLoad(w.vector.Env(0), nil, o.Out); err != nil {
		return nil, err
	}
	if err := w.vector.Reset(); err != nil {
		return nil, fmt.Errorf("environment %s: %w", x.Env.Name, err)
	}
	if o.InitFrom != "" {
		if err := initFrom(w, o.InitFrom); err != nil {
			return nil, err
		}
	}
	if err := w.fill(); err != nil {
		return nil, err
	}
	x = w.x
	r := &run{opts: o, fs: o.FS, dir: dir, world: w, saved: -1}
	if r.shape, err = shapeOf(x); err != nil {
		return nil, err
	}
	if err := r.create(); err != nil {
		return nil, err
	}
	return r.carryOut(ctx, -1)
}

// checkUntil refuses to stop where the run does not come.
func (o Options) checkUntil(x *configs.Experiment) error {
	if o.Until < 0 || o.Until > x.Train.Steps {
		return Usage("--until is %d, want 1 to %d: train.steps is the number of planned steps", o.Until, x.Train.Steps)
	}
	return nil
}

// Name is the run's name where Options have none.
func Name(x *configs.Experiment) string { return fmt.Sprintf("%s-s%d", x.Name, x.Seed) }

// Folder is where Start will put a run. It fails where the name is no name or exists.
func Folder(x *configs.Experiment, o Options) (string, error) {
	o = o.filled()
	if o.Name == "" {
		o.Name = Name(x)
	}
	if !runName.MatchString(o.Name) {
		return "", Usage("run name %q: want letters, digits, '.', '_' and '-', a letter or digit first", o.Name)
	}
	dir := filepath.Join(o.RunsDir, o.Name)
	if _, err := o.FS.Lstat(dir); err == nil {
		return "", exists(dir)
	}
	return dir, nil
}

// carryOut opens the logs of a run whose state stands in memory, and loops. It gives the lock back. purge is as for
// openLogger.
func (r *run) carryOut(ctx context.Context, purge int64) (res *Result, err error) {
	defer func() {
		if e := r.lock.Release(); err == nil {
			err = e
		}
	}()
	if r.log, err = openLogger(r.fs, r.dir, purge); err != nil {
		return nil, err
	}
	defer func() {
		if e := r.log.close(); err == nil {
			err = e
		}
	}()
	if err := r.log.metrics.TruncateTo(r.state.MetricsOffset); err != nil {
		return nil, err
	}
	r.from = r.state.Steps
	r.count()
	r.sessions = append(r.sessions, r.newSession())
	if err := r.describe(statusRunning); err != nil {
		return nil, err
	}
	if purge < 0 {
		if err := r.logSetup(); err != nil {
			return nil, err
		}
	}
	r.announce()
	r.progress = newProgress(r.opts.Out, r.opts.Terminal, r.state.Steps, r.end())
	r.progress.every = cmp.Or(r.opts.LineEvery, lineEvery)
	r.phases = newPhases(r.state.Steps)
	err = r.loop(ctx)
	r.progress.finish()
	var up *GaveUp
	done := r.state.Steps >= r.world.x.Train.Steps
	if err == nil && done {
		if up = r.gaveUp(); up != nil {
			fmt.Fprintln(r.opts.Out, up)
		}
	}
	status := statusFinished
	switch {
	case err != nil:
		status = "stopped: " + err.Error()
	case !done:
		status = statusPaused
	default:
		err = r.log.events.Finish(tensorboard.Success)
	}
	if e := r.describe(status); err == nil {
		err = e
	}
	res = r.result(r.world.x)
	res.GaveUp = up
	return res, err
}

// announce says in a line what is about to be done.
func (r *run) announce() {
	x, e := r.world.x, r.world.trainer.Info()
	from := ""
	if r.from > 0 {
		from = fmt.Sprintf(", from step %d", r.from)
	}
	if n := r.end(); n < x.Train.Steps {
		from += fmt.Sprintf(", until step %d", n)
	}
	fmt.Fprintf(r.opts.Out, "%s: %s in %s, %d steps%s, %s on %s (%s)\n", r.dir, x.Agent.Name, x.Env.Name,
		x.Train.Steps, from, e.Name, e.Device, e.Kernels)
	r.warnLoad()
	if why := r.world.on.Why; why != "" {
		fmt.Fprintf(r.opts.Out, "engine.device auto: %s on %s, since %s\n", e.Name, e.Device, why)
	}
	if x.Engine.Deterministic && e.Device == "cpu" {
		fmt.Fprintln(r.opts.Out,
			"engine.deterministic changes nothing on the CPU, where results always repeat to the bit")
	}
}

func (r *run) result(x *configs.Experiment) *Result {
	b := r.state.Best
	res := &Result{Dir: r.dir, From: r.from, Steps: r.state.Steps, Planned: x.Train.Steps, Episodes: r.state.Episodes,
		Aside: r.aside, LastValue: r.last.value, LastStep: r.last.step, Phases: r.phases.all()}
	// Asked of the disk: saving can fail when the pointer has moved already.
	if at, err := checkpoints.Find(r.fs, r.dir, checkpoints.Latest); err == nil {
		res.Checkpoint = at
	}
	if b.Value != nil {
		res.BestValue, res.BestMetric, res.BestStep = b.Value, x.Train.Evaluate.Metric, b.Steps
	}
	return res
}

func exists(dir string) error {
	return Usage("run %s exists: give another --name, or continue it with: stoker resume %s", dir, dir)
}

// create makes the run's folder with all that resuming needs (the configuration and a checkpoint of the beginning)
// under another name, and renames it into place, so that no incomplete run folder is ever visible. It leaves the run
// locked.
//
// What a process killed before that leaves, runs/.tmp-NAME, is cleared by the next that starts a run of the name.
func (r *run) create() error {
	place, runs := r.dir, filepath.Dir(r.dir)
	if err := durable.MkdirAll(r.fs, runs); err != nil {
		return fmt.Errorf("runs folder: %w", err)
	}
	r.dir = filepath.Join(runs, durable.TempPrefix+filepath.Base(place))
	if err := r.fs.Mkdir(r.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("run folder: %w", err)
	}
	var err error
	if r.lock, err = durable.AcquireLock(filepath.Join(r.dir, checkpoints.LockFile)); err != nil {
		return fmt.Errorf("run %s is being started: %w", place, err)
	}
	if err = r.furnish(); err == nil {
		err = r.move(place)
	}
	if err == nil {
		return nil
	}
	// The first error is the one to tell; what can't be removed now is cleared by the next start.
	if r.dir != place {
		_ = durable.RemoveTree(r.fs, r.dir)
	}
	_ = r.lock.Release()
	return err
}

// furnish fills the folder under its first name.
func (r *run) furnish() error {
	left, err := r.fs.ReadDir(r.dir)
	if err != nil {
		return err
	}
	for _, e := range left {
		if e.Name() == checkpoints.LockFile {
			continue
		}
		if err := durable.RemoveTree(r.fs, filepath.Join(r.dir, e.Name())); err != nil {
			return fmt.Errorf("clear a leftover: %w", err)
		}
	}
	if err := r.describe(statusRunning); err != nil {
		return err
	}
	if err := durable.WriteFile(r.fs, filepath.Join(r.dir, checkpoints.MetricsFile), nil); err != nil {
		return err
	}
	if r.store, err = checkpoints.OpenStore(r.fs, filepath.Join(r.dir, checkpoints.CheckpointsDir)); err != nil {
		return err
	}
	if err := r.save(false); err != nil {
		return fmt.Errorf("saving the first checkpoint: %w", err)
	}
	return nil
}

// move gives the folder its name.
func (r *run) move(place string) error {
	var err error
	windows := runtime.GOOS == "windows" // a folder with an open file in it can't be renamed there
	if windows {
		if err := r.lock.Release(); err != nil {
			return err
		}
	}
	if err := r.fs.Rename(r.dir, place); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return exists(place)
		}
		return fmt.Errorf("run folder: %w", err)
	}
	r.dir = place
	if windows {
		if r.lock, err = durable.AcquireLock(filepath.Join(place, checkpoints.LockFile)); err != nil {
			return err
		}
	}
	if err := r.fs.SyncDir(filepath.Dir(place)); err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	// The store knows its folder by name.
	if r.store, err = checkpoints.OpenStore(r.fs, filepath.Join(place, checkpoints.CheckpointsDir)); err != nil {
		return err
	}
	c, err := checkpoints.OpenFS(r.fs, filepath.Join(place, checkpoints.CheckpointsDir,
		checkpoints.StepName(r.state.Steps)))
	if err == nil {
		r.store.Continue(c)
	}
	return err
}
