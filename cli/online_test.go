package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/eval/search"
	"github.com/stoker-rl/stoker/internal/must"
)

// From a library to a run that learns from it alone, to serving: the commands of the page, and what each leaves.
func TestOnline(t *testing.T) {
	dir := t.TempDir()
	file, rows, runs := filepath.Join(dir, "lab.yaml"), filepath.Join(dir, "rows.csv"), filepath.Join(dir, "runs")
	text := `name: lab
env: {id: stoker/Sizing-v2, windows: 5, users: [10]}
workload: {kind: closed-loop}
agent: {name: maddpg, hidden: [4], keys: 2, batch: 4, replay: 1000}
train: {steps: 10, evaluate: {every: 0}}
`
	must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	for _, a := range [][]string{
		{"library", file, "--rows", "60", "--clip", "0.3,0.8", "--out", rows},
		{"train", file, "--library", rows, "--runs", runs, "--name", "off"},
	} {
		if code, _, errs := stoker(a...); code != exitDone {
			t.Fatalf("stoker %s: exit %d: %s", strings.Join(a, " "), code, errs)
		}
	}
	run := filepath.Join(runs, "off")
	config, err := os.ReadFile(filepath.Join(run, "config.yaml"))
	if err != nil || !strings.Contains(string(config), "digest: ") {
		t.Errorf("the run's configuration is\n%s (%v)", config, err)
	}
	serve := []string{"online", run, "--users", "10", "--library", rows, "--windows", "3", "--repetitions", "2", "--fresh", "2"}
	code, out, errs := stoker(append(serve, "--compare")...)
	if code != exitDone || !strings.Contains(out, "with safe exploration") || !strings.Contains(out, "without safe") ||
		!strings.Contains(out, "decided by") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	for _, name := range []string{"search.json", "windows.csv", "iterations.csv", "methods.csv", "iterations.png"} {
		if _, err := os.Stat(filepath.Join(run, "online", name)); err != nil {
			t.Error(err)
		}
	}
	code, out, errs = stoker(append(serve, "--json", "--no-safe")...)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if list := decode[[]search.Result](t, out); len(list) != 1 || len(list[0].Repetitions) != 2 || list[0].Users != 10 {
		t.Errorf("results are %+v", list)
	}
	if code, _, errs := stoker("check", run); code != exitDone {
		t.Errorf("the run is not sound after serving: %s", errs)
	}
	for want, a := range map[string][]string{
		"want one of them": append(serve, "--no-safe", "--compare"),
		"none.csv":         {"online", run, "--library", "none.csv"},
		"nowhere":          {"online", "nowhere"},
	} {
		if code, _, errs := stoker(a...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("stoker %s: exit %d: %s, want %q", strings.Join(a, " "), code, errs, want)
		}
	}
}
