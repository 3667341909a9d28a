package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v4"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/train/tensorboard"
)

// Options say how a run is carried out; nothing here shapes its results.
type Options struct {
	// RunsDir holds the run folders, Name is the new one's name; empty makes one from the experiment's name and seed.
	RunsDir, Name string
	// InitFrom is a checkpoint whose learned weights are the start.
	InitFrom string
	// Inexact allows resuming with another family of kernels than the checkpoint's.
	Inexact bool
	// Steps, where positive, is the new total at resume.
	Steps int64
	// Out gets progress; Terminal says that it can draw bars.
	Out      io.Writer
	Terminal bool
	// Version and Revision of the program, and the command that started it, are written down.
	Version, Revision string
	Command           []string
}

// Result is what a finished or stopped run leaves.
type Result struct {
	Dir        string `json:"dir"`
	Steps      int64  `json:"steps"`
	Planned    int64  `json:"planned"`
	Episodes   int64  `json:"episodes"`
	Checkpoint string `json:"checkpoint"` // latest
	// BestValue is the best evaluation during training, of BestMetric; nil where there was none.
	BestValue  *float64 `json:"best_value"`
	BestMetric string   `json:"best_metric,omitempty"`
	BestStep   int64    `json:"best_step,omitempty"`
}

// run is a run under way.
type run struct {
	opts     Options
	dir      string
	world    *world
	lock     *durable.Lock
	store    *checkpoints.Store
	log      *logger
	progress *progress
	phases   phases
	state    loopState
	shape    json.RawMessage // the part of the configuration that shapes results
	saved    int64           // steps of the last checkpoint, -1 before the first
}

// Error kinds that decide exit codes.
var (
	// ErrUsage marks what the caller did wrong before anything was begun.
	ErrUsage = errors.New("usage")
)

// Usage returns an error marked as ErrUsage.
func Usage(format string, args ...any) error {
	return fmt.Errorf("%w%w", hidden{ErrUsage}, fmt.Errorf(format, args...))
}

// hidden wraps an error for errors.Is without showing it.
type hidden struct{ error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.error }

var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Start trains a new run until it is done or ctx ends. An existing name is refused.
func Start(ctx context.Context, x *configs.Experiment, o Options) (*Result, error) {
	if o.Name == "" {
		o.Name = fmt.Sprintf("%s-s%d", x.Name, x.Seed)
	}
	if !runName.MatchString(o.Name) {
		return nil, Usage("run name %q: want letters, digits, '.', '_' and '-', a letter or digit first", o.Name)
	}
	w, err := build(x)
	if err != nil {
		return nil, err
	}
	defer w.close()
	r := &run{opts: o, dir: filepath.Join(o.RunsDir, o.Name), world: w, saved: -1}
	if r.shape, err = shapeOf(x); err != nil {
		return nil, err
	}
	if err := w.vector.Reset(); err != nil {
		return nil, err
	}
	if o.InitFrom != "" {
		if err := initFrom(w, o.InitFrom); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(o.RunsDir, 0o777); err != nil {
		return nil, fmt.Errorf("runs folder: %w", err)
	}
	if err := os.Mkdir(r.dir, 0o777); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, Usage("run %s exists: give another --name, or go on with: stoker resume %s", r.dir, r.dir)
		}
		return nil, fmt.Errorf("run folder: %w", err)
	}
	return r.carryOut(ctx, false)
}

// Resume goes on in a run folder from its latest checkpoint.
func Resume(ctx context.Context, dir string, o Options) (*Result, error) {
	o.RunsDir, o.Name = filepath.Split(filepath.Clean(dir))
	x, err := ReadConfig(dir)
	if err != nil {
		return nil, err
	}
	if o.Steps > 0 {
		x.Train.Steps = o.Steps
	}
	w, err := build(x)
	if err != nil {
		return nil, err
	}
	defer w.close()
	r := &run{opts: o, dir: dir, world: w, saved: -1}
	if r.shape, err = shapeOf(x); err != nil {
		return nil, err
	}
	return r.carryOut(ctx, true)
}

