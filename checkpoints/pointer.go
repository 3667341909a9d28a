package checkpoints

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// Pointer is a file in a run's folder of checkpoints that names one of them.
type Pointer string

// The pointers.
const (
	// Latest is the checkpoint from which resume continues.
	Latest Pointer = "latest"
	// Best is the checkpoint with the best evaluation.
	Best Pointer = "best"
)

// CheckpointsDir is the folder of checkpoints in a run folder.
const CheckpointsDir = "checkpoints"

// A pointer is one line: the checkpoint's name, a space, its [Checkpoint.ID].
const maxPointer = 256

// checkName checks a checkpoint's name in a store.
func checkName(name string) error {
	if !fileName.MatchString(name) || name == string(Latest) || name == string(Best) {
		return fmt.Errorf("checkpoint name %q: want up to 100 of a-z, 0-9, '.', '_' and '-', a letter or digit first, "+
			"and not a pointer's name", name)
	}
	return nil
}

// SetPointer atomically points p at a checkpoint of this store.
func (s *Store) SetPointer(p Pointer, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	raw, err := durable.ReadFile(s.fsys, filepath.Join(s.dir, name, SumsFile), maxManifest)
	if err != nil {
		return fmt.Errorf("pointer %s: %w", p, err)
	}
	line := fmt.Sprintf("%s %s\n", name, hashOf(raw))
	return durable.WriteFile(s.fsys, filepath.Join(s.dir, string(p)), []byte(line))
}

// RemovePointer removes a pointer; where there is none it does nothing.
func (s *Store) RemovePointer(p Pointer) error {
	err := s.fsys.Remove(filepath.Join(s.dir, string(p)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.fsys.SyncDir(s.dir)
}

func parsePointer(fsys durable.FS, dir string, p Pointer) (name, id string, err error) {
	path := filepath.Join(dir, string(p))
	raw, err := durable.ReadFile(fsys, path, maxPointer)
	if err != nil {
		return "", "", err
	}
	line, ok := strings.CutSuffix(string(raw), "\n")
	name, id, sep := strings.Cut(line, " ")
	if !ok || !sep || checkName(name) != nil || !isHash(id) {
		return "", "", fmt.Errorf("pointer %s: damaged: want one line with a checkpoint's name and its hash", path)
	}
	return name, id, nil
}

// ReadPointer returns the folder of the checkpoint that a pointer in dir names. It checks the checkpoint's ID, not its
// files: that is [Open]. The error satisfies fs.ErrNotExist where there is no pointer.
func ReadPointer(fsys durable.FS, dir string, p Pointer) (string, error) {
	name, id, err := parsePointer(fsys, dir, p)
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, name)
	raw, err := durable.ReadFile(fsys, filepath.Join(at, SumsFile), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		// Not wrapped: a pointer to nothing is damage, not the absence of a pointer.
		return "", fmt.Errorf("pointer %s: names checkpoint %s, which is not there", filepath.Join(dir, string(p)), name)
	}
	if err != nil {
		return "", err
	}
	if hashOf(raw) != id {
		return "", fmt.Errorf("pointer %s: names checkpoint %s, but another checkpoint has that name now (its %s has "+
			"another hash)", filepath.Join(dir, string(p)), name, SumsFile)
	}
	return at, nil
}

// pointerNotSet is the error of a run that has no such pointer yet.
type pointerNotSet struct {
	path    string
	pointer Pointer
}

func (e pointerNotSet) Error() string {
	return fmt.Sprintf("%s: this run has no %s checkpoint yet", e.path, e.pointer)
}

func (e pointerNotSet) Is(target error) bool { return target == fs.ErrNotExist }

// Find returns the checkpoint folder for path: path itself where it is a checkpoint, else the one that the pointer
// names in a run folder or a folder of checkpoints. The error satisfies fs.ErrNotExist where the run has no such
// pointer yet.
func Find(fsys durable.FS, path string, p Pointer) (string, error) {
	if exists(fsys, filepath.Join(path, SumsFile)) {
		return path, nil
	}
	if info, err := fsys.Lstat(path); err == nil && info.Mode().IsRegular() {
		return "", notCheckpoint(path + ": is a file, want the folder of a checkpoint or a run")
	}
	for _, dir := range []string{filepath.Join(path, CheckpointsDir), path} {
		at, err := ReadPointer(fsys, dir, p)
		if !errors.Is(err, fs.ErrNotExist) {
			return at, err
		}
	}
	if _, err := fsys.Lstat(path); err != nil {
		return "", err
	}
	if exists(fsys, filepath.Join(path, CheckpointsDir)) {
		return "", pointerNotSet{path, p}
	}
	return "", notCheckpoint(fmt.Sprintf("%s: neither a checkpoint (no %s) nor a run folder (no %s folder)", path, SumsFile,
		CheckpointsDir))
}

// ErrNotCheckpoint is the error of [Find] where a path exists and is neither a checkpoint nor a run's folder.
var ErrNotCheckpoint = errors.New("not a checkpoint")

// notCheckpoint is ErrNotCheckpoint to errors.Is, and says what the path is.
type notCheckpoint string

func (e notCheckpoint) Error() string        { return string(e) }
func (e notCheckpoint) Is(target error) bool { return target == ErrNotCheckpoint }

func exists(fsys durable.FS, name string) bool {
	_, err := fsys.Lstat(name)
	return err == nil
}
