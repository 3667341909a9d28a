package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
)

func read(t *testing.T, fsys durable.FS, name string) string {
	t.Helper()
	b := must.Get(durable.ReadFile(fsys, name, 1<<20))(t)
	return string(b)
}

// oldFile is a disk on which /a/file holds "old", all synced.
func oldFile(t *testing.T) *durabletest.Disk {
	t.Helper()
	d := durabletest.New()
	must.Do(t, durable.MkdirAll(d, "/a"))
	must.Do(t, durable.WriteFile(d, "/a/file", []byte("old")))
	d.SyncAll()
	return d
}

// afterEach runs change on a fresh disk once for each of its operations and stops it after that operation (or, with
// cut, in the middle of it). It calls back with each disk that may remain: after a killed process, and after power
// cuts.
func afterEach(t *testing.T, fresh func() *durabletest.Disk, change func(durable.FS) error,
	look func(t *testing.T, what string, d *durabletest.Disk)) {
	t.Helper()
	stop := errors.New("the world ends here")
	for _, half := range []bool{false, true} {
		for k := 1; ; k++ {
			d := fresh()
			last := durabletest.Op{}
			err := change(durabletest.WithHooks(d, durabletest.Hooks{Before: func(o durabletest.Op) error {
				if o.N <= k {
					last = o
				}
				switch {
				case o.N == k && half:
					return &durabletest.Cut{Bytes: o.Bytes / 2, Err: stop}
				case o.N > k:
					return stop
				}
				return nil
			}}))
			look(t, fmt.Sprintf("killed at %v (half %v)", last, half), d.Clone())
			for seed := range uint64(12) {
				look(t, fmt.Sprintf("power cut %d at %v (half %v)", seed, last, half), d.PowerCut(seed))
			}
			if err == nil {
				if k < 5 {
					t.Fatalf("only %d operations: the hooks do not see them", k)
				}
				break
			}
		}
	}
}

func TestWriteFileIsOldOrNew(t *testing.T) {
	write := func(fsys durable.FS) error { return durable.WriteFile(fsys, "/a/file", []byte("the new text")) }
	seen := map[string]int{}
	afterEach(t, func() *durabletest.Disk { return oldFile(t) }, write, func(t *testing.T, what string,
		d *durabletest.Disk) {
		got := read(t, d, "/a/file")
		if got != "old" && got != "the new text" {
			t.Errorf("%s: file holds %q", what, got)
		}
		seen[got]++
		// The next process can write and clean up, whatever was left.
		if err := durable.WriteFile(d, "/a/file", []byte("next")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if err := durable.Sweep(d, "/a"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if names, _ := d.ReadDir("/a"); len(names) != 1 {
			t.Errorf("%s: %v is left", what, names)
		}
	})
	if seen["old"] == 0 || seen["the new text"] == 0 {
		t.Errorf("outcomes %v: one of the two was never seen", seen)
	}

	// After WriteFile returned, no power cut undoes it.
	d := oldFile(t)
	must.Do(t, write(d))
	for seed := range uint64(20) {
		if got := read(t, d.PowerCut(seed), "/a/file"); got != "the new text" {
			t.Errorf("power cut %d after WriteFile returned: %q", seed, got)
		}
	}
}

// TestDiskForgets checks that the disk in memory exposes each kind of missing sync.
func TestDiskForgets(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(d *durabletest.Disk) error
	}{
		{"bytes not synced", func(d *durabletest.Disk) error {
			f, err := d.Create("/a/new")
			if err != nil {
				return err
			}
			if _, err := f.Write([]byte("text")); err != nil {
				return err
			}
			return errors.Join(d.Rename("/a/new", "/a/file"), d.SyncDir("/a"))
		}},
		{"name not synced", func(d *durabletest.Disk) error {
			f, err := d.Create("/a/new")
			if err != nil {
				return err
			}
			if _, err := f.Write([]byte("text")); err != nil {
				return err
			}
			return errors.Join(f.Sync(), d.Rename("/a/new", "/a/file"))
		}},
	} {
		d := oldFile(t)
		must.Do(t, c.change(d))
		if got := read(t, d.PowerCut(0), "/a/file"); got == "text" {
			t.Errorf("%s: the text survived a power cut", c.name)
		}
		if got := read(t, d.Clone(), "/a/file"); got != "text" {
			t.Errorf("%s: a killed process lost the text: %q", c.name, got)
		}
	}
}

func TestWriteFileOnAFullDisk(t *testing.T) {
	for k := 1; k <= 7; k++ {
		d := oldFile(t)
		full := durabletest.WithHooks(d, durabletest.Hooks{Before: func(o durabletest.Op) error {
			if o.N == k {
				return &durabletest.Cut{Bytes: 3, Err: syscall.ENOSPC}
			}
			return nil
		}})
		err := durable.WriteFile(full, "/a/file", []byte("the new text"))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("operation %d: error %v does not say that the disk is full", k, err)
		}
		if got := read(t, d, "/a/file"); got != "old" && got != "the new text" {
			t.Errorf("operation %d: file holds %q", k, got)
		}
	}
}

