package checkpoints_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
)

// files returns the small checkpoint of step 5 that is damaged below: its folder and the bytes of its files.
func files(t *testing.T, d *durabletest.Disk) (dir string, data map[string][]byte) {
	t.Helper()
	dir = filepath.Join(storeDir, checkpoints.StepName(5))
	entries, err := d.ReadDir(dir)
	must.Do(t, err)
	data = map[string][]byte{}
	for _, e := range entries {
		if data[e.Name()], err = durable.ReadFile(d, filepath.Join(dir, e.Name()), 1<<20); err != nil {
			t.Fatal(err)
		}
	}
	return dir, data
}

// refused checks that a damaged checkpoint is refused with the folder and the file's name.
func refused(t *testing.T, d *durabletest.Disk, dir, what string) {
	t.Helper()
	_, err := checkpoints.OpenFS(d, dir)
	var r *checkpoints.RefusedError
	if !errors.As(err, &r) || !strings.Contains(err.Error(), dir) || !r.Foreign && r.File == "" {
		t.Fatalf("%s: %v, want a refusal that names the folder and the file", what, err)
	}
}

func TestEveryByteFlippedIsRefused(t *testing.T) {
	d := saved(t, 5)
	dir, data := files(t, d)
	if len(data) < 8 {
		t.Fatalf("only %d files", len(data))
	}
	total := 0
	for name, raw := range data {
		path := filepath.Join(dir, name)
		for i := range raw {
			// One bit each of the kinds that matter: the lowest, the one that changes a letter's case, the highest; and all.
			for _, mask := range []byte{0x01, 0x20, 0x80, 0xff} {
				bad := slices.Clone(raw)
				bad[i] ^= mask
				must.Do(t, d.Set(path, bad))
				refused(t, d, dir, name)
				total++
			}
		}
		must.Do(t, d.Set(path, raw))
	}
	if _, err := expect(d, dir); err != nil {
		t.Fatalf("mended again: %v", err)
	}
	t.Logf("%d flips in %d files refused", total, len(data))

	// Pointers too: no flip may lead to a checkpoint.
	for _, p := range []checkpoints.Pointer{checkpoints.Latest} {
		path := filepath.Join(storeDir, string(p))
		raw := must.Get(durable.ReadFile(d, path, 1000))(t)
		for i := range raw {
			for bit := range 8 {
				bad := slices.Clone(raw)
				bad[i] ^= 1 << bit
				must.Do(t, d.Set(path, bad))
				if at, err := checkpoints.ReadPointer(d, storeDir, p); err == nil {
					t.Errorf("pointer %q leads to %s", bad, at)
				}
			}
			must.Do(t, d.Set(path, raw[:i]))
			if at, err := checkpoints.ReadPointer(d, storeDir, p); err == nil {
				t.Errorf("pointer %q leads to %s", raw[:i], at)
			}
		}
	}
}

func TestEveryCutIsRefused(t *testing.T) {
	d := saved(t, 5)
	dir, data := files(t, d)
	for name, raw := range data {
		path := filepath.Join(dir, name)
		for n := range raw {
			must.Do(t, d.Set(path, raw[:n]))
			refused(t, d, dir, name)
		}
		must.Do(t, d.Set(path, append(slices.Clone(raw), 0)))
		refused(t, d, dir, name)
		must.Do(t, d.Set(path, raw))
		// A missing file, and an unlisted one in its place.
		must.Do(t, d.Rename(path, path+"2"))
		refusedSomehow(t, d, dir, "without "+name)
		must.Do(t, d.Rename(path+"2", path))
	}
	must.Do(t, durable.WriteFile(d, filepath.Join(dir, "extra.bin"), nil))
	refused(t, d, dir, "a file too many")
	must.Do(t, d.Remove(filepath.Join(dir, "extra.bin")))
	must.Do(t, errors.Join(d.Remove(filepath.Join(dir, checkpoints.EnvsFile)),
		d.Mkdir(filepath.Join(dir, checkpoints.EnvsFile))))
	refused(t, d, dir, "a folder for a file")
}

func refusedSomehow(t *testing.T, d *durabletest.Disk, dir, what string) {
	t.Helper()
	var r *checkpoints.RefusedError
	if _, err := checkpoints.OpenFS(d, dir); !errors.As(err, &r) {
		t.Errorf("%s: %v", what, err)
	}
}

