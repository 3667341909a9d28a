// Package durabletest has a disk in memory for tests of crash safety: a [durable.FS] that knows which bytes and names
// were synced, and returns the disk that a power cut would leave. [WithHooks] stops a test after each operation in
// turn.
//
// It is stricter than most disks: each unsynced name survives or is lost independently. So code that is safe here is
// safe on real disks. It has no permissions, no times and no symbolic links.
package durabletest

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/rng"
)

// Disk is a file system in memory. It is not safe for use by several goroutines.
type Disk struct {
	root *node
}

var _ durable.FS = (*Disk)(nil)

// node is a file or a folder: its state as a running process sees it, and the state that is synced.
type node struct {
	folder        bool
	names, synced map[string]*node // a folder's entries
	data, onDisk  []byte           // a file's bytes
}

func newFolder() *node {
	return &node{folder: true, names: map[string]*node{}, synced: map[string]*node{}}
}

// New returns an empty disk whose root folder is "/".
func New() *Disk { return &Disk{root: newFolder()} }

func split(name string) []string {
	clean := filepath.ToSlash(filepath.Clean(name))
	if clean == "." {
		return nil
	}
	return strings.FieldsFunc(clean, func(r rune) bool { return r == '/' })
}

func fail(op, name string, err error) error { return &fs.PathError{Op: op, Path: name, Err: err} }

func (d *Disk) find(op, name string) (*node, error) {
	n := d.root
	for _, part := range split(name) {
		if n = n.names[part]; n == nil {
			return nil, fail(op, name, fs.ErrNotExist)
		}
	}
	return n, nil
}

// parent returns the folder that holds name, and the last part of name.
func (d *Disk) parent(op, name string) (*node, string, error) {
	parts := split(name)
	if len(parts) == 0 {
		return nil, "", fail(op, name, fs.ErrInvalid)
	}
	dir, err := d.find(op, "/"+strings.Join(parts[:len(parts)-1], "/"))
	if err == nil && !dir.folder {
		err = fail(op, name, errors.New("not a folder"))
	}
	return dir, parts[len(parts)-1], err
}

// Open opens a file for reading.
func (d *Disk) Open(name string) (durable.Reader, error) {
	n, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	if n.folder {
		return nil, fail("open", name, errors.New("is a folder"))
	}
	return reader{bytes.NewReader(n.data)}, nil
}

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

// Lstat describes a file or folder.
func (d *Disk) Lstat(name string) (fs.FileInfo, error) {
	n, err := d.find("lstat", name)
	if err != nil {
		return nil, err
	}
	return info{filepath.Base(name), n}, nil
}

// ReadDir lists a folder, sorted by name.
func (d *Disk) ReadDir(name string) ([]fs.DirEntry, error) {
	n, err := d.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !n.folder {
		return nil, fail("readdir", name, errors.New("not a folder"))
	}
	var out []fs.DirEntry
	for _, part := range sortedNames(n.names) {
		out = append(out, fs.FileInfoToDirEntry(info{part, n.names[part]}))
	}
	return out, nil
}

// Create makes a new file.
func (d *Disk) Create(name string) (durable.File, error) {
	dir, base, err := d.parent("create", name)
	if err != nil {
		return nil, err
	}
	if dir.names[base] != nil {
		return nil, fail("create", name, fs.ErrExist)
	}
	n := &node{}
	dir.names[base] = n
	return &file{n}, nil
}

// Append opens a file for writing at its end.
func (d *Disk) Append(name string) (durable.File, error) {
	n, err := d.find("append", name)
	if errors.Is(err, fs.ErrNotExist) {
		return d.Create(name)
	}
	if err != nil {
		return nil, err
	}
	if n.folder {
		return nil, fail("append", name, errors.New("is a folder"))
	}
	return &file{n}, nil
}

// Mkdir makes a folder.
func (d *Disk) Mkdir(name string) error {
	dir, base, err := d.parent("mkdir", name)
	if err != nil {
		return err
	}
	if dir.names[base] != nil {
		return fail("mkdir", name, fs.ErrExist)
	}
	dir.names[base] = newFolder()
	return nil
}

// Rename gives a file or folder another name.
func (d *Disk) Rename(from, to string) error {
	src, a, err := d.parent("rename", from)
	if err != nil {
		return err
	}
	dst, b, err := d.parent("rename", to)
	if err != nil {
		return err
	}
	n := src.names[a]
	if n == nil {
		return fail("rename", from, fs.ErrNotExist)
	}
	if old := dst.names[b]; old != nil && (old.folder != n.folder || len(old.names) > 0) {
		return fail("rename", to, fs.ErrExist)
	}
	delete(src.names, a)
	dst.names[b] = n
	return nil
}

