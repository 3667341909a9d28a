package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// TempPrefix starts the name of everything that is not finished yet, OldPrefix of everything that is being
// removed. Neither is ever read; [Sweep] deletes what a crash left of them.
const (
	TempPrefix = ".tmp-"
	OldPrefix  = ".old-"
)

var errNotFolder = errors.New("a file is in the way: a folder is needed here")

func tooLong(size, limit int64) error {
	return fmt.Errorf("has %d bytes, more than the %d that this kind of file may have", size, limit)
}

func regular(name string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder, a file is needed")}
	}
	return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("is not an ordinary file (%v)", info.Mode().Type())}
}

// WriteFile replaces a file in one step: after a crash at any moment the file holds all of the old bytes or
// all of the new. It writes beside the file, syncs, renames, and syncs the folder. When it returns an error
// the file holds the old bytes, or, if only the folder's sync failed, the new.
func WriteFile(fsys FS, name string, data []byte) error {
	dir, base := filepath.Split(name)
	if dir == "" {
		dir = "."
	}
	temp := filepath.Join(dir, TempPrefix+base)
	if err := fsys.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear a leftover: %w", err)
	}
	if err := createSynced(fsys, temp, data); err != nil {
		// The leftover is harmless and Sweep finds it: the first error is the one to tell.
		_ = fsys.Remove(temp)
		return err
	}
	if err := fsys.Rename(temp, name); err != nil {
		_ = fsys.Remove(temp)
		return err
	}
	return fsys.SyncDir(dir)
}

func createSynced(fsys FS, name string, data []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// SameFile reports whether the file holds exactly data.
func SameFile(fsys FS, name string, data []byte) bool {
	have, err := ReadFile(fsys, name, int64(len(data)))
	return err == nil && bytes.Equal(have, data)
}

// Retire removes a file or folder so that a crash leaves it whole or not at all under its name: it is renamed
// to an [OldPrefix] name, the rename is synced, and only then are its contents deleted.
func Retire(fsys FS, name string) error {
	dir := filepath.Dir(name)
	old := filepath.Join(dir, OldPrefix+filepath.Base(name))
	if err := RemoveTree(fsys, old); err != nil {
		return err
	}
	if err := fsys.Rename(name, old); err != nil {
		return err
	}
	if err := fsys.SyncDir(dir); err != nil {
		return err
	}
	return RemoveTree(fsys, old)
}

// RemoveTree deletes a file, or a folder with all it holds, one operation at a time. A missing one is no error.
// Links are deleted, not followed.
func RemoveTree(fsys FS, name string) error {
	info, err := fsys.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		entries, err := fsys.ReadDir(name)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := RemoveTree(fsys, filepath.Join(name, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Sweep deletes what a crash left in a folder: everything with [TempPrefix] or [OldPrefix]. Only the owner of
// the folder (the holder of the run's lock) may call it.
func Sweep(fsys FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if Leftover(e.Name()) {
			if err := RemoveTree(fsys, filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("clear a leftover: %w", err)
			}
		}
	}
	return nil
}

// Leftover reports whether a name is one that [Sweep] deletes.
func Leftover(name string) bool {
	return len(name) > len(TempPrefix) && (name[:len(TempPrefix)] == TempPrefix || name[:len(OldPrefix)] == OldPrefix)
}
