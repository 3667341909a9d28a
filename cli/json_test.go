package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
)

// All that lists something does so for programs too.
func TestJSON(t *testing.T) {
	run := trained(t)
	get := func(a ...string) string {
		t.Helper()
		code, out, errs := stoker(a...)
		if code != exitDone {
			t.Errorf("stoker %s: exit %d: %s", strings.Join(a, " "), code, errs)
		}
		return out
	}
	list := decode[[]envLine](t, get("envs", "--json"))
	if len(list) < 5 || list[0].ID == "" || len(list[0].Kinds) == 0 {
		t.Errorf("envs are %+v", list)
	}
	one := decode[[]envLine](t, get("envs", "stoker/LQR-v1", "--json"))
	if len(one) != 1 || one[0].Kinds[0].Features[0].Name != "state" || one[0].Info[0].Name != "cost" || one[0].Max != 50 {
		t.Errorf("LQR is %+v", one)
	}
	if u := one[0].Kinds[0].Actions[0]; u.Range.Low != -2 || u.Range.High != 2 || u.Doc == "" {
		t.Errorf("LQR's control is %+v", u)
	}
	if k := one[0].Keys; len(k) < 8 || k[0].Key == "id" || k[0].Default == nil || k[0].Doc == "" {
		t.Errorf("LQR's keys are %+v", k)
	}
	for _, e := range list {
		if len(e.Keys) == 0 {
			t.Errorf("%s has no keys", e.ID)
		}
	}
	checked := decode[[]map[string]any](t, get("envs", "stoker/Bandit-v1", "--check", "--json"))
	if len(checked) != 1 || checked[0]["conforms"] != true || len(checked[0]["problems"].([]any)) != 0 {
		t.Errorf("checked: %v", checked)
	}
	agents := decode[[]map[string]any](t, get("agents", "--json"))
	if len(agents) == 0 || agents[0]["name"] != "maddpg" || agents[0]["kind"] != "learned" {
		t.Errorf("agents are %v", agents)
	}
	version := decode[map[string]any](t, get("version", "--json"))
	if version["go"] == "" || version["engines"] == nil || version["libtorch"] == nil {
		t.Errorf("version is %v", version)
	}
	report := decode[checkpoints.Report](t, get("check", run, "--json"))
	if !report.OK || report.Kind != "run" || len(report.Findings) == 0 {
		t.Errorf("check is %+v", report)
	}
	result := decode[train.Result](t, get("resume", run, "--steps", "60", "--json"))
	if result.From != 40 || result.Steps != 60 || result.Dir != run || result.BestValue == nil {
		t.Errorf("resume is %+v", result)
	}
	results := decode[seedsReport](t, get("train", config(t, brief), "--runs", t.TempDir(), "--seeds", "3-4",
		"--name", "b", "--json")).Runs
	if len(results) != 2 || filepath.Base(results[1].Dir) != "b-s4" || results[1].Seed != 4 {
		t.Errorf("train is %+v", results)
	}
	single := decode[[]train.Result](t, get("train", config(t, brief), "--runs", t.TempDir(), "--json"))
	if len(single) != 1 || filepath.Base(single[0].Dir) != "small-s1" {
		t.Errorf("train is %+v", single)
	}
	t.Chdir(run)
	decode[train.Result](t, get("resume", ".", "--json"))
	if b, err := os.ReadFile(checkpoints.RunFile); err != nil || !strings.Contains(string(b), `"name": "a"`) {
		t.Errorf("resumed as a dot, run.json says %s (%v)", b, err)
	}
	files := decode[[]string](t, get("plot", run, results[0].Dir, "--out", t.TempDir(), "--json"))
	for _, f := range files {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	if len(files) == 0 {
		t.Error("plot names no file")
	}
	summary := decode[map[string]any](t, get("eval", run, "--json"))
	if summary["env"] != "stoker/LQR-v1" || summary["policies"] == nil {
		t.Errorf("eval is %v", summary)
	}
	// A damaged thing is reported as JSON too, and fails.
	must.Do(t, os.WriteFile(filepath.Join(run, "checkpoints", "best"), nil, 0o666))
	code, out, _ := stoker("check", run, "--json")
	if report := decode[checkpoints.Report](t, out); code != exitFailed || report.OK {
		t.Errorf("a damaged run: exit %d, %+v", code, report)
	}
	must.Do(t, os.Remove(filepath.Join(run, "config.yaml")))
	code, out, _ = stoker("check", run, "--json")
	if report := decode[checkpoints.Report](t, out); code != exitFailed || report.OK || !strings.Contains(out, "config.yaml") {
		t.Errorf("a run without config.yaml: exit %d, %+v", code, report)
	}
}

// Without --json the same is said in words.
func TestWords(t *testing.T) {
	run := trained(t)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"envs", []string{"stoker/CartPole-v1", "balance a pole"}},
		{"envs stoker/SimpleSpread-v1", []string{"3 × agent", "velocity x", "collisions", "lower is better",
			"truncated after 25"}},
		{"envs stoker/Sizing-v2", []string{"of its range", "0 stands for 250, 1 for 2000 millicores", "p75",
			"policies are judged by price, with violated kept at least as well", "windows  (integer, 1 to 2^20; default 60)",
			"length of an episode"}},
		{"envs stoker/Placement-v2", []string{"nodes: invocation, up to 128", "s, as t/(t+1)",
			"edges: sharing, from function to node", "128 lets time pass"}},
		{"envs stoker/LQR-v1 --check", []string{"stoker/LQR-v1: conforms"}},
		{"agents", []string{"maddpg", "learned"}},
		{"version", []string{"stoker ", "processor", "engine     native on cpu", "libtorch"}},
		{"check " + run, []string{"every hash agrees", "(run): sound"}},
		{"resume " + run, []string{"is finished: 40 of 40 steps, nothing was written", "--steps 80", "--steps"}},
		{"resume " + run + " --steps 60", []string{"trained 60 steps", "best return in evaluation",
			"compare it: stoker eval " + shell.Quote(run)}},
		{"eval " + run, []string{"redraw with: stoker plot " + shell.Quote(filepath.Join(run, "eval"))}},
	} {
		code, out, errs := stoker(fields(c.args)...)
		if code != exitDone {
			t.Errorf("stoker %s: exit %d: %s", c.args, code, errs)
		}
		contains(t, "stoker "+c.args, out, c.want...)
	}
}

