package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// TempPrefix begins the names of unfinished files and folders, OldPrefix the names of those being removed. They are
// never read; [Sweep] deletes those that a crash left.
const (
	TempPrefix = ".tmp-"
	OldPrefix  = ".old-"
)

var errNotFolder = errors.New("a file is in the way: want a folder here")

func tooLong(size, limit int64) error {
	return fmt.Errorf("has %d bytes, want at most %d", size, limit)
}

func regular(name string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return &fs.PathError{Op: "read", Path: name, Err: errors.New("is a folder, want a file")}
	}
	return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("is not an ordinary file (%v)", info.Mode().Type())}
}

// WriteFile replaces a file atomically: after a crash at any moment it holds all of the old bytes or all of the new. It
// writes a temporary file, syncs and renames it, and syncs the folder. After an error the file holds the old bytes, or
// the new ones where only the folder's sync failed.
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
		// The first error is returned: Sweep deletes the temporary file where Remove fails too.
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

// Retire removes a file or folder atomically: after a crash it is complete under its name or has no name. It is renamed
// to an [OldPrefix] name, the rename is synced, and only then its contents are deleted.
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

// RemoveTree deletes a file, or a folder with its contents, one operation at a time. A missing name is no error. Links
// are deleted, not followed.
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

// Sweep deletes what a crash left in a folder: every name with [TempPrefix] or [OldPrefix]. Only the holder of the
// run's lock may call it.
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