// Link gives a file a second name.
func (d *Disk) Link(from, to string) error {
	n, err := d.find("link", from)
	if err != nil {
		return err
	}
	dir, base, err := d.parent("link", to)
	if err != nil {
		return err
	}
	if dir.names[base] != nil || n.folder {
		return fail("link", to, fs.ErrExist)
	}
	dir.names[base] = n
	return nil
}

// Remove deletes a file or an empty folder.
func (d *Disk) Remove(name string) error {
	dir, base, err := d.parent("remove", name)
	if err != nil {
		return err
	}
	n := dir.names[base]
	switch {
	case n == nil:
		return fail("remove", name, fs.ErrNotExist)
	case len(n.names) > 0:
		return fail("remove", name, errors.New("folder is not empty"))
	}
	delete(dir.names, base)
	return nil
}

// SyncDir makes the names in a folder survive [Disk.PowerCut].
func (d *Disk) SyncDir(name string) error {
	n, err := d.find("syncdir", name)
	if err != nil {
		return err
	}
	clear(n.synced)
	for k, v := range n.names {
		n.synced[k] = v
	}
	return nil
}

// SyncAll syncs everything on the disk: the state from which a test starts.
func (d *Disk) SyncAll() {
	var walk func(n *node)
	walk = func(n *node) {
		n.onDisk = slices.Clone(n.data)
		clear(n.synced)
		for k, v := range n.names {
			n.synced[k] = v
			walk(v)
		}
	}
	walk(d.root)
}

// Clone returns an independent copy of what a running process sees: the disk after the process was killed.
func (d *Disk) Clone() *Disk { return d.copy(func(int) int { return 1 }) }

// PowerCut returns the disk as a power cut might leave it. Seed 0 loses everything that was not synced; seed 1 keeps
// every name but no unsynced bytes; other seeds draw for each name and file, and may keep a part of a file.
func (d *Disk) PowerCut(seed uint64) *Disk {
	draw := rng.NewStream(seed, "power cut")
	return d.copy(func(choices int) int {
		switch {
		case seed == 0 || seed == 1 && choices == dataChoices:
			return 0
		case seed == 1:
			return 1
		}
		return draw.IntN(choices)
	})
}

// Outcomes for a name: lost or kept. For a file's unsynced bytes: lost, kept, or a part kept.
const (
	nameChoices = 2
	dataChoices = 3
)

// copy builds the disk that remains; pick chooses the outcome for each name and each file's bytes.
func (d *Disk) copy(pick func(choices int) int) *Disk {
	made := map[*node]*node{} // a file with two names stays one file
	var build func(n *node) *node
	build = func(n *node) *node {
		if c := made[n]; c != nil {
			return c
		}
		c := &node{folder: n.folder}
		if !n.folder {
			made[n] = c
			c.data = slices.Clone(n.onDisk)
			if !slices.Equal(n.onDisk, n.data) {
				switch pick(dataChoices) {
				case 1:
					c.data = slices.Clone(n.data)
				case 2: // half of what was appended since the last sync
					if bytes.HasPrefix(n.data, n.onDisk) {
						c.data = slices.Clone(n.data[:(len(n.onDisk)+len(n.data))/2])
					}
				}
			}
			c.onDisk = slices.Clone(c.data)
			return c
		}
		c.names, c.synced = map[string]*node{}, map[string]*node{}
		all := map[string]*node{}
		for k, v := range n.synced {
			all[k] = v
		}
		for k, v := range n.names {
			all[k] = v
		}
		for _, k := range sortedNames(all) {
			entry := n.synced[k]
			if entry != n.names[k] && pick(nameChoices) == 1 {
				entry = n.names[k]
			}
			if entry != nil {
				c.names[k] = build(entry)
				c.synced[k] = c.names[k]
			}
		}
		return c
	}
	return &Disk{root: build(d.root)}
}

// Set replaces a file's bytes, synced: it simulates damage from outside the program.
func (d *Disk) Set(name string, data []byte) error {
	n, err := d.find("set", name)
	if err != nil {
		return err
	}
	n.data, n.onDisk = slices.Clone(data), slices.Clone(data)
	return nil
}

func sortedNames(m map[string]*node) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

type file struct{ n *node }

func (f *file) Write(b []byte) (int, error) {
	f.n.data = append(f.n.data, b...)
	return len(b), nil
}

func (f *file) Sync() error {
	f.n.onDisk = slices.Clone(f.n.data)
	return nil
}

func (f *file) Truncate(size int64) error {
	if size < 0 || size > int64(len(f.n.data)) {
		return fs.ErrInvalid
	}
	f.n.data = f.n.data[:size:size]
	return nil
}

func (f *file) Close() error { return nil }

type info struct {
	name string
	n    *node
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.n.data)) }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.n.folder }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.n.folder {
		return fs.ModeDir | 0o777
	}
	return 0o666
}