// Every measurement gives one line of JSON with its main figure, what was measured and on what.
func TestBench(t *testing.T) {
	for _, c := range []struct {
		args, figure string
		n            int
	}{
		{"forward", "ns_per_op", 1},
		{"attmf --agents 3,4 --batch 8", "updates_per_second", 2},
		{"env --env stoker/CartPole-v1", "steps_per_second", 1},
		{"sim --instances 8", "requests_per_second", 1},
	} {
		a := append([]string{"bench"}, fields(c.args)...)
		code, out, errs := stoker(append(a, "--seconds", "0.01", "--json")...)
		if code != exitDone {
			t.Errorf("bench %s: exit %d: %s", c.args, code, errs)
			continue
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != c.n {
			t.Errorf("bench %s: %d lines, want %d", c.args, len(lines), c.n)
		}
		for _, line := range lines {
			m := decode[map[string]any](t, line)
			if x, _ := m[c.figure].(float64); x <= 0 || m["bench"] == "" || m["arch"] == nil || m["cpu"] == nil ||
				m["cores"] == nil ||
				m["allocs_per_op"] == nil {
				t.Errorf("bench %s: %s", c.args, line)
			}
		}
		code, out, _ = stoker(append(a, "--seconds", "0.01")...)
		if code != exitDone || !strings.Contains(out, "allocations") || strings.Count(out, "\n") != c.n+2 {
			t.Errorf("bench %s: exit %d, table %s", c.args, code, out)
		}
	}
}
