package zoo

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
)

// readOnly presents the policies in a file system of entries as checkpoint folders zoo:NAME. Every method that changes
// something fails.
type readOnly struct{ fsys fs.FS }

var _ durable.FS = readOnly{}

// inside translates zoo:NAME/FILE.
func (r readOnly) inside(name string) string {
	entry, file, _ := strings.Cut(strings.TrimPrefix(filepath.ToSlash(name), Prefix), "/")
	return path.Join(entry, PolicyDir, file)
}

// Open implements [durable.FS].
func (r readOnly) Open(name string) (durable.Reader, error) {
	b, err := fs.ReadFile(r.fsys, r.inside(name))
	if err != nil {
		return nil, err
	}
	return reader{bytes.NewReader(b)}, nil
}

// Lstat implements [durable.FS].
func (r readOnly) Lstat(name string) (fs.FileInfo, error) { return fs.Stat(r.fsys, r.inside(name)) }

// ReadDir implements [durable.FS].
func (r readOnly) ReadDir(name string) ([]fs.DirEntry, error) {
	return fs.ReadDir(r.fsys, r.inside(name))
}

var errReadOnly = errors.New("the zoo is part of the program: nothing in it can be changed")

// Create implements [durable.FS].
func (readOnly) Create(string) (durable.File, error) { return nil, errReadOnly }

// Append implements [durable.FS].
func (readOnly) Append(string) (durable.File, error) { return nil, errReadOnly }

// Mkdir implements [durable.FS].
func (readOnly) Mkdir(string) error { return errReadOnly }

// Rename implements [durable.FS].
func (readOnly) Rename(string, string) error { return errReadOnly }

// Link implements [durable.FS].
func (readOnly) Link(string, string) error { return errReadOnly }

// Remove implements [durable.FS].
func (readOnly) Remove(string) error { return errReadOnly }

// SyncDir implements [durable.FS].
func (readOnly) SyncDir(string) error { return errReadOnly }

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }
