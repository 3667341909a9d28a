package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// What stoker new writes trains as it is, and a file that is there stays.
func TestNewTrains(t *testing.T) {
	dir := t.TempDir()
	for _, problem := range problems {
		path := filepath.Join(dir, "my-"+problem)
		if code, out, errs := stoker("new", problem, path); code != exitDone {
			t.Fatalf("exit %d: %s%s", code, out, errs)
		}
		code, out, errs := stoker("train", path+".yaml", "--runs", dir, "--name", problem, "--set", "train.steps=64",
			"--set", "train.copies=2", "--set", "train.evaluate={every: 64, episodes: 1}")
		if code != exitDone {
			t.Fatalf("%s: exit %d: %s", problem, code, errs)
		}
		contains(t, problem, out, "trained 64 steps")
		text, err := os.ReadFile(path + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		contains(t, problem, string(text), "<-", "name: my-"+problem, "rivals: [")
		if err := os.WriteFile(path+".yaml", []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
		code, _, errs = stoker("new", problem, path+".yaml")
		if text, err = os.ReadFile(path + ".yaml"); err != nil || code != exitUsage || string(text) != "mine" {
			t.Errorf("%s: exit %d, file %q (%v): %s", problem, code, text, err, errs)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ problem, name, want string }{
		{"sizin", "a", "did you mean sizing"},
		{"steps.steps", "a", "there are: sizing"},
		{"sizing", ".a b", "want letters"},
		{"steps", "none/a", "make it first"},
	} {
		code, _, errs := stoker("new", c.problem, filepath.Join(dir, c.name))
		if code != exitUsage {
			t.Errorf("%s %s: exit %d", c.problem, c.name, code)
		}
		contains(t, c.problem, errs, c.want)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A baseline of the environment that does not fit the configuration is left out, and said.
func TestDefaultBaselinesFit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.yaml")
	text := `name: two
env:
  id: stoker/Pricing-v1
  windows: 2
  slots: 4
  tiers: [{sla: 2, functions: 2, service: 1, demand: 1, penalty: 1}, {sla: 1, functions: 2, service: 1, demand: 1}]
  prices: [1, 1]
  baselines: [1, 1]
  demand: {source: generated}
agent: ppo
train: {steps: 8, copies: 1, evaluate: {every: 0}}
`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	runs := t.TempDir()
	code, _, errs := stoker("train", path, "--runs", runs, "--name", "two")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "errors", errs, "note: spss, a baseline of stoker/Pricing-v1, is left out")
	resolved, err := os.ReadFile(filepath.Join(runs, "two", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "rivals", string(resolved), "rivals:\n  - name: random")
}
