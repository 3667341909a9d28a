package train

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/configs"
)

// asideFolder, in a run's folder, holds the run as it stood before each resume from an earlier checkpoint: 1, 2, ….
const asideFolder = "aside"

// named returns the folder of the checkpoint of this run that from names: its name, its folder, a pointer (best) or its
// number of steps.
func (r *run) named(from string) (string, error) {
	store := filepath.Join(r.dir, checkpoints.CheckpointsDir)
	if p := checkpoints.Pointer(from); p == checkpoints.Best || p == checkpoints.Latest {
		dir, err := checkpoints.ReadPointer(r.fs, store, p)
		if errors.Is(err, fs.ErrNotExist) {
			return "", Usage("--from %s: run %s has no %s checkpoint yet", from, r.dir, p)
		}
		return dir, err
	}
	list, err := checkpoints.List(r.fs, store)
	if err != nil {
		return "", Usage("--from %s: run %s has no checkpoints: %w", from, r.dir, err)
	}
	name := filepath.Base(filepath.Clean(from))
	if n, err := strconv.ParseInt(from, 10, 64); err == nil {
		name = checkpoints.StepName(n)
	}
	at, here := filepath.Join(store, name), true
	if strings.ContainsRune(filepath.ToSlash(from), '/') {
		here, err = samePath(from, at)
	}
	switch {
	case err != nil:
		return "", err
	case !here:
		return "", Usage("--from %s: it is no checkpoint of run %s; to begin a new run with its weights: "+
			"stoker train CONFIG --init-from %s", from, r.dir, from)
	case slices.Contains(list, name):
		return at, nil
	case len(list) == 0:
		return "", Usage("--from %s: run %s has no checkpoints", from, r.dir)
	}
	near := ""
	if n := configs.Nearest(name, list); n != "" {
		near = "; did you mean " + n + "?"
	}
	return "", Usage("--from %s: run %s has no checkpoint %s%s It has: %s", from, r.dir, name,
		orDot(near), strings.Join(list, ", "))
}

// orDot ends a sentence that has no hint.
func orDot(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

// samePath reports whether two paths are one, as written from the present folder.
func samePath(a, b string) (bool, error) {
	x, err := filepath.Abs(a)
	if err != nil {
		return false, err
	}
	y, err := filepath.Abs(b)
	return x == y, err
}

// orFrom adds to the error of a checkpoint that is refused which is the newest one that is not, and how to go on from
// it.
func (r *run) orFrom(x *configs.Experiment, err error) error {
	if errors.Is(err, ErrUsage) {
		return err
	}
	list, lerr := checkpoints.List(r.fs, filepath.Join(r.dir, checkpoints.CheckpointsDir))
	if lerr != nil || len(list) == 0 {
		return err
	}
	for _, name := range slices.Backward(list) {
		if _, e := r.sound(x, filepath.Join(r.dir, checkpoints.CheckpointsDir, name)); e == nil {
			return fmt.Errorf("%w\nthe newest sound checkpoint is %s; go on from it with: stoker resume %s --from %s",
				err, name, r.dir, name)
		}
	}
	return fmt.Errorf("%w\nno checkpoint of run %s is sound", err, r.dir)
}

// goBack makes c, which is loaded, the latest checkpoint. The run as it stood is kept in the folder aside, whole: it
// is copied, by hard links where files never change, before anything is changed, so that a crash at any moment leaves
// the run either as it was or as it is to be.
func (r *run) goBack(c *checkpoints.Checkpoint) error {
	store := filepath.Join(r.dir, checkpoints.CheckpointsDir)
	list, err := checkpoints.List(r.fs, store)
	if err != nil {
		return err
	}
	later := slices.DeleteFunc(list, func(name string) bool { return !follows(name, c.Name(), r.state.Steps) })
	if now, err := checkpoints.ReadPointer(r.fs, store, checkpoints.Latest); err == nil && len(later) == 0 &&
		filepath.Base(now) == c.Name() {
		return nil // it is the latest
	}
	if r.aside, err = r.setAside(); err != nil {
		return fmt.Errorf("keeping the run as it stands: %w", err)
	}
	fmt.Fprintf(r.opts.Out, "going back to %s; the run as it stood is kept in %s\n", c.Name(), r.aside)
	if err := r.store.SetPointer(checkpoints.Latest, c.Name()); err != nil {
		return err
	}
	if err := r.pointBest(); err != nil { // no pointer names what is removed next
		return err
	}
	for _, name := range later {
		if err := durable.Retire(r.fs, filepath.Join(store, name)); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether a checkpoint's name is of later steps than the one to go back to, or of the same.
func follows(name, back string, steps int64) bool {
	digits, _, _ := strings.Cut(strings.TrimPrefix(name, "step-"), "-")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return name > back
	}
	return n >= steps && name != back
}

// setAside copies the run's folder to a new one under aside, and returns its path.
func (r *run) setAside() (string, error) {
	home := filepath.Join(r.dir, asideFolder)
	if err := durable.MkdirAll(r.fs, home); err != nil {
		return "", err
	}
	n := 1
	for ; ; n++ {
		if _, err := r.fs.Lstat(filepath.Join(home, strconv.Itoa(n))); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
	}
	temp, to := filepath.Join(r.dir, durable.TempPrefix+asideFolder), filepath.Join(home, strconv.Itoa(n))
	if err := durable.RemoveTree(r.fs, temp); err != nil {
		return "", err
	}
	if err := r.fs.Mkdir(temp); err != nil {
		return "", err
	}
	for _, name := range []string{checkpoints.MetricsFile, checkpoints.TimingFile, checkpoints.RunFile, configFile,
		checkpoints.CheckpointsDir} {
		err := r.copyTree(filepath.Join(r.dir, name), filepath.Join(temp, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if err := r.fs.SyncDir(temp); err != nil {
		return "", err
	}
	if err := r.fs.Rename(temp, to); err != nil {
		return "", err
	}
	return to, r.fs.SyncDir(home)
}

// copyTree copies a file or folder, and makes the copy survive a power cut. Files of checkpoints, which never change,
// get a second name instead where the file system has such.
func (r *run) copyTree(from, to string) error {
	info, err := r.fs.Lstat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		fixed := filepath.Base(filepath.Dir(filepath.Dir(from))) == checkpoints.CheckpointsDir
		if fixed && r.fs.Link(from, to) == nil {
			return nil
		}
		return r.copyFile(from, to)
	}
	if err := r.fs.Mkdir(to); err != nil {
		return err
	}
	entries, err := r.fs.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if durable.Leftover(e.Name()) {
			continue
		}
		if err := r.copyTree(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	return r.fs.SyncDir(to)
}

func (r *run) copyFile(from, to string) error {
	in, err := r.fs.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := r.fs.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
