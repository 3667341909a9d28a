package train

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
)

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
