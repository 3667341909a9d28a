package libtorch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fetchNote is the file beside a fetched libtorch that says what it is made of.
const fetchNote = "fetched.json"

// A fetch is a libtorch unpacked from wheels into the cache folder. The folder
// is laid out as Python's site-packages (torch beside nvidia), because that is
// where the libraries' own search paths lead.
type fetch struct {
	Release string      `json:"release"`
	Wheels  []wheelNote `json:"wheels"`
	// CUDA says that the wheels for a GPU are in it too.
	CUDA bool `json:"cuda"`

	site string
}

type wheelNote struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

func readFetch(note string) (fetch, error) {
	text, err := os.ReadFile(note)
	if err != nil {
		return fetch{}, err
	}
	var f fetch
	if err := json.Unmarshal(text, &f); err != nil {
		return fetch{}, fmt.Errorf("%s: %w", note, err)
	}
	f.site = filepath.Dir(note)
	return f, nil
}

func (f fetch) write(dir string) error {
	return writeJSON(filepath.Join(dir, fetchNote), f)
}

// Bytes to have free before a fetch: 0.5 GB of wheel and 1.1 GB unpacked, both
// there at once, and room for the compiled bindings; with CUDA, 2.5 GB of
// wheels more and twice that unpacked.
const (
	diskForTorch = 2_500_000_000
	diskForCUDA  = 9_000_000_000
)

// fetchTorch downloads the torch wheel, and what libtorch_cpu.so needs beside
// it, into the cache. Nothing is left behind where it fails.
func (o Options) fetchTorch(ctx context.Context, log func(string)) (Torch, error) {
	pip, err := o.pip(ctx, log)
	if err != nil {
		return Torch{}, err
	}
	if err := o.room(o.torches(), diskForTorch); err != nil {
		return Torch{}, err
	}
	work, done, err := workFolder(o.torches())
	if err != nil {
		return Torch{}, err
	}
	defer done()
	want := cmp.Or(o.Release, DefaultRelease)
	log("fetching torch " + want + " with pip (about 0.5 GB to load, 1.1 GB unpacked)")
	site := filepath.Join(work, "site")
	f := fetch{Release: want}
	metadata := ""
	tag, err := o.firstTag(func(tag string) error {
		args := append(o.tags(ctx, tag), "--no-deps", "torch=="+want)
		notes, metas, err := pip.download(ctx, work, site, args)
		if err == nil && len(notes) != 1 {
			err = fmt.Errorf("pip brought %d wheels for torch==%s, not one", len(notes), want)
		}
		if err != nil {
			return err
		}
		f.Wheels, metadata = notes, metas[0]
		return nil
	})
	if err != nil {
		return Torch{}, fmt.Errorf("fetching torch %s: %w", want, err)
	}
	f.CUDA = o.wheels()
	if asked := cudaRequirements(metadata, f.CUDA); len(asked) > 0 {
		if f.CUDA {
			if err := o.room(o.torches(), diskForCUDA); err != nil {
				return Torch{}, err
			}
		}
		log("fetching " + strings.Join(asked, " "))
		notes, _, err := pip.download(ctx, work, site, append(o.tags(ctx, tag), asked...))
		if err != nil {
			return Torch{}, fmt.Errorf("fetching what torch %s needs: %w", want, err)
		}
		f.Wheels = append(f.Wheels, notes...)
	}
	if _, err := inspect(o.sys, FromPip, site); err != nil {
		return Torch{}, fmt.Errorf("the torch %s that pip brought: %w", want, err)
	}
	if err := f.write(site); err != nil {
		return Torch{}, err
	}
	final := filepath.Join(o.torches(), want+"-"+f.Wheels[0].SHA256[:12])
	if _, err := inspect(o.sys, FromPip, final); isDir(final) && (err != nil || o.Refit) {
		log("replacing the damaged or unwanted " + final)
		if err := os.RemoveAll(final); err != nil {
			return Torch{}, err
		}
	}
	if err := replaceFolder(site, final); err != nil {
		return Torch{}, err
	}
	return inspect(o.sys, FromPip, final)
}

