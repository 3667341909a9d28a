package checkpoints_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
)

// run returns a disk with a whole run folder: logs, two checkpoints that name their place in metrics.jsonl, pointers.
func wholeRun(t *testing.T) *durabletest.Disk {
	t.Helper()
	d := durabletest.New()
	must.Do(t, durable.MkdirAll(d, "/r"))
	must.Do(t, durable.WriteFile(d, "/r/run.json", []byte(`{"config": {}}`)))
	log := must.Get(durable.OpenLog(d, "/r/metrics.jsonl"))(t)
	s := must.Get(checkpoints.OpenStore(d, "/r/checkpoints"))(t)
	for k := int64(1); k <= 2; k++ {
		must.Do(t, log.Append([]byte(`{"rollout/ep_rew_mean":1.5}`)))
		h := header(checkpoints.Full, k)
		h.Counters[checkpoints.MetricsOffset] = log.Offset()
		h.Counters[checkpoints.MetricsChecksum] = int64(log.Checksum())
		w := must.Get(s.Create(checkpoints.StepName(k), h))(t)
		must.Do(t, fill(w, k))
		c := must.Get(w.Commit())(t)
		must.Do(t, s.Publish(c, k == 1, keep))
	}
	return d
}

func TestCheckARun(t *testing.T) {
	write := func(name, text string) func(*durabletest.Disk) error {
		return func(d *durabletest.Disk) error { return durable.WriteFile(d, name, []byte(text)) }
	}
	line := `{"rollout/ep_rew_mean":1.5}` + "\n"
	step1 := "/r/checkpoints/" + checkpoints.StepName(1)
	for _, c := range []struct {
		name string
		harm func(*durabletest.Disk) error
		ok   bool
		want string // a line of the report
	}{
		{"sound", nil, true, "ok       latest: names step-000000000002"},
		{"sound", nil, true, "ok       metrics.jsonl: 2 lines"},
		{"sound", nil, true, "ok       step-000000000001/weights.safetensors: 1 tensors, 4 numbers"},
		{"sound", nil, true, "ok       step-000000000002/replay replay: 14 rows of 6 bytes, numbers 0 to 13"},
		{"sound", nil, true, "note     timing.jsonl: there is none"},
		{"sound", nil, true, "/r (run): sound"},
		{"torn line", write("/r/metrics.jsonl", line+line+`{"a`), true,
			"note     metrics.jsonl: line 3 is torn after 3 bytes (resume cuts it)"},
		{"bad line", write("/r/metrics.jsonl", line+line+"nan\n"), false,
			"problem  metrics.jsonl: line 3: is not a JSON object"},
		{"half a line", write("/r/metrics.jsonl", line+line+`{"a":}`+"\n"), false,
			"problem  metrics.jsonl: line 3: is not a JSON object: invalid character"},
		{"lines missing", write("/r/metrics.jsonl", line), false,
			"problem  step-000000000002: was taken with 56 bytes of metrics.jsonl, which has 28: lines are missing"},
		{"a changed line", write("/r/metrics.jsonl", strings.Replace(line, "1", "2", 1)+line), false,
			"problem  step-000000000001: was taken with 28 bytes of metrics.jsonl that have changed since: damaged"},
		{"another log", write("/r/metrics.jsonl", "{}\n"+line+line), false,
			"problem  step-000000000001: names offset 28 of metrics.jsonl, which is inside a line"},
		{"no log", func(d *durabletest.Disk) error { return d.Remove("/r/metrics.jsonl") }, false,
			"problem  step-000000000001: was taken with 28 bytes of metrics.jsonl, which is not there"},
		{"no checkpoints", func(d *durabletest.Disk) error { return durable.RemoveTree(d, "/r/checkpoints") }, false,
			"problem  checkpoints: there are none, although metrics.jsonl has steps"},
		{"damaged file", write(step1+"/envs.bin", "environment after 7 steps"), false,
			"problem  step-000000000001/envs.bin: its hash is not the recorded one: damaged"},
		{"damaged pointer", write("/r/checkpoints/best", "x"), false, "problem  best: pointer /r/checkpoints/best: damaged"},
		{"stranger", write("/r/checkpoints/notes.txt", "x"), false, "problem  checkpoints/notes.txt: does not belong here"},
		{"leftover", write("/r/checkpoints/.tmp-best", "x"), true, "note     checkpoints/.tmp-best: not finished"},
		{"no run.json", func(d *durabletest.Disk) error { return d.Remove("/r/run.json") }, false, "problem  run.json:"},
		{"changed run.json", write("/r/run.json", `{"config": {}, "crc32c": "00000000"}`), false,
			"problem  run.json: its checksum is d058d154, recorded is 00000000: damaged or edited"},
		{"empty run.json", write("/r/run.json", ""), false, "problem  run.json: is not a JSON object"},
	} {
		d := wholeRun(t)
		if c.harm != nil {
			must.Do(t, c.harm(d))
		}
		r, err := checkpoints.CheckFS(d, "/r")
		if r == nil {
			t.Errorf("%s: no report: %v", c.name, err)
			continue
		}
		if r.OK != c.ok || (err == nil) != c.ok || !strings.Contains(filepath.ToSlash(r.String()), c.want) {
			t.Errorf("%s: want %q (ok %v) in\n%s", c.name, c.want, c.ok, r)
		}
	}
}

