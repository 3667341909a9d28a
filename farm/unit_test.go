package farm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/farmtest"
	"github.com/stoker-rl/stoker/internal/must"
)

// A key is that of what shapes results: not of the name, of the order of keys, or of spaces.
func TestKey(t *testing.T) {
	u := farmtest.Unit("u", 1)
	for what, change := range map[string]func(u *farm.Unit){
		"kind": func(u *farm.Unit) { u.Kind = "evaluate" }, "seed": func(u *farm.Unit) { u.Seed++ },
		"config":   func(u *farm.Unit) { u.Config = []byte(`{"train": {"steps": 41}}`) },
		"inputs":   func(u *farm.Unit) { u.Inputs = map[string]farm.Hash{"a": farm.HashOf(nil)} },
		"until":    func(u *farm.Unit) { u.Until = 7 },
		"revision": func(u *farm.Unit) { u.Revision = "s" }, "kernels": func(u *farm.Unit) { u.Kernels = "go" },
	} {
		v := u
		change(&v)
		if v.Key() == u.Key() {
			t.Errorf("another %s gives the same key", what)
		}
	}
	v := u
	v.Name, v.Config = "v", []byte("{\"train\":\n{\"steps\":40}}")
	if v.Key() != u.Key() {
		t.Error("the name or spaces change the key")
	}
	// Seeds have 64 bits: no float64 on the way.
	u.Config, v.Config = []byte(`{"seed": 18446744073709551615}`), []byte(`{"seed": 18446744073709551614}`)
	if v.Key() == u.Key() {
		t.Error("large numbers are rounded")
	}
}

var wrongUnits = map[string]string{
	`{"kind": "shell"}`:                                       "kind: is \"shell\", want train",
	`{"kind": "train", "command": "rm"}`:                      "unknown field",
	`{"kind": "train", "config": []}`:                         "config: is no JSON object",
	`{"kind": "train", "config": null}`:                       "config: is no JSON object",
	`{"kind": "train", "name": "../a", "config": {}}`:         "name: is no name of a folder",
	`{"kind": "train", "name": ".ssh", "config": {}}`:         "name: is no name of a folder",
	`{"kind": "train", "name": "a/b", "config": {}}`:          "name: is no name of a folder",
	`{"kind": "train", "until": -1, "config": {}}`:            "until: is -1, want at least 0",
	`{"kind": "train", "config": {}} {}`:                      "more than one JSON value",
	`{"kind": "train", "inputs": {"/etc/x": ""}}`:             "want a name within a folder",
	`{"kind": "train", "inputs": {"a/../../x": ""}}`:          "want a name within a folder",
	`{"kind": "train", "inputs": {"a": "12"}}`:                "want 64 hexadecimal digits",
	`{"kind": "train", "x": "` + strings.Repeat("a", 600_000): "want at most 524288",
}

func TestWrongUnits(t *testing.T) {
	for text, want := range wrongUnits {
		if _, err := farm.ParseUnit([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error %v, want %q", text, err, want)
		}
	}
}

// What is read is what would be written, and has one key; nothing that leads out of a folder is read.
func FuzzUnit(f *testing.F) {
	for text := range wrongUnits {
		f.Add([]byte(text))
	}
	u := farmtest.Unit("u", 1)
	u.Inputs = map[string]farm.Hash{"a/b": farm.HashOf(nil)}
	f.Add(must.Get(json.Marshal(u))(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		u, err := farm.ParseUnit(b)
		if err != nil {
			return
		}
		again := must.Get(farm.ParseUnit(must.Get(json.Marshal(u))(t)))(t)
		if again.Key() != u.Key() {
			t.Errorf("%s: written and read, the key is another", b)
		}
		for name := range u.Inputs {
			if strings.Contains("/"+name+"/", "/../") || name[0] == '/' {
				t.Errorf("%s is read", name)
			}
		}
	})
}

func FuzzResult(f *testing.F) {
	for _, text := range wrongResults {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := farm.ParseResult(b)
		if err != nil {
			return
		}
		if err := farm.Same(*r, *r); err != nil {
			t.Errorf("a result differs from itself: %v", err)
		}
	})
}

const zero = "0000000000000000000000000000000000000000000000000000000000000000"

var wrongResults = map[string]string{
	"64 hexadecimal":              `{"key": "x"}`,
	"bytes.d":                     `{"key": "` + zero + `", "files": [{"name": "bytes.d"}]}`,
	"want a name within a folder": `{"key": "` + zero + `", "files": [{"name": "../a", "sha256": "` + zero + `"}]}`,
	"is there twice": `{"key": "` + zero + `", "files": [{"name": "a", "sha256": "` + zero + `"}], "beside": [{"name": "A", "sha256": "` +
		zero + `"}]}`,
	"more than 1073741824 bytes": `{"key": "` + zero + `", "files": [{"name": "a", "sha256": "` + zero + `", "size": 9999999999}]}`,
}

func TestWrongResults(t *testing.T) {
	for want, text := range wrongResults {
		if _, err := farm.ParseResult([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// A conflict names the file; what can't be compared is none.
func TestSame(t *testing.T) {
	one := farm.Result{Worker: "a", Name: "u", Files: []farm.File{{Name: "metrics.jsonl", Hash: farm.HashOf(nil)}}}
	two := farm.Result{Worker: "b", Name: "u", Files: []farm.File{{Name: "metrics.jsonl", Hash: farm.HashOf([]byte("x"))}}}
	var c *farm.Conflict
	if err := farm.Same(one, two); !errors.As(err, &c) || !strings.Contains(err.Error(), "a and b") ||
		!strings.Contains(err.Error(), "metrics.jsonl has SHA-256") {
		t.Errorf("%v", err)
	}
	two.Files = nil
	if err := farm.Same(one, two); err == nil {
		t.Error("a missing file is no difference")
	}
	two.Inexact = true
	if err := farm.Same(one, two); err != nil {
		t.Errorf("inexact: %v", err)
	}
	failed := farm.Result{Worker: "b", Error: "diverged"}
	if err := farm.Same(one, failed); err == nil {
		t.Error("a failure is no difference")
	}
	// An error's text may name the worker's folder.
	if err := farm.Same(failed, farm.Result{Worker: "c", Error: "diverged in c"}); err != nil {
		t.Error(err)
	}
}

func TestRefuses(t *testing.T) {
	u := farmtest.Unit("u", 1)
	if err := u.Refuses("r", "k"); err != nil {
		t.Error(err)
	}
	if err := u.Refuses("r", "go"); err == nil || !strings.Contains(err.Error(), "kernel family is k, this worker's is go") {
		t.Error(err)
	}
	if err := u.Refuses("s", "k"); err == nil || !strings.Contains(err.Error(), "revision is r, this worker's is s") {
		t.Error(err)
	}
}