// addCUDA completes a libtorch that was fetched while there was no GPU.
func (o Options) addCUDA(ctx context.Context, f fetch, log func(string)) error {
	metas, err := filepath.Glob(filepath.Join(f.site, "torch-*.dist-info", "METADATA"))
	if err != nil || len(metas) == 0 {
		return fmt.Errorf("%s: its METADATA is gone; remove the folder and fetch again", f.site)
	}
	text, err := os.ReadFile(metas[0])
	if err != nil {
		return err
	}
	asked := cudaRequirements(string(text), true)
	if len(asked) == 0 {
		return nil // a CPU build
	}
	pip, err := o.pip(ctx, log)
	if err != nil {
		return err
	}
	if err := o.room(o.torches(), diskForCUDA); err != nil {
		return err
	}
	work, done, err := workFolder(o.torches())
	if err != nil {
		return err
	}
	defer done()
	log("a GPU is here: fetching " + strings.Join(asked, " "))
	site := filepath.Join(work, "site")
	_, err = o.firstTag(func(tag string) error {
		notes, _, err := pip.download(ctx, work, site, append(o.tags(ctx, tag), asked...))
		for _, n := range notes {
			if !slices.Contains(f.Wheels, n) {
				f.Wheels = append(f.Wheels, n)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := mergeFolder(filepath.Join(site, "nvidia"), filepath.Join(f.site, "nvidia")); err != nil {
		return err
	}
	f.CUDA = true
	return f.write(f.site)
}

// firstTag tries one Python tag after the other until pip has a wheel for it.
func (o Options) firstTag(try func(tag string) error) (string, error) {
	var first error
	for _, tag := range pythonTags {
		err := try(tag)
		if err == nil {
			return tag, nil
		}
		if first == nil {
			first = err
		}
		if !strings.Contains(err.Error(), "No matching distribution") {
			return "", err
		}
	}
	return "", first
}

func (o Options) tags(ctx context.Context, python string) []string {
	major, minor := o.sys.glibc(ctx)
	return pipTags(python, o.sys.goarch, major, minor)
}

// download has pip bring wheels into work and unpacks them, deleting each, so
// that wheels and their contents do not take up the disk together for long.
func (p pip) download(ctx context.Context, work, site string, args []string) (notes []wheelNote, metas []string,
	err error) {
	wheels := filepath.Join(work, "wheels")
	if err := os.MkdirAll(wheels, 0o755); err != nil {
		return nil, nil, err
	}
	c := cmdOf(p.name, slices.Concat(p.args, []string{"download", "--no-cache-dir", "--progress-bar", "off", "-d",
		wheels}, args)...)
	// pip loads into TMPDIR first; /tmp is often too small for this.
	c.env = []string{"TMPDIR=" + work, "PIP_DISABLE_PIP_VERSION_CHECK=1"}
	if _, err := p.sys.run(ctx, c); err != nil {
		return nil, nil, err
	}
	entries, err := os.ReadDir(wheels)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		path := filepath.Join(wheels, e.Name())
		sum, err := hashFile(path, io.Discard)
		if err != nil {
			return nil, nil, err
		}
		meta, err := unpack(path, site)
		if err != nil {
			return nil, nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, nil, err
		}
		notes = append(notes, wheelNote{Name: e.Name(), SHA256: sum})
		metas = append(metas, meta)
	}
	if len(notes) == 0 {
		return nil, nil, errors.New("pip reported success but brought no wheel")
	}
	return notes, metas, nil
}

// room fails where less than need bytes are free.
func (o Options) room(dir string, need uint64) error {
	// Where it cannot be told, trying tells.
	if free, err := o.sys.free(dir); err == nil && free < need {
		return fmt.Errorf("%s has %.1f GB free, %.1f GB are needed; free some, or set XDG_CACHE_HOME to a folder on "+
			"another disk",
			dir, float64(free)/1e9, float64(need)/1e9)
	}
	return nil
}

// workFolder makes a folder beside the final ones, so that a rename suffices
// at the end, and clears those that a killed run left a day or more ago.
func workFolder(parent string) (dir string, done func(), err error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", nil, fmt.Errorf("cache folder: %w", err)
	}
	old, err := filepath.Glob(filepath.Join(parent, ".work-*"))
	if err != nil {
		return "", nil, err
	}
	for _, path := range old {
		if st, err := os.Stat(path); err == nil && time.Since(st.ModTime()) > 24*time.Hour {
			if err := os.RemoveAll(path); err != nil {
				return "", nil, err
			}
		}
	}
	dir, err = os.MkdirTemp(parent, ".work-")
	if err != nil {
		return "", nil, fmt.Errorf("cache folder: %w", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// replaceFolder renames from into place. Where another process was first with
// the same key, its folder holds the same and stays.
func replaceFolder(from, to string) error {
	err := os.Rename(from, to)
	if isDir(to) {
		return nil
	}
	return err
}

// mergeFolder moves the files below from into to, each in one rename.
func mergeFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.Rename(path, target)
	})
}

// writeJSON writes a small record whole or not at all.
func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(text, '\n'))
}

// writeFile replaces a file by renaming a new one over it.
func writeFile(path string, text []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, text, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
