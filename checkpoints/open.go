package checkpoints

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/safetensors"
)

// RefusedError says why a folder is not accepted as a checkpoint.
type RefusedError struct {
	// Dir is the folder, File the faulty file in it; empty where the fault is the folder's.
	Dir, File string
	// Foreign is true where the folder is no checkpoint at all, false where it is a damaged or unfinished one.
	Foreign bool
	// Err is the fault.
	Err error
}

// Error names the folder, the file and the fault.
func (e *RefusedError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("checkpoint %s refused: %v", e.Dir, e.Err)
	}
	return fmt.Sprintf("checkpoint %s refused: %s: %v", e.Dir, e.File, e.Err)
}

// Unwrap returns the fault.
func (e *RefusedError) Unwrap() error { return e.Err }

// Checkpoint is a verified checkpoint. Its methods read files on demand.
type Checkpoint struct {
	fsys durable.FS
	dir  string
	m    *manifest
	id   string
}

// Open verifies every byte of the checkpoint folder dir and returns it. The error is a [*RefusedError] where the folder
// is damaged, unfinished or no checkpoint.
func Open(dir string) (*Checkpoint, error) { return OpenFS(durable.OS{}, dir) }

// OpenFS is [Open] on another file system.
func OpenFS(fsys durable.FS, dir string) (*Checkpoint, error) {
	c := &Checkpoint{fsys: fsys, dir: dir}
	if strings.HasPrefix(filepath.Base(dir), durable.TempPrefix) || strings.HasPrefix(filepath.Base(dir),
		durable.OldPrefix) {
		return nil, c.refuse("", errors.New("its name says that it was never finished or is being removed"))
	}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, c.foreign(err)
	}
	sums, err := c.readSums(entries)
	if err != nil {
		return nil, err
	}
	raw, err := durable.ReadFile(fsys, filepath.Join(dir, ManifestFile), maxManifest)
	if err != nil {
		return nil, c.refuse(ManifestFile, err)
	}
	if hashOf(raw) != sums[ManifestFile] {
		return nil, c.refuse(ManifestFile, errDamaged)
	}
	if c.m, err = decodeManifest(raw); err != nil {
		return nil, c.refuse(ManifestFile, err)
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if _, ok := c.m.Files[name]; !ok && name != ManifestFile {
			return nil, c.refuse(ManifestFile, fmt.Errorf("does not list %s, which %s does", name, SumsFile))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.m.Files)) {
		want := c.m.Files[name]
		if sum, ok := sums[name]; !ok || sum != want.SHA256 {
			return nil, c.refuse(SumsFile, fmt.Errorf("has another hash for %s than %s", name, ManifestFile))
		}
		if err := c.verify(name, want); err != nil {
			return nil, err
		}
	}
	return c, nil
}

var errDamaged = errors.New("its hash is not the recorded one: damaged")

// readSums reads MANIFEST.sha256 and checks that the folder holds the files it lists and no others.
func (c *Checkpoint) readSums(entries []fs.DirEntry) (map[string]string, error) {
	have := map[string]bool{}
	for _, e := range entries {
		have[e.Name()] = true
	}
	if !have[SumsFile] {
		if have[ManifestFile] {
			return nil, c.refuse("", fmt.Errorf("it has no %s: it was never finished", SumsFile))
		}
		return nil, c.foreign(fmt.Errorf("it has no %s: not a Stoker checkpoint", SumsFile))
	}
	raw, err := durable.ReadFile(c.fsys, filepath.Join(c.dir, SumsFile), maxManifest)
	if err != nil {
		return nil, c.refuse(SumsFile, err)
	}
	sums, err := decodeSums(raw)
	if err != nil {
		return nil, c.refuse(SumsFile, err)
	}
	if _, ok := sums[ManifestFile]; !ok {
		if have[ManifestFile] {
			return nil, c.refuse(SumsFile, fmt.Errorf("does not list %s: damaged", ManifestFile))
		}
		return nil, c.foreign(fmt.Errorf("its %s does not list %s: not a Stoker checkpoint", SumsFile, ManifestFile))
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if !have[name] {
			return nil, c.refuse(name, errors.New("is missing"))
		}
	}
	for _, e := range entries {
		if _, ok := sums[e.Name()]; !ok && e.Name() != SumsFile {
			return nil, c.refuse(e.Name(), fmt.Errorf("does not belong here: %s does not list it", SumsFile))
		}
	}
	c.id = hashOf(raw)
	return sums, nil
}

func (c *Checkpoint) verify(name string, want FileInfo) error {
	path := filepath.Join(c.dir, name)
	info, err := c.fsys.Lstat(path)
	if err != nil {
		return c.refuse(name, err)
	}
	if !info.Mode().IsRegular() {
		return c.refuse(name, fmt.Errorf("is not an ordinary file (%v)", info.Mode().Type()))
	}
	if info.Size() != want.Bytes {
		return c.refuse(name, fmt.Errorf("has %d bytes, want %d", info.Size(), want.Bytes))
	}
	f, err := c.fsys.Open(path)
	if err != nil {
		return c.refuse(name, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return c.refuse(name, err)
	}
	if hexSum(h) != want.SHA256 {
		return c.refuse(name, errDamaged)
	}
	return nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

func (c *Checkpoint) refuse(file string, err error) error {
	return &RefusedError{Dir: c.dir, File: file, Err: err}
}

func (c *Checkpoint) foreign(err error) error {
	return &RefusedError{Dir: c.dir, Foreign: true, Err: err}
}

// Dir returns the checkpoint's folder.
func (c *Checkpoint) Dir() string { return c.dir }

// Name returns the last part of the folder's name.
func (c *Checkpoint) Name() string { return filepath.Base(c.dir) }

// ID returns the hash of the whole content: that of MANIFEST.sha256.
func (c *Checkpoint) ID() string { return c.id }

// Header returns the checkpoint's description. It is shared: do not change it.
func (c *Checkpoint) Header() Header { return c.m.Header }

// Files returns the files that the checkpoint holds, by name. It is shared: do not change it.
func (c *Checkpoint) Files() map[string]FileInfo { return c.m.Files }

// Replay describes the saved replay of a name; ok is false where there is none.
func (c *Checkpoint) Replay(name string) (info ReplayInfo, ok bool) {
	info, ok = c.m.Replay[name]
	return info, ok
}

// Read returns a file's bytes, verified again as they are read.
func (c *Checkpoint) Read(file string) ([]byte, error) {
	want, ok := c.m.Files[file]
	if !ok {
		return nil, c.refuse(file, fmt.Errorf("there is none: a %s checkpoint with %q", c.m.Kind,
			slices.Sorted(maps.Keys(c.m.Files))))
	}
	b, err := durable.ReadFile(c.fsys, filepath.Join(c.dir, file), want.Bytes)
	if err != nil {
		return nil, c.refuse(file, err)
	}
	if hashOf(b) != want.SHA256 {
		return nil, c.refuse(file, errDamaged)
	}
	return b, nil
}

// Tensors reads a safetensors file. The tensors share one buffer; see [safetensors.Values].
func (c *Checkpoint) Tensors(file string) (*safetensors.File, error) {
	b, err := c.Read(file)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Parse(b)
	if err != nil {
		return nil, c.refuse(file, err)
	}
	return f, nil
}
