package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// Store is the folder of one run's checkpoints, with its pointers. Only the process that holds the run's lock may use
// it; any process may read with [Open], [ReadPointer] and [Check].
type Store struct {
	fsys durable.FS
	dir  string
	base *Checkpoint
}

// OpenStore opens a run's folder of checkpoints. It creates a missing folder and deletes unfinished checkpoints that a
// crash left. The caller must hold the run's lock.
func OpenStore(fsys durable.FS, dir string) (*Store, error) {
	if err := durable.MkdirAll(fsys, dir); err != nil {
		return nil, err
	}
	if err := durable.Sweep(fsys, dir); err != nil {
		return nil, err
	}
	return &Store{fsys: fsys, dir: dir}, nil
}

// StepName returns the name of the checkpoint taken after so many environment steps. Names sort as steps do.
func StepName(steps int64) string { return fmt.Sprintf("step-%012d", steps) }

// Continue makes c the base of the next checkpoint, which links c's unchanged replay files. Call it at resume with the
// checkpoint resumed from, and with no other: its files of the same name may differ.
func (s *Store) Continue(c *Checkpoint) { s.base = c }

// Create starts a checkpoint called name. Commit replaces one of that name that a crash left, unless a pointer names
// it.
func (s *Store) Create(name string, h Header) (*Writer, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	w, err := create(s.fsys, filepath.Join(s.dir, name), h)
	if err != nil {
		return nil, err
	}
	w.base, w.store = s.base, s
	return w, nil
}

// List returns the names of the checkpoints, sorted. They are not opened.
func (s *Store) List() ([]string, error) { return List(s.fsys, s.dir) }

// List returns the names of the checkpoints in a run's folder of them, sorted. They are not opened.
func List(fsys durable.FS, dir string) ([]string, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && checkName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Publish points latest, and best if set, at a committed checkpoint, then removes old ones: the newest keep checkpoints
// (all, where keep is less than 1) and those that pointers name stay. Checkpoints newer than c are removed too: they
// are from before the run was resumed at an earlier checkpoint.
//
// A crash between the two pointers leaves best at its old value. So the caller saves the name of the best checkpoint in
// its own state and calls [Store.SetPointer] with it at resume.
func (s *Store) Publish(c *Checkpoint, best bool, keep int) error {
	if err := s.SetPointer(Latest, c.Name()); err != nil {
		return err
	}
	if best {
		if err := s.SetPointer(Best, c.Name()); err != nil {
			return err
		}
	}
	return s.prune(c.Name(), keep)
}

func (s *Store) prune(latest string, keep int) error {
	names, err := s.List()
	if err != nil {
		return err
	}
	pointed, err := s.pointed()
	if err != nil {
		return err
	}
	at, _ := slices.BinarySearch(names, latest)
	for i, name := range names {
		old := keep >= 1 && i <= at-keep
		if (old || i > at) && !pointed[name] {
			if err := durable.Retire(s.fsys, filepath.Join(s.dir, name)); err != nil {
				return fmt.Errorf("remove checkpoint %s: %w", name, err)
			}
		}
	}
	return nil
}

// retire removes the checkpoint called name, so that another can take the name.
func (s *Store) retire(name string) error {
	pointed, err := s.pointed()
	if err != nil {
		return err
	}
	if pointed[name] {
		return errors.New("exists already with other content, and a pointer names it")
	}
	return durable.Retire(s.fsys, filepath.Join(s.dir, name))
}

// pointed returns the names that must not be removed.
func (s *Store) pointed() (map[string]bool, error) {
	out := map[string]bool{}
	for _, p := range []Pointer{Latest, Best} {
		name, _, err := parsePointer(s.fsys, s.dir, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = true
	}
	return out, nil
}