// TestRefusalsSayWhy: each reason for which a folder is no checkpoint has its error.
func TestRefusalsSayWhy(t *testing.T) {
	write := func(d *durabletest.Disk, name, text string) {
		t.Helper()
		must.Do(t, durable.MkdirAll(d, filepath.Dir(name)))
		must.Do(t, durable.WriteFile(d, name, []byte(text)))
	}
	// resum makes MANIFEST.sha256 agree with an edited manifest.
	edit := func(d *durabletest.Disk, old, with string) {
		t.Helper()
		dir, data := files(t, d)
		text := strings.Replace(string(data[checkpoints.ManifestFile]), old, with, 1)
		if text == string(data[checkpoints.ManifestFile]) {
			t.Fatalf("no %q in the manifest", old)
		}
		sums := strings.Replace(string(data[checkpoints.SumsFile]), checkpoints.Hash(data[checkpoints.ManifestFile]),
			checkpoints.Hash([]byte(text)), 1)
		write(d, filepath.Join(dir, checkpoints.ManifestFile), text)
		write(d, filepath.Join(dir, checkpoints.SumsFile), sums)
	}
	step := filepath.Join(storeDir, checkpoints.StepName(5))
	for _, c := range []struct {
		name    string
		harm    func(d *durabletest.Disk)
		dir     string
		foreign bool
		want    string
	}{
		{"nothing there", func(*durabletest.Disk) {}, "/nowhere", true, "does not exist"},
		{"a file", func(d *durabletest.Disk) { write(d, "/x/f", "") }, "/x/f", true, "not a folder"},
		{"another program's", func(d *durabletest.Disk) { write(d, "/x/model.pt", "") }, "/x", true,
			"it has no MANIFEST.sha256: not a Stoker checkpoint"},
		{"other sums", func(d *durabletest.Disk) {
			write(d, "/x/a", "a")
			write(d, "/x/MANIFEST.sha256", checkpoints.Hash([]byte("a"))+"  a\n")
		}, "/x", true, "does not list manifest.json: not a Stoker checkpoint"},
		{"never finished", func(d *durabletest.Disk) {
			must.Do(t, d.Remove(step+"/MANIFEST.sha256"))
		}, step, false, "never finished"},
		{"temporary name", func(d *durabletest.Disk) {
			must.Do(t, d.Rename(step, storeDir+"/.tmp-x"))
		}, storeDir + "/.tmp-x", false, "never finished or is being removed"},
		{"newer format", func(d *durabletest.Disk) { edit(d, `"version": 2`, `"version": 3`) }, step, false,
			"made by a newer Stoker (format 3); this one reads format 2: use a newer release"},
		{"older format", func(d *durabletest.Disk) { edit(d, `"version": 2`, `"version": 1`) }, step, false,
			"made by an older Stoker (format 1); this one reads format 2: train again, or use the release that made it"},
		{"no format", func(d *durabletest.Disk) { edit(d, `"version": 2`, `"version": 0`) }, step, false, "format 0"},
		{"other format", func(d *durabletest.Disk) { edit(d, `stoker-checkpoint`, `x`) }, step, false, `format is "x"`},
		{"other kind", func(d *durabletest.Disk) { edit(d, `"kind": "full"`, `"kind": "fool"`) }, step, false,
			`kind is "fool"`},
		{"full called policy", func(d *durabletest.Disk) { edit(d, `"kind": "full"`, `"kind": "policy"`) }, step, false,
			"kind is policy, but it holds an optimiser"},
		{"unknown key", func(d *durabletest.Disk) { edit(d, `"kind":`, `"mind": 1, "kind":`) }, step, false,
			`unknown field "mind"`},
		{"key twice", func(d *durabletest.Disk) { edit(d, `"kind":`, `"kind": "full", "kind":`) }, step, false,
			"it has been edited"},
		{"counter is a fraction", func(d *durabletest.Disk) { edit(d, `"steps": 5`, `"steps": 5.5`) }, step, false,
			"cannot unmarshal"},
		{"no manifest at all", func(d *durabletest.Disk) { edit(d, `{`, `[`) }, step, false,
			"is not a checkpoint's manifest"},
		{"replay too short", func(d *durabletest.Disk) { edit(d, `"total": 35`, `"total": 36`) }, step, false, "is missing"},
		{"replay rows of no length", func(d *durabletest.Disk) { edit(d, `"row_bytes": 6`, `"row_bytes": 0`) }, step, false,
			"is not a replay"},
		{"replay without end", func(d *durabletest.Disk) {
			edit(d, `"capacity": 20`, `"capacity": 9223372036854775807`)
		}, step, false, "is missing"},
	} {
		d := saved(t, 5)
		c.harm(d)
		_, err := checkpoints.OpenFS(d, c.dir)
		var r *checkpoints.RefusedError
		if !errors.As(err, &r) || !strings.Contains(err.Error(), c.want) || r.Foreign != c.foreign {
			t.Errorf("%s: %v, want %q (foreign %v)", c.name, err, c.want, c.foreign)
		}
	}
}