func TestCheckOneThing(t *testing.T) {
	d := wholeRun(t)
	c := must.Get(checkpoints.OpenFS(d, "/r/checkpoints/"+checkpoints.StepName(2)))(t)
	must.Get(checkpoints.ExportPolicy(c, d, "/policy", checkpoints.EnvsFile))(t)
	must.Do(t, durable.MkdirAll(d, "/other"))
	for _, k := range []struct{ path, kind, want string }{
		{c.Dir(), "checkpoint",
			"ok       manifest.json: full, version 2, made by stoker test, kernels native/go, metrics_crc32c 3260889430, metrics_offset 56, steps 2, updates 6"},
		{"/policy", "policy", "ok       weights.safetensors: 1 tensors, 4 numbers"},
		{c.Dir() + "/weights.safetensors", "safetensors", "ok       weights.safetensors: 1 tensors, 4 numbers"},
	} {
		r, err := checkpoints.CheckFS(d, k.path)
		if err != nil || !r.OK || r.Kind != k.kind || !strings.Contains(r.String(), k.want) {
			t.Errorf("%s: kind %q, %v, want %q in\n%s", k.path, r.Kind, err, k.want, r)
		}
		b, err := json.Marshal(r)
		if err != nil || !strings.Contains(string(b), `"ok":true,"findings":[{"status":"ok"`) {
			t.Errorf("as JSON: %s, %v", b, err)
		}
	}
	for path, want := range map[string]string{"/other": "cannot be checked", "/none": "does not exist"} {
		if r, err := checkpoints.CheckFS(d, path); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	must.Do(t, d.Set("/policy/weights.safetensors", []byte("x")))
	for path, want := range map[string]string{"/policy": "problem  weights.safetensors: has 1 bytes, want",
		"/policy/weights.safetensors": "problem  weights.safetensors: safetensors: file has 1 bytes"} {
		if r, err := checkpoints.CheckFS(d, path); r == nil || err == nil || r.OK || !strings.Contains(r.String(), want) {
			t.Errorf("%s: %v, want %q in\n%s", path, err, want, r)
		}
	}
}

func TestExportPolicy(t *testing.T) {
	d := saved(t, 5)
	c := must.Get(checkpoints.OpenFS(d, filepath.Join(storeDir, checkpoints.StepName(5))))(t)
	must.Get(checkpoints.ExportPolicy(c, d, "/policy"))(t)
	p := must.Get(checkpoints.OpenFS(d, "/policy"))(t)
	h := p.Header()
	if h.Kind != checkpoints.Policy || len(h.Random) != 0 || h.Counters["steps"] != 5 || len(p.Files()) != 1 {
		t.Errorf("policy is %+v with %v", h, p.Files())
	}
	if c.Header().Kind != checkpoints.Full || len(c.Header().Random) == 0 {
		t.Error("exporting changed the checkpoint")
	}
	a, errA := c.Read(checkpoints.WeightsFile)
	b, errB := p.Read(checkpoints.WeightsFile)
	if string(a) != string(b) || errA != nil || errB != nil {
		t.Errorf("weights differ: %v, %v", errA, errB)
	}
	if _, err := checkpoints.ExportPolicy(c, d, "/policy"); err == nil ||
		!strings.Contains(err.Error(), "exists already") {
		t.Errorf("exporting twice: %v", err)
	}
	if _, err := checkpoints.ExportPolicy(c, d, "/other", "missing.bin"); err == nil ||
		!strings.Contains(err.Error(), "missing.bin") {
		t.Errorf("a file that is not there: %v", err)
	}
	if entries, err := d.ReadDir("/"); err != nil || len(entries) != 2 {
		t.Errorf("left on the disk: %v, %v", entries, err)
	}
}

// TestForeignFilesOnARealDisk: links and folders in place of files, which the disk in memory does not have.
func TestForeignFilesOnARealDisk(t *testing.T) {
	dir := t.TempDir()
	s := must.Get(openStore(durable.OS{}, dir))(t)
	must.Do(t, save(s, 1, true))
	at := filepath.Join(dir, checkpoints.StepName(1))
	if k, err := expect(durable.OS{}, at); k != 1 || err != nil {
		t.Fatalf("step %d, %v", k, err)
	}
	// A link is refused: its target could change after the hash was checked.
	file := filepath.Join(at, checkpoints.EnvsFile)
	must.Do(t, os.Rename(file, filepath.Join(dir, "moved")))
	if err := os.Symlink(filepath.Join(dir, "moved"), file); err != nil {
		t.Skip(err)
	}
	if _, err := checkpoints.Open(at); err == nil || !strings.Contains(err.Error(), "not an ordinary file") {
		t.Errorf("a link for a file: %v", err)
	}
	if _, err := checkpoints.OpenStore(durable.OS{}, filepath.Join(dir, "moved")); err == nil ||
		!strings.Contains(err.Error(), "a file is in the way") {
		t.Errorf("a file for a folder: %v", err)
	}
}

// A sealed file with any flipped bit, or cut at any byte, is refused or no longer has the key "crc32c".
func TestSeal(t *testing.T) {
	sealed := []byte(`{"config": {"a": [1, 2]}, "crc32c": "` + checkpoints.NoSeal + `"}` + "\n")
	checkpoints.Seal(sealed)
	if err := checkpoints.CheckSeal(sealed); err != nil {
		t.Fatalf("%s: %v", sealed, err)
	}
	for i := range sealed {
		for bit := range 8 {
			bad := bytes.Clone(sealed)
			bad[i] ^= 1 << bit
			var v map[string]any
			if err := checkpoints.CheckSeal(bad); err == nil && (json.Unmarshal(bad, &v) != nil || v["crc32c"] != nil) {
				t.Errorf("%s: accepted", bad)
			}
		}
		if i < len(sealed)-1 { // the newline is not part of the object
			if err := checkpoints.CheckSeal(sealed[:i]); err == nil {
				t.Errorf("%s: accepted", sealed[:i])
			}
		}
	}
	if err := checkpoints.CheckSeal([]byte(`{"config": {}}`)); err != nil {
		t.Errorf("of an earlier version: %v", err)
	}
}
