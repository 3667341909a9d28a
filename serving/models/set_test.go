package models_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/serving/models"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/policy/policytest"
)

func open(data []byte) (models.Policy, error) {
	p, err := policy.OpenBytes(data, policy.Options{})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// some are bundles of one policy with different digests.
func some(t *testing.T, n int) (all [][]byte) {
	t.Helper()
	f := policytest.Zoo(t, "hops-pricer", 10)
	for i := range n {
		f.Provenance.Steps = int64(i + 1)
		all = append(all, policytest.Encode(t, f))
	}
	return all
}

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path+".new", data, 0o600))
	must.Do(t, os.Rename(path+".new", path))
}

// Bundles of a folder are found, taken over when they change and looked the same twice, and dropped at Reload.
func TestFolder(t *testing.T) {
	dir, all := t.TempDir(), some(t, 3)
	put(t, filepath.Join(dir, "a.stoker"), all[0])
	put(t, filepath.Join(dir, "not a name.stoker"), all[0])
	put(t, filepath.Join(dir, "notes.txt"), []byte("x"))
	var events []models.Event
	s, err := models.NewSet(nil, models.Options{Open: open, Folder: dir, MaxBytes: 1 << 20, Tell: func(e models.Event) { events = append(events, e) }})
	if err != nil || !slices.Equal(s.Names(), []string{"a"}) {
		t.Fatalf("%v, %v", s, err)
	}
	version := func(name string) string {
		v, err := s.Acquire(name, "")
		if err != nil {
			return err.Error()
		}
		defer v.Release()
		return v.Digest
	}
	s.Poll()
	if len(events) != 2 || !strings.Contains(events[0].Err.Error(), "not a name.stoker is not served: its name is no model's") {
		t.Errorf("a file whose name is no model's: %v, want it told of once", events)
	}
	put(t, filepath.Join(dir, "b.stoker"), all[1])
	put(t, filepath.Join(dir, "a.stoker"), all[2])
	s.Poll()
	if version("a") != bundle.Digest(all[0]) {
		t.Error("a file that was seen once has been taken: it may be being written")
	}
	s.Poll()
	if version("a") != bundle.Digest(all[2]) || version("b") != bundle.Digest(all[1]) {
		t.Errorf("after a change: %s, %s", version("a"), version("b"))
	}
	if err := s.Unload("b"); err != nil || !strings.Contains(version("b"), "the models are a") {
		t.Errorf("unloaded: %v, %s", err, version("b"))
	}
	put(t, filepath.Join(dir, "b.stoker"), all[0])
	s.Poll()
	s.Poll()
	if !slices.Equal(s.Names(), []string{"a"}) {
		t.Error("an unloaded model came back by itself")
	}
	for _, data := range [][]byte{[]byte("cut"), all[0]} { // nor where its file had been refused before
		put(t, filepath.Join(dir, "b.stoker"), data)
		err, refused := s.Load("b"), len(data) < 10
		if (err != nil) != refused || s.Unload("b") != nil || s.Index()[1].Reason != "unloaded" {
			t.Errorf("load and unload of %d bytes: %v, %+v", len(data), err, s.Index())
		}
		put(t, filepath.Join(dir, "b.stoker"), all[1])
		s.Poll()
		s.Poll()
		if !slices.Equal(s.Names(), []string{"a"}) {
			t.Error("an unloaded model came back by itself after its file was refused")
		}
	}
	put(t, filepath.Join(dir, "b.stoker"), all[0])
	if err := s.Load("b"); err != nil || version("b") != bundle.Digest(all[0]) {
		t.Errorf("loaded: %v, %s", err, version("b"))
	}
	must.Do(t, os.Remove(filepath.Join(dir, "a.stoker")))
	s.Poll()
	if version("a") != bundle.Digest(all[2]) {
		t.Error("a model whose file is gone has stopped by itself")
	}
	if err := s.Reload(); err != nil || !slices.Equal(s.Names(), []string{"b"}) {
		t.Errorf("after Reload: %v, %v", s.Names(), err)
	}
	if len(events) == 0 || events[len(events)-1].Now != nil && events[len(events)-1].Model != "b" {
		t.Errorf("events %+v", events)
	}
}

// A digest that is asked for holds at the start and at every change, and an old version is not served any more.
func TestDigest(t *testing.T) {
	path, all := filepath.Join(t.TempDir(), "a.stoker"), some(t, 2)
	put(t, path, all[0])
	if _, err := models.NewSet([]models.Spec{{"a", path, bundle.Digest(all[1])}}, models.Options{Open: open, MaxBytes: 1 << 20}); err == nil ||
		!strings.Contains(err.Error(), "its digest is sha256:"+bundle.Digest(all[0])+", want sha256:"+bundle.Digest(all[1])) {
		t.Errorf("another digest: %v", err)
	}
	s := must.Get(models.NewSet([]models.Spec{{"a", path, bundle.Digest(all[0])}}, models.Options{Open: open, MaxBytes: 1 << 20}))(t)
	put(t, path, all[1])
	if err := s.Reload(); err == nil || s.Index()[0].Version != bundle.Digest(all[0]) ||
		!strings.HasSuffix(err.Error(), s.Index()[0].Reason) {
		t.Errorf("%v, %+v", err, s.Index())
	}
	var unknown *models.Unknown
	if _, err := s.Acquire("a", bundle.Digest(all[1])); !errors.As(err, &unknown) {
		t.Errorf("a version that is not served: %v", err)
	}
	if _, err := models.NewSet([]models.Spec{{Name: "a", Path: path}}, models.Options{Open: open, MaxBytes: 100}); err == nil ||
		!strings.Contains(err.Error(), "bytes, want at most 100") {
		t.Errorf("a file that is too large: %v", err)
	}
	if _, err := models.NewSet([]models.Spec{{Name: "a", Path: filepath.Dir(path)}}, models.Options{Open: open, MaxBytes: 100}); err == nil ||
		!strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestParseSpec(t *testing.T) {
	hex := strings.Repeat("0a", 32)
	for text, want := range map[string]models.Spec{
		"x/faasconf.stoker":          {"faasconf", "x/faasconf.stoker", ""},
		"sizing=x/faasconf.stoker":   {"sizing", "x/faasconf.stoker", ""},
		"a=b=c.stoker@sha256:" + hex: {"a", "b=c.stoker", hex},
		"./b=c.stoker":               {"", "", ""}, // the path's name is no model's
		"m=./b=c.stoker":             {"m", "./b=c.stoker", ""},
		"a=":                         {},
		"@sha256:" + hex:             {},
		"a.stoker@sha256:" + strings.ToUpper(hex): {},
		"a b=c.stoker": {},
		strings.Repeat("n", 200) + "=faasconf.json": {},
	} {
		got, err := models.ParseSpec(text)
		if want == (models.Spec{}) != (err != nil) || err == nil && got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
}
