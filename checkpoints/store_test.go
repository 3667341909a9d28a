package checkpoints_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
)

func stepsIn(t *testing.T, s *checkpoints.Store) (out []int64) {
	t.Helper()
	names := must.Get(s.List())(t)
	for i := range int64(1000) {
		if slices.Contains(names, checkpoints.StepName(i)) {
			out = append(out, i)
		}
	}
	if len(out) != len(names) {
		t.Fatalf("names %q", names)
	}
	return out
}

func TestPruning(t *testing.T) {
	for _, c := range []struct {
		keep int
		best int64
		want []int64
	}{
		{0, 3, []int64{1, 2, 3, 4, 5, 6}},
		{1, 3, []int64{3, 6}},
		{2, 3, []int64{3, 5, 6}},
		{2, 5, []int64{5, 6}},
		{3, 6, []int64{4, 5, 6}},
		{9, 1, []int64{1, 2, 3, 4, 5, 6}},
	} {
		d := durabletest.New()
		s := must.Get(openStore(d, storeDir))(t)
		for k := int64(1); k <= 6; k++ {
			w := must.Get(s.Create(checkpoints.StepName(k), header(checkpoints.Full, k)))(t)
			must.Do(t, fill(w, k))
			ck := must.Get(w.Commit())(t)
			must.Do(t, s.Publish(ck, k == c.best, c.keep))
		}
		if got := stepsIn(t, s); !slices.Equal(got, c.want) {
			t.Errorf("keep %d, best %d: %v are left, want %v", c.keep, c.best, got, c.want)
		}
		for _, k := range c.want {
			if _, err := expect(d, filepath.Join(storeDir, checkpoints.StepName(k))); err != nil {
				t.Errorf("keep %d: %v", c.keep, err)
			}
		}
	}
}

// TestResumingEarlier: a store continues from an older checkpoint, and the newer ones are removed.
func TestResumingEarlier(t *testing.T) {
	d := saved(t, 1, 2, 3, 6)
	s, err := openStore(d, storeDir)
	must.Do(t, err)
	must.Do(t, s.SetPointer(checkpoints.Latest, checkpoints.StepName(3)))
	if s, err = openStore(d, storeDir); err != nil {
		t.Fatal(err)
	}
	must.Do(t, save(s, 4, false))
	if got, want := stepsIn(t, s), []int64{1, 3, 4}; !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
	// A checkpoint of the same name that a crash left unpublished, with other content, is replaced.
	w, err := s.Create(checkpoints.StepName(5), header(checkpoints.Full, 99))
	must.Do(t, err)
	must.Do(t, fill(w, 5))
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	must.Do(t, save(s, 5, false))
	if k, err := expect(d, filepath.Join(storeDir, checkpoints.StepName(5))); k != 5 || err != nil {
		t.Errorf("step %d, %v", k, err)
	}
}

func TestPointers(t *testing.T) {
	d := saved(t, 1, 2)
	at, err := checkpoints.ReadPointer(d, storeDir, checkpoints.Best)
	if err != nil || at != filepath.Join(storeDir, checkpoints.StepName(1)) {
		t.Errorf("best is %s, %v", at, err)
	}
	s := must.Get(openStore(d, storeDir))(t)
	if err := s.SetPointer(checkpoints.Best, checkpoints.StepName(7)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("pointer to nothing: %v", err)
	}
	if err := s.SetPointer(checkpoints.Best, "../x"); err == nil {
		t.Error("pointer out of the folder")
	}
	// A pointer to a replaced or missing checkpoint is an error, and not the error of a missing pointer.
	one, two := filepath.Join(storeDir, checkpoints.StepName(1)), filepath.Join(storeDir, checkpoints.StepName(2))
	must.Do(t, errors.Join(d.Rename(one, "/aside"), d.Rename(two, one)))
	if _, err := checkpoints.ReadPointer(d, storeDir, checkpoints.Best); err == nil ||
		!strings.Contains(err.Error(), "another checkpoint has that name now") {
		t.Errorf("swapped: %v", err)
	}
	if _, err := checkpoints.ReadPointer(d, storeDir, checkpoints.Latest); err == nil ||
		!strings.Contains(err.Error(), "which is not there") || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("gone: %v", err)
	}
	must.Do(t, d.Remove(filepath.Join(storeDir, "best")))
	if _, err := checkpoints.ReadPointer(d, storeDir, checkpoints.Best); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no pointer: %v", err)
	}
	// A damaged pointer stops pruning: it is unknown which checkpoint it named.
	must.Do(t, durable.WriteFile(d, filepath.Join(storeDir, "best"), []byte("step-1\n")))
	must.Get(s.Create(checkpoints.StepName(3), header(checkpoints.Full, 3)))(t)
	if err := save(s, 3, false); err == nil || !strings.Contains(err.Error(), "best: damaged") {
		t.Errorf("pruning with a damaged pointer: %v", err)
	}
}

func TestFind(t *testing.T) {
	d := saved(t, 1, 2)
	want := filepath.Join(storeDir, checkpoints.StepName(2))
	for _, path := range []string{"/runs/a", storeDir, want} {
		if at, err := checkpoints.Find(d, path, checkpoints.Latest); err != nil || at != want {
			t.Errorf("%s means %s, %v", path, at, err)
		}
	}
	must.Do(t, errors.Join(durable.MkdirAll(d, "/runs/b/checkpoints"), durable.MkdirAll(d, "/other")))
	for path, want := range map[string]string{
		"/runs/b": "this run has no latest checkpoint yet",
		"/other":  "neither a checkpoint (no MANIFEST.sha256) nor a run folder (no checkpoints folder)",
		"/none":   "does not exist",
	} {
		if _, err := checkpoints.Find(d, path, checkpoints.Latest); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if _, err := checkpoints.Find(d, "/runs/b", checkpoints.Best); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no best yet: %v", err)
	}
	if _, err := checkpoints.Find(d, "/other", checkpoints.Best); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another folder: %v", err)
	}
}

// TestLeftoversAreSwept: OpenStore removes the unfinished folders and no others; checking removes nothing.
func TestLeftoversAreSwept(t *testing.T) {
	d := saved(t, 1, 2)
	for _, dir := range []string{".tmp-step-000000000003", ".old-step-000000000001"} {
		must.Do(t, errors.Join(durable.MkdirAll(d, filepath.Join(storeDir, dir)),
			durable.WriteFile(d, filepath.Join(storeDir, dir, "envs.bin"), nil)))
	}
	if r, err := checkpoints.CheckFS(d, "/runs/a"); r == nil {
		t.Fatal(err)
	}
	if entries, err := d.ReadDir(storeDir); err != nil || len(entries) != 6 {
		t.Errorf("reading changed the folder: %v, %v", entries, err)
	}
	must.Get(checkpoints.OpenStore(d, storeDir))(t)
	if entries, err := d.ReadDir(storeDir); err != nil || len(entries) != 4 {
		t.Errorf("left are %v, %v", entries, err)
	}
}