func TestRetireIsAllOrNothing(t *testing.T) {
	fresh := func() *durabletest.Disk {
		d := durabletest.New()
		for _, dir := range []string{"/s", "/s/x"} {
			must.Do(t, d.Mkdir(dir))
		}
		for _, name := range []string{"/s/x/1", "/s/x/2", "/s/x/3"} {
			must.Do(t, durable.WriteFile(d, name, []byte("data")))
		}
		d.SyncAll()
		return d
	}
	afterEach(t, fresh, func(fsys durable.FS) error { return durable.Retire(fsys, "/s/x") },
		func(t *testing.T, what string, d *durabletest.Disk) {
			if names, err := d.ReadDir("/s/x"); err == nil && len(names) != 3 {
				t.Errorf("%s: half of it is left: %v", what, names)
			}
		})
}

func TestRealFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	fsys := durable.OS{}
	must.Do(t, durable.MkdirAll(fsys, dir))
	name := filepath.Join(dir, "file")
	for _, text := range []string{"one", "a longer two", ""} {
		must.Do(t, durable.WriteFile(fsys, name, []byte(text)))
		if got := read(t, fsys, name); got != text {
			t.Errorf("got %q, want %q", got, text)
		}
		if !durable.SameFile(fsys, name, []byte(text)) || durable.SameFile(fsys, name, []byte(text+"x")) {
			t.Errorf("SameFile is wrong for %q", text)
		}
	}
	must.Do(t, durable.WriteFile(fsys, name, []byte("123456")))
	if _, err := durable.ReadFile(fsys, name, 5); err == nil || !strings.Contains(err.Error(), "6 bytes") {
		t.Errorf("reading over the limit: %v", err)
	}
	if _, err := durable.ReadFile(fsys, dir, 5); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("reading a folder: %v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(name, link); err == nil {
		if _, err := durable.ReadFile(fsys, link, 100); err == nil {
			t.Error("a symbolic link was followed")
		}
		outside := filepath.Join(t.TempDir(), "keep")
		must.Do(t, os.MkdirAll(filepath.Join(outside, "me"), 0o777))
		must.Do(t, os.Symlink(outside, filepath.Join(dir, "escape")))
		must.Do(t, durable.RemoveTree(fsys, dir))
		if _, err := os.Lstat(filepath.Join(outside, "me")); err != nil {
			t.Errorf("RemoveTree followed a link: %v", err)
		}
	}
	if err := durable.RemoveTree(fsys, dir); err != nil {
		t.Errorf("removing what is gone: %v", err)
	}
	must.Do(t, durable.MkdirAll(fsys, name))
	must.Do(t, durable.WriteFile(fsys, filepath.Join(name, "f"), nil))
	if err := durable.MkdirAll(fsys, filepath.Join(name, "f")); err == nil ||
		!strings.Contains(err.Error(), "a file is in the way") {
		t.Errorf("a folder where a file is: %v", err)
	}
}

func TestHooksNameEveryOperation(t *testing.T) {
	d := durabletest.New()
	var got []string
	fsys := durabletest.WithHooks(d,
		durabletest.Hooks{After: func(o durabletest.Op) { got = append(got, o.Kind+" "+filepath.ToSlash(filepath.Base(o.Path))) }})
	must.Do(t, durable.MkdirAll(fsys, "/a"))
	must.Do(t, durable.WriteFile(fsys, "/a/f", []byte("x")))
	want := "mkdir a, syncdir /, create .tmp-f, write .tmp-f, sync .tmp-f, close .tmp-f, rename f, syncdir a"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("operations\n%s, want\n%s", s, want)
	}
	if _, err := fsys.Lstat("/a/g"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}
