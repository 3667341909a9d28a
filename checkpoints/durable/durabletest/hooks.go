package durabletest

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// Op is one operation that changes the disk.
type Op struct {
	// N counts the operations of one [WithHooks] file system from 1.
	N int
	// Kind is create, append, write, sync, truncate, close, mkdir, rename, link, remove or syncdir.
	Kind string
	// Path is the file or folder; for rename and link it is the new name.
	Path string
	// Bytes is the length of a write.
	Bytes int
}

// String names the operation, for example "#12 sync runs/a/checkpoints/.tmp-x/weights.safetensors".
func (o Op) String() string { return fmt.Sprintf("#%d %s %s", o.N, o.Kind, o.Path) }

// Hooks are called for every operation, in order. Either may be nil. A file system with hooks must not be used from two
// goroutines at once.
type Hooks struct {
	// Before is called before an operation. If it returns an error, the operation is not done and fails with it. A [Cut]
	// makes a write do its first bytes and then fail, as on a full disk.
	Before func(Op) error
	// After is called after an operation that succeeded: end the process here to test a crash. Some operations are
	// expected to fail (removing a missing file) and skip After, so compare N with >=.
	After func(Op)
}

// Cut is an error for [Hooks].Before: a write does its first Bytes bytes, then fails with Err. Any other
// operation just fails.
type Cut struct {
	Bytes int
	Err   error
}

// Error is Err's text.
func (c *Cut) Error() string { return c.Err.Error() }

// Unwrap returns Err.
func (c *Cut) Unwrap() error { return c.Err }

// WithHooks returns fsys with hooks around every operation.
func WithHooks(fsys durable.FS, h Hooks) durable.FS { return &hooked{FS: fsys, h: h} }

type hooked struct {
	durable.FS
	h Hooks
	n int
}

func (f *hooked) do(kind, path string, size int, op func(n int) error) error {
	f.n++
	o := Op{N: f.n, Kind: kind, Path: path, Bytes: size}
	if f.h.Before != nil {
		if err := f.h.Before(o); err != nil {
			var cut *Cut
			if kind == "write" && errors.As(err, &cut) {
				_ = op(min(cut.Bytes, size))
			}
			return &fs.PathError{Op: kind, Path: path, Err: err}
		}
	}
	if err := op(size); err != nil {
		return err
	}
	if f.h.After != nil {
		f.h.After(o)
	}
	return nil
}

func (f *hooked) open(kind, name string, open func(string) (durable.File, error)) (durable.File, error) {
	var file durable.File
	err := f.do(kind, name, 0, func(int) (err error) {
		file, err = open(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &hookedFile{file: file, fs: f, name: name}, nil
}

func (f *hooked) Create(name string) (durable.File, error) {
	return f.open("create", name, f.FS.Create)
}
func (f *hooked) Append(name string) (durable.File, error) {
	return f.open("append", name, f.FS.Append)
}

func (f *hooked) Mkdir(name string) error {
	return f.do("mkdir", name, 0, func(int) error { return f.FS.Mkdir(name) })
}

func (f *hooked) Rename(from, to string) error {
	return f.do("rename", to, 0, func(int) error { return f.FS.Rename(from, to) })
}

func (f *hooked) Link(from, to string) error {
	return f.do("link", to, 0, func(int) error { return f.FS.Link(from, to) })
}

func (f *hooked) Remove(name string) error {
	return f.do("remove", name, 0, func(int) error { return f.FS.Remove(name) })
}

func (f *hooked) SyncDir(name string) error {
	return f.do("syncdir", name, 0, func(int) error { return f.FS.SyncDir(name) })
}

type hookedFile struct {
	file durable.File
	fs   *hooked
	name string
}

func (f *hookedFile) Write(b []byte) (n int, err error) {
	err = f.fs.do("write", f.name, len(b), func(size int) (err error) {
		n, err = f.file.Write(b[:size])
		return err
	})
	return n, err
}

func (f *hookedFile) Sync() error {
	return f.fs.do("sync", f.name, 0, func(int) error { return f.file.Sync() })
}

func (f *hookedFile) Truncate(size int64) error {
	return f.fs.do("truncate", f.name, 0, func(int) error { return f.file.Truncate(size) })
}

// Close closes the file even if the hook fails it: a process that continues after an error must not leak files.
func (f *hookedFile) Close() error {
	closed := false
	err := f.fs.do("close", f.name, 0, func(int) error {
		closed = true
		return f.file.Close()
	})
	if !closed {
		_ = f.file.Close()
	}
	return err
}