// TestDamageWhileOpen: bytes that change after Open are detected when they are read.
func TestDamageWhileOpen(t *testing.T) {
	d := saved(t, 5)
	dir, data := files(t, d)
	c, err := checkpoints.OpenFS(d, dir)
	must.Do(t, err)
	for name, raw := range data {
		bad := slices.Clone(raw)
		bad[len(bad)-5] ^= 1
		must.Do(t, d.Set(filepath.Join(dir, name), bad))
	}
	for name := range c.Files() {
		if _, err := c.Read(name); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err = c.ReplayRows("replay", func(int64, []byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), ".seg-") {
		t.Errorf("replay: %v", err)
	}
	if _, err := c.Read("other.bin"); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("a file that is not there: %v", err)
	}
	mine := errors.New("mine")
	d = saved(t, 5)
	if c, err = checkpoints.OpenFS(d, dir); err != nil {
		t.Fatal(err)
	}
	if err := c.ReplayRows("replay", func(int64, []byte) error { return mine }); !errors.Is(err, mine) ||
		err.Error() != "mine" {
		t.Errorf("the caller's error came back as %v", err)
	}
	if err := c.ReplayRows("other", func(int64, []byte) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), `no replay "other"`) {
		t.Errorf("another replay: %v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	d := saved(t, 5)
	s := must.Get(openStore(d, storeDir))(t)
	good := header(checkpoints.Full, 6)
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"config is no JSON", func() error {
			h := good
			h.Config = json.RawMessage("a: 1")
			_, err := s.Create("x", h)
			return err
		}, "config is not a JSON value"},
		{"no kind", func() error {
			h := good
			h.Kind = ""
			_, err := s.Create("x", h)
			return err
		}, `kind is "", want "full" or "policy"`},
		{"a pointer's name", func() error { _, err := s.Create("latest", good); return err }, "not a pointer's name"},
		{"a path", func() error { _, err := s.Create("../x", good); return err }, `checkpoint name "../x"`},
		{"no weights", func() error {
			w, err := s.Create("x", good)
			if err != nil {
				return err
			}
			defer w.Abort()
			_, err = w.Commit()
			return err
		}, "no weights.safetensors"},
		{"a file twice", func() error {
			w, err := s.Create("x", good)
			if err != nil {
				return err
			}
			defer w.Abort()
			return errors.Join(w.Blob("a.bin", nil), w.Blob("a.bin", nil))
		}, "a.bin: was written already"},
		{"the manifest's name", func() error {
			w, err := s.Create("x", good)
			if err != nil {
				return err
			}
			defer w.Abort()
			return w.Blob("manifest.json", nil)
		}, "the manifest's own"},
		{"a segment's name", func() error {
			w, err := s.Create("x", good)
			if err != nil {
				return err
			}
			defer w.Abort()
			return w.Blob("a.seg-1-2.bin", nil)
		}, "reserved for replay segments"},
		{"replay that gives too little", func() error {
			w, err := s.Create("x", good)
			if err != nil {
				return err
			}
			defer w.Abort()
			return w.Replay("r", checkpoints.Replay{RowBytes: 4, Total: 3, Capacity: 3,
				Append: func(dst []byte, _ int64, _ int) ([]byte, error) { return append(dst, 1), nil }})
		}, "rows 0 to 2: 1 bytes came, want 12"},
		{"policy with an optimiser", func() error {
			w, err := s.Create("x", header(checkpoints.Policy, 6))
			if err != nil {
				return err
			}
			defer w.Abort()
			if err := fill(w, 6); err != nil {
				return err
			}
			_, err = w.Commit()
			return err
		}, "kind is policy, but it holds an optimiser"},
		{"after the end", func() error {
			w, err := s.Create("x", good)
			if err != nil {
				return err
			}
			if err := w.Abort(); err != nil {
				return err
			}
			return w.Blob("a.bin", nil)
		}, "committed or aborted already"},
		{"another checkpoint of a name that a pointer has", func() error {
			w, err := s.Create(checkpoints.StepName(5), good)
			if err != nil {
				return err
			}
			defer w.Abort()
			if err := fill(w, 6); err != nil {
				return err
			}
			_, err = w.Commit()
			return err
		}, "exists already with other content, and a pointer names it"},
		{"a folder that is there", func() error {
			_, err := checkpoints.Create(d, filepath.Join(storeDir, checkpoints.StepName(5)), good)
			return err
		}, "exists already"},
	} {
		if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if names, err := d.ReadDir(storeDir); err != nil || len(names) != 2 {
		t.Errorf("refusals left %v, %v", names, err)
	}
	// Saving the same content again is no error.
	if err := save(s, 5, false); err != nil {
		t.Errorf("the same checkpoint again: %v", err)
	}
}
