package durable

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// FS is the file system that checkpoints, pointers and logs use. Every method that changes the disk counts as one
// operation of durabletest.WithHooks, and so does every Write, Sync, Truncate and Close of a [File].
type FS interface {
	// Open opens a file for reading.
	Open(name string) (Reader, error)
	// Lstat describes a file without following a link.
	Lstat(name string) (fs.FileInfo, error)
	// ReadDir lists a folder, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)

	// Create makes a new file for writing and fails where the name exists.
	Create(name string) (File, error)
	// Append opens a file for writing at its end and creates a missing one.
	Append(name string) (File, error)
	// Mkdir makes one folder and fails where the name exists.
	Mkdir(name string) error
	// Rename gives a file or folder another name. It replaces a file of that name, but no folder with contents.
	Rename(from, to string) error
	// Link gives a file a second name (a hard link) and fails where the name exists.
	Link(from, to string) error
	// Remove deletes a file or an empty folder.
	Remove(name string) error
	// SyncDir makes the names in a folder survive a power cut.
	SyncDir(name string) error
}

// Reader is a file open for reading.
type Reader interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// File is a file open for writing at its end.
type File interface {
	io.Writer
	// Sync makes the bytes written so far survive a power cut. The file's name needs [FS.SyncDir].
	Sync() error
	// Truncate cuts the file to size bytes; the next Write continues there.
	Truncate(size int64) error
	io.Closer
}

// OS is the real file system.
type OS struct{}

var _ FS = OS{}

// Open opens a file for reading.
func (OS) Open(name string) (Reader, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Lstat describes a file without following a link.
func (OS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// ReadDir lists a folder, sorted by name.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Create makes a new file for writing.
func (OS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Append opens a file for writing at its end.
func (OS) Append(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Mkdir makes one folder.
func (OS) Mkdir(name string) error { return os.Mkdir(name, 0o777) }

// Rename gives a file or folder another name.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Link gives a file a second name.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Remove deletes a file or an empty folder.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir makes the names in a folder survive a power cut. Windows has no such call: the file system's journal orders
// the changes of names.
func (OS) SyncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

// ReadFile reads a whole file of at most limit bytes; a longer one is an error. It allocates no more memory than the
// file needs.
func ReadFile(fsys FS, name string, limit int64) ([]byte, error) {
	info, err := fsys.Lstat(name)
	if err != nil {
		return nil, err
	}
	if err := regular(name, info); err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: name, Err: tooLong(info.Size(), limit)}
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// The size may have changed since Lstat: read what is there, up to the limit.
	buf := make([]byte, 0, info.Size()+1)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return nil, &fs.PathError{Op: "read", Path: name, Err: tooLong(int64(len(buf)), limit)}
		}
		if errors.Is(err, io.EOF) {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// MkdirAll makes a folder and its missing parents, and makes their names survive a power cut.
func MkdirAll(fsys FS, dir string) error {
	info, err := fsys.Lstat(dir)
	if err == nil {
		if info.IsDir() || info.Mode()&fs.ModeSymlink != 0 {
			return nil
		}
		return &fs.PathError{Op: "mkdir", Path: dir, Err: errNotFolder}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(fsys, parent); err != nil {
			return err
		}
	}
	if err := fsys.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return fsys.SyncDir(parent)
}
