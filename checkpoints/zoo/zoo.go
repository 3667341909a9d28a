// Package zoo holds the trained policies that are embedded in the program: policy checkpoints of at most [MaxBytes].
// Like any checkpoint they are verified byte by byte when opened. Each has a card that says what it is, how it was
// trained and how it performed.
//
// An entry is the folder NAME with the checkpoint in policy, the [Card] in card.json, and the same as a page in
// CARD.md. [Make] writes all three from a run's checkpoint and the results of `stoker eval`; only the sentence about
// the policy's purpose is written by hand. zoo:NAME names a policy wherever the program takes a checkpoint.
//
// Package catalog, above this one, builds a policy that can act. This package needs only the standard library.
package zoo

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
)

//go:embed */policy/* */card.json */CARD.md
var shipped embed.FS

// Prefix begins the names of the zoo's policies wherever a checkpoint's path is expected.
const Prefix = "zoo:"

// MaxBytes is the largest size of an entry's checkpoint.
const MaxBytes = 1 << 20

// Files of an entry.
const (
	PolicyDir = "policy"
	CardFile  = "card.json"
	PageFile  = "CARD.md"
)

// Entry is a policy of the zoo.
type Entry struct {
	Name string `json:"name"`
	Card *Card  `json:"card"`
}

// Cut returns the entry's name in path; ok is whether path has [Prefix].
func Cut(path string) (name string, ok bool) { return strings.CutPrefix(path, Prefix) }

// Names lists the entries.
func Names() []string { return names(shipped) }

func names(fsys fs.FS) []string {
	var out []string
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil { // impossible for an embedded file system
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// List returns the entries with their cards.
func List() ([]Entry, error) {
	var out []Entry
	for _, name := range Names() {
		c, err := ReadCard(name)
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{name, c})
	}
	return out, nil
}

// Open verifies every byte of a policy and returns it. For an unknown name the error lists the known ones and satisfies
// fs.ErrNotExist; for a damaged policy it is a [*checkpoints.RefusedError].
func Open(name string) (*checkpoints.Checkpoint, error) { return open(shipped, name) }

func open(fsys fs.FS, name string) (*checkpoints.Checkpoint, error) {
	if err := known(fsys, name); err != nil {
		return nil, err
	}
	return checkpoints.OpenFS(readOnly{fsys}, Prefix+name)
}

// Check is [checkpoints.Check] for the policy of a name.
func Check(name string) (*checkpoints.Report, error) {
	if err := known(shipped, name); err != nil {
		return nil, err
	}
	return checkpoints.CheckFS(readOnly{shipped}, Prefix+name)
}

// ReadCard reads the card of a name.
func ReadCard(name string) (*Card, error) { return readCard(shipped, name) }

func readCard(fsys fs.FS, name string) (*Card, error) {
	b, err := readFile(fsys, name, CardFile)
	if err != nil {
		return nil, err
	}
	c := &Card{}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("%s%s: %s: %w", Prefix, name, CardFile, err)
	}
	return c, nil
}

func readFile(fsys fs.FS, name, file string) ([]byte, error) {
	if err := known(fsys, name); err != nil {
		return nil, err
	}
	b, err := fs.ReadFile(fsys, path.Join(name, file))
	if err != nil {
		return nil, fmt.Errorf("%s%s: %w", Prefix, name, err)
	}
	return b, nil
}

// unknown is the error for an unknown name.
type unknown struct {
	name string
	all  []string
}

func (e *unknown) Error() string {
	return fmt.Sprintf("no policy %q in the zoo; the names are %s", e.name, strings.Join(e.all, ", "))
}

func (e *unknown) Is(target error) bool { return target == fs.ErrNotExist }

func known(fsys fs.FS, name string) error {
	if !fs.ValidPath(name) || name == "." || strings.Contains(name, "/") {
		return &unknown{name, names(fsys)}
	}
	if _, err := fs.Stat(fsys, name); errors.Is(err, fs.ErrNotExist) {
		return &unknown{name, names(fsys)}
	}
	return nil
}

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
