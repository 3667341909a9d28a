package cli

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/internal/shell"
	"github.com/stoker-rl/stoker/train"
)

// Seeds are trained side by side and reported together; each leaves the policy and metrics that it leaves alone.
func TestSeeds(t *testing.T) {
	file, runs, alone := config(t, brief), t.TempDir(), t.TempDir()
	code, out, errs := stoker("train", file, "--runs", runs, "--seeds", "2-5", "--jobs", "3")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, errs)
	}
	contains(t, "report", out, "return of the last evaluation over 4 seeds: mean", "interquartile mean",
		"stoker eval "+shell.Quote(filepath.Join(runs, "small-s2")))
	for _, s := range []string{"2", "3", "4", "5"} {
		contains(t, "progress", errs, "small-s"+s+": ", "evaluation at step 40")
		if code, _, errs := stoker("train", file, "--runs", alone, "--seed", s); code != exitDone {
			t.Fatalf("exit %d: %s", code, errs)
		}
		for _, f := range []string{"config.yaml", "metrics.jsonl", "checkpoints/latest", "checkpoints/best",
			"checkpoints/step-000000000040/weights.safetensors", "checkpoints/step-000000000040/MANIFEST.sha256"} {
			got, err := os.ReadFile(filepath.Join(runs, "small-s"+s, f))
			want, err2 := os.ReadFile(filepath.Join(alone, "small-s"+s, f))
			if err := errors.Join(err, err2); err != nil || string(got) != string(want) {
				t.Errorf("seed %s: %s differs from that of the run alone (%v)", s, f, err)
			}
		}
	}
}

// A seed that fails, here as its run appears meanwhile, leaves the others alone, and is in report and exit code.
func TestSeedFails(t *testing.T) {
	x := must.Get(configs.Load(config(t, brief), nil, catalog.Default()))(t)
	runs := t.TempDir()
	var out, errs output
	c := &call{Program: Default(), ctx: t.Context(), Writer: &out, errs: &errs}
	var list []train.Planned
	for seed := range uint64(3) {
		y := *x
		y.Seed = seed
		list = append(list, train.Planned{Experiment: &y, Options: train.Options{RunsDir: runs}})
	}
	must.Do(t, os.Mkdir(filepath.Join(runs, "small-s1"), 0o777))
	value, err := trainSeeds(c, list, 2, nil)
	if err == nil || !strings.Contains(err.Error(), "1 of 3 seeds failed:\nseed 1: run ") {
		t.Errorf("error: %v", err)
	}
	r := value.(seedsReport)
	if len(r.Runs) != 3 || r.Runs[0].Error != "" || r.Runs[0].Steps != 40 ||
		!strings.Contains(r.Runs[1].Error, "exists") ||
		r.Runs[2].Error != "" ||
		r.Over.Seeds != 2 {
		t.Errorf("report: %s", out.String())
	}
}

// Ctrl-C saves all runs that are under way; those that are not begun are named.
func TestSeedsStopped(t *testing.T) {
	noSignals(t)
	dir := t.TempDir()
	c, errs := process(dir, "train", config(t, endless), "--seeds", "1-3", "--jobs", "2")
	start(t, c, errs, "small-s1: 0%") // both are under way
	await(t, errs, "small-s2: 0%")
	must.Do(t, c.Process.Signal(os.Interrupt))
	if code := wait(t, c); code != exitInterrupted {
		t.Errorf("exit %d, want %d: %s", code, exitInterrupted, errs)
	}
	contains(t, "said", errs.String(), "not begun: seeds [3]",
		"go on with: stoker resume "+filepath.Join("runs", "small-s1"), "stoker resume "+filepath.Join("runs",
			"small-s2"))
	for _, run := range []string{"small-s1", "small-s2"} {
		if code, out, errs := stoker("check", filepath.Join(dir, "runs", run)); code != exitDone {
			t.Errorf("%s: %s%s", run, out, errs)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "runs", "small-s3")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the third run: %v", err)
	}
}

func TestOverSeeds(t *testing.T) {
	var runs []seedRun
	for _, x := range []float64{1, 2, 3, 4, 100} {
		runs = append(runs, seedRun{Result: &train.Result{LastValue: &x, BestMetric: "return"}})
	}
	runs = append(runs, seedRun{Result: &train.Result{LastValue: new(1e9)}, Error: "failed"},
		seedRun{Error: "failed"}, seedRun{Result: &train.Result{}})
	o := over(runs)
	if o.Seeds != 5 || o.Mean != 22 || o.IQM != 3 || math.Abs(*o.Deviation-43.6177) > 1e-4 || o.Metric != "return" {
		t.Errorf("%+v", o)
	}
	if over(runs[5:]) != nil {
		t.Error("nothing finished, but there are figures")
	}
}

// On a terminal there is one line for each run, drawn over the one before.
func TestBoard(t *testing.T) {
	var out output
	list := []train.Planned{{Options: train.Options{Name: "a-s1"}}, {Options: train.Options{Name: "a-s2"}}}
	b := newBoard(&out, true, list)
	for _, s := range []string{"  5%  10/200 steps", "\n", "50%  100/200 steps\nrest"} {
		must.Get(b.of(1).Write([]byte(s)))(t)
	}
	b.finish()
	if got, want := out.String(), "\x1b[2A\r\x1b[Ka-s1  waiting\n\r\x1b[Ka-s2  50%  100/200 steps\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at the end", got, want)
	}
}

func TestJobsRefused(t *testing.T) {
	file := config(t, brief)
	for a, want := range map[string]string{
		"--jobs 2":                               "--jobs is given without --seeds",
		"--seeds 1-2 --jobs 0":                   `--jobs is "0", want a whole number of at least 1`,
		"--seeds 1-2 --jobs 2 --engine gorgonia": "engine gorgonia trains one run at a time",
	} {
		if code, _, errs := stoker(append([]string{"train", file}, fields(a)...)...); code != exitUsage ||
			!strings.Contains(errs, want) {
			t.Errorf("%s: exit %d: %s", a, code, errs)
		}
	}
}
