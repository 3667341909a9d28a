package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
)

const measuredRuns = `function,memory,ms
thumb,128,4000
thumb,256,2010
thumb,512,1000
thumb,1024,520
thumb,2048,510
`

func TestProfileFit(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "runs.csv")
	must.Do(t, os.WriteFile(file, []byte(measuredRuns), 0o666))
	code, out, errs := stoker("profile", "fit", file, "--out", filepath.Join(dir, "out"))
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "laws", out, "thumb", "knee", "exponential", "left out", "wrote ")
	code, out, errs = stoker("profile", "fit", file, "--law", "knee", "--json")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r struct {
		Functions []struct{ Laws []struct{ Form string } }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Functions[0].Laws) != 1 || r.Functions[0].Laws[0].Form != "knee" {
		t.Errorf("JSON %v: %s", err, out)
	}
	for want, args := range map[string][]string{
		"no law \"cubic\"": {file, "--law", "cubic"},
		"no such file":     {filepath.Join(dir, "none.csv")},
		"too few":          {file, "--law", "knee", "--few", "2"},
	} {
		code, _, errs := stoker(append([]string{"profile", "fit"}, args...)...)
		if code != exitUsage {
			t.Errorf("%v: exit %d, want %d", args, code, exitUsage)
		}
		contains(t, "error", errs, want)
	}
}

// Windows and requests give the laws of env.laws; the file's header says what it has.
func TestProfileFitLaws(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	windows := filepath.Join("..", "examples", "own", "windows.csv")
	code, text, errs := stoker("profile", "fit", windows, "--out", out)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "laws", text, "left out", "cv is not told", "env:\n  laws:\n    - {function: resize, work: ", "wrote ")
	laws := must.Get(os.ReadFile(filepath.Join(out, "laws.yaml")))(t)
	contains(t, "laws.yaml", text, string(laws))
	code, text, errs = stoker("profile", "fit", windows, "--json")
	var r struct{ Functions []struct{ Function string } }
	if err := json.Unmarshal([]byte(text), &r); code != exitDone || err != nil || len(r.Functions) != 3 {
		t.Errorf("exit %d, JSON %v: %s%s", code, err, text, errs)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.csv")
	must.Do(t, os.WriteFile(wrong, []byte("function,cpu,inside,ms\nf,1000,1,10\nf,1000,1,fast\n"), 0o666))
	for want, args := range map[string][]string{
		"--few is for runs over memory sizes, and": {windows, "--few", "3"},
		`wrong.csv: line 3: column 4: "fast"`:      {wrong},
	} {
		code, _, errs := stoker(append([]string{"profile", "fit"}, args...)...)
		if code != exitUsage {
			t.Errorf("%v: exit %d, want %d", args, code, exitUsage)
		}
		contains(t, "error", errs, want)
	}
}

// check predicts a state machine and an application; replay says what its file lacks.
func TestProfileCheck(t *testing.T) {
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(p, []byte(text), 0o666))
		return p
	}
	machine := path("machine.asl.json", `{"StartAt": "resize", "States": {
  "resize": {"Type": "Task", "Resource": "arn:aws:lambda:x:1:function:resize", "Next": "good?"},
  "good?": {"Type": "Choice", "Choices": [{"Variable": "$.x", "NumericLessThan": 20, "Next": "resize"}], "Default": "done"},
  "done": {"Type": "Succeed"}}}`)
	functions := path("functions.csv", "function,memory,ms\nresize,1024,1000\nresize,1024,1200\n")
	requests := path("requests.csv", "seconds,usd\n1.2,0.00002\n1.0,0.00002\n2.4,0.00004\n1.1,0.00002\n")
	facts := path("facts.yaml", "choices:\n  good?: {resize: 0.25, done: 0.75}\n")
	out := filepath.Join(dir, "out")
	code, text, errs := stoker("profile", "check", machine, requests, "--functions", functions, "--percent", "--out", out)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "check", text, "machine: 4 measured requests", "p95", "USD a million requests", "resize", "wrote ")
	for _, name := range []string{"profile_check.json", "profile_check.csv", "profile_check_times.csv", "profile_check.png"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	code, text, errs = stoker("profile", "check", machine, requests, "--functions", functions, "--facts", facts, "--json",
		"--delay-node", "0", "--delay-edge", "0")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	var r struct {
		Rows []struct {
			Quantity  string
			Predicted float64
		}
		Functions []struct{ Runs float64 }
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Rows) != 5 || r.Functions[0].Runs < 1.33 || r.Functions[0].Runs > 1.34 {
		t.Errorf("JSON %v: %s", err, text)
	}
	code, text, errs = stoker("profile", "check", "app1", requests, "--choice", "f1=1088")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "application", text, "app1: 4 measured requests", "1,088")
	for want, args := range map[string][]string{
		`machine.asl.json: line 3: state "good?": a choice without probabilities`: {"check", machine, requests, "--functions", functions},
		"name a file of them":            {"check", machine, requests},
		"function f1 has 16 options":     {"check", "app1", requests},
		"line 1: no column for the dura": {"check", "app1", facts, "--choice", "f1=1088"},
		"no such file":                   {"replay", filepath.Join(dir, "none.csv")},
		"times rise with memory":         {"replay", path("rise.csv", "memory,ms\n128,1\n256,2\n")},
	} {
		code, _, errs := stoker(append([]string{"profile"}, args...)...)
		if code != exitUsage {
			t.Errorf("%v: exit %d, want %d", args, code, exitUsage)
		}
		contains(t, "error", errs, want)
	}
}
