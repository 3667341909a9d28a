package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/must"
)

// sizingConfig is a sizing experiment of a few steps at a load that is served.
func sizingConfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.yaml")
	text := `name: small
env: {id: stoker/Sizing-v2, windows: 3}
workload: {factor: 0.3}
agent: {name: maddpg, mix: mean, hidden: [4], batch: 4, replay: 300, random_steps: 4, learning_starts: 4}
train: {steps: 24, envs: 2, log_every: 12, evaluate: {every: 0}}
eval: {seeds: 1-2, resamples: 100, metrics: [price, violated], baselines: [fixed, oracle]}
`
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

// Training and evaluation say, in numbers, when the load is heavier than the ranges serve or is not that of training;
// a load like that of training is not remarked on.
func TestLoadsAreSaid(t *testing.T) {
	runs := t.TempDir()
	code, _, errs := stoker("train", sizingConfig(t), "--runs", runs, "--name", "a")
	if code != exitDone || strings.Contains(errs, "warning") {
		t.Fatalf("exit %d: %s", code, errs)
	}
	run := filepath.Join(runs, "a")
	manifest := must.Get(os.ReadFile(filepath.Join(run, "run.json")))(t)
	contains(t, "run.json", string(manifest), `"load": {`, `"mean": 0.58255`, `"key": "workload.factor"`)

	type evaluation struct {
		Load envs.LoadReport `json:"load"`
	}
	code, out, errs := stoker("eval", run, "fixed", "--json", "--out", filepath.Join(runs, "same"))
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	same := decode[evaluation](t, out).Load
	if len(same.Warnings) != 0 || len(same.Trained) != 1 || same.Trained[0].Policy != "a" || !(same.Serves > 3) {
		t.Errorf("a load like that of training: %+v", same)
	}

	code, out, errs = stoker("eval", run, "--set", "workload.factor=4", "--set", "env.windows=1", "--seeds", "1",
		"--out", filepath.Join(runs, "heavy"))
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	want := []string{"oracle, which knows the load to come, too violates all windows: the workload has 9.55 requests/s", "serve about 4.2",
		"workload.factor at most 1.75, now 4", "a learned on 0.583 requests/s",
		"workload.factor=0.244 gives the load trained on"}
	contains(t, "evaluation", strings.Join(strings.Fields(out), " "), want...)
	page := must.Get(os.ReadFile(filepath.Join(runs, "heavy", "report.html")))(t)
	contains(t, "report.html", string(page), want...)

	code, out, _ = stoker("eval", run, "fixed", "--set", "workload.factor=1", "--set", "workload.mean=2", "--json", "--out",
		filepath.Join(runs, "mean"))
	mean := decode[evaluation](t, out).Load
	if code != exitDone || !(mean.Load.Value > 0.9 && mean.Load.Value < 1) || len(mean.Warnings) == 0 ||
		!strings.Contains(mean.Warnings[0], "a learned on 0.583 requests/s") {
		t.Errorf("exit %d: a mean of 2: %+v, want the factor that follows, and a word on the load", code, mean)
	}

	code, _, errs = stoker("train", sizingConfig(t), "--runs", runs, "--name", "b", "--set", "workload.factor=5")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "training", errs, "warning: the load is heavier than anything within the action ranges serves: the workload has 9.71 "+
		"requests/s", "workload.factor at most 2.16, now 5")
}

func TestTrace(t *testing.T) {
	code, out, errs := stoker("trace")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "trace", out, "179,342 requests of 50 functions in 1 day", "day 1 15:03, minute 903: 2,667 requests", "▂▂▂")

	dir := t.TempDir()
	file := filepath.Join(dir, "invocations_per_function_md.anon.d01.csv")
	text := "HashOwner,HashApp,HashFunction,Trigger,1,2,3\no,a,f,http,4,0,1\no,a,g,timer,0,0,7\n"
	must.Do(t, os.WriteFile(file, []byte(text), 0o666))
	type report struct {
		Requests uint64   `json:"requests"`
		Missing  []string `json:"missing"`
		Scale    struct {
			Set []string `json:"set"`
		} `json:"scale"`
	}
	for _, path := range []string{dir, file} {
		code, out, errs = stoker("trace", path, "--json", "--env", "stoker/Pricing-v1", "--target-utilisation", "0.5", "--out",
			filepath.Join(dir, "out"))
		if code != exitUsage { // a window of 60 minutes is longer than this trace
			t.Errorf("exit %d: %s", code, out+errs)
		}
		code, out, errs = stoker("trace", path, "--json")
		r := decode[report](t, out)
		if code != exitDone || r.Requests != 12 || len(r.Missing) != 2 {
			t.Errorf("%s: exit %d, %+v, %s", path, code, r, errs)
		}
	}
	for want, a := range map[string][]string{
		"there is no such folder or file":            {"trace", filepath.Join(dir, "none")},
		"name it with --env":                         {"trace", "--target-utilisation", "0.5"},
		"the target utilisation is -1":               {"trace", "--env", "stoker/Sizing-v2", "--target-utilisation", "-1"},
		"did you mean --target-utilisation?":         {"trace", "--target-utilization", "0.5"},
		"workload.days is 4, want one of those in":   {"trace", dir, "--days", "4"},
		"stoker/LQR-v1 has no load that a trace cou": {"trace", "--env", "stoker/LQR-v1"},
	} {
		if code, _, errs := stoker(a...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit %d, %s; want %s", a, code, errs, want)
		}
	}
	must.Do(t, os.WriteFile(file, []byte(text+"o,a,h,http,1,x,2\n"), 0o666))
	if code, _, errs := stoker("trace", dir); code != exitUsage || !strings.Contains(errs, file+":4: column 6 (2)") {
		t.Errorf("exit %d: %s, want the file, line and column of the wrong count", code, errs)
	}
}