// ReadConfig reads a run's configuration.
func ReadConfig(dir string) (*configs.Experiment, error) {
	path := filepath.Join(dir, configFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, Usage("%s is not a run folder: %w", dir, err)
	}
	return configs.Parse(path, text, nil, Tables())
}

// carryOut locks the folder, opens what is in it and loops.
func (r *run) carryOut(ctx context.Context, resume bool) (res *Result, err error) {
	if r.lock, err = durable.AcquireLock(filepath.Join(r.dir, "lock")); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.lock.Release()) }()
	if r.store, err = checkpoints.OpenStore(durable.OS{}, filepath.Join(r.dir, checkpoints.CheckpointsDir)); err != nil {
		return nil, err
	}
	purge := int64(-1)
	if resume {
		if err := r.restore(); err != nil {
			return nil, err
		}
		purge = r.state.Steps
	}
	if r.log, err = openLogger(r.dir, purge); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.log.close()) }()
	if err := r.log.metrics.TruncateTo(r.state.MetricsOffset); err != nil {
		return nil, err
	}
	if err := r.describe("running"); err != nil {
		return nil, err
	}
	if !resume {
		if err := r.logSetup(); err != nil {
			return nil, err
		}
		if err := r.saveOnce(); err != nil { // so that there is always something to go on from
			return nil, fmt.Errorf("saving the first checkpoint: %w", err)
		}
	}
	r.progress = newProgress(r.opts.Out, r.opts.Terminal, r.opts.Name, r.state.Steps, r.world.x.Train.Steps)
	r.phases = newPhases(r.state.Steps)
	err = r.loop(ctx)
	r.progress.finish()
	status := "finished"
	if err != nil {
		status = "stopped: " + err.Error()
	} else {
		err = r.log.events.Finish(tensorboard.Success)
	}
	return r.result(), errors.Join(err, r.describe(status))
}

// restore loads the latest checkpoint.
func (r *run) restore() error {
	dir, err := checkpoints.Find(durable.OS{}, r.dir, checkpoints.Latest)
	if err != nil {
		return fmt.Errorf("nothing to resume: %w", err)
	}
	c, err := checkpoints.Open(dir)
	if err != nil {
		return err
	}
	have := r.world.trainer.Info().Kernels
	if was := c.Header().Kernels; was != have && !r.opts.Inexact {
		return Usage("%s was made with kernels %q, this machine has %q: the results would differ in the last bits; allow that with --inexact", c.Dir(), was, have)
	}
	return r.load(c)
}

func (r *run) result() *Result {
	b := r.state.Best
	res := &Result{Dir: r.dir, Steps: r.state.Steps, Planned: r.world.x.Train.Steps, Episodes: r.state.Episodes}
	if r.saved >= 0 {
		res.Checkpoint = filepath.Join(r.dir, checkpoints.CheckpointsDir, checkpoints.StepName(r.saved))
	}
	if b.Value != nil {
		res.BestValue, res.BestMetric, res.BestStep = b.Value, r.world.x.Train.Evaluate.Metric, b.Steps
	}
	return res
}

// shapeOf returns the part of a configuration that shapes results, as JSON: what only says how it is carried out is left
// out, so that any number of workers leaves the same checkpoint.
func shapeOf(x *configs.Experiment) (json.RawMessage, error) {
	y := *x
	y.Engine.Workers, y.Engine.Device = 0, configs.Default().Engine.Device
	if y.Engine.Name == "native" {
		y.Engine.Threads = 0
	}
	text, err := y.YAML()
	if err != nil {
		return nil, err
	}
	var v any
	if err := yaml.Load(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// initFrom puts a checkpoint's learned weights into a fresh learner; counters, optimiser and replay start anew.
func initFrom(w *world, path string) error {
	c, err := OpenCheckpoint(path)
	if err != nil {
		return fmt.Errorf("--init-from: %w", err)
	}
	old, err := readLearner(c)
	if err != nil {
		return fmt.Errorf("--init-from: %w", err)
	}
	fresh, err := freshState(w)
	if err != nil {
		return err
	}
	fresh.Weights = old.Weights
	if err := w.learner.Load(fresh); err != nil {
		return fmt.Errorf("--init-from %s: %w", path, err)
	}
	return nil
}
