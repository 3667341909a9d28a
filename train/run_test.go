package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/configs"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train/internal/tensorboard/eventtest"
)

// A run folder holds what the package says, and each file what it is for.
func TestRunFolder(t *testing.T) {
	x := parse(t, small["lqr"])
	runs := filepath.Join(t.TempDir(), "not", "there", "yet")
	o := options(runs)
	var out bytes.Buffer
	o.Out, o.Command, o.Revision = &out, []string{"stoker", "train"}, "abc"
	res, err := Start(context.Background(), x, o)
	must.Do(t, err)
	dir := filepath.Join(runs, "a")
	if res.Dir != dir || res.From != 0 || res.Steps != 40 || res.Planned != 40 || res.Episodes != 4 {
		t.Errorf("result is %+v", res)
	}
	if res.BestValue == nil || res.BestMetric != "cost" ||
		res.Checkpoint != filepath.Join(dir, "checkpoints", checkpoints.StepName(40)) {
		t.Errorf("result is %+v", res)
	}
	entries, err := os.ReadDir(dir)
	must.Do(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"checkpoints", "config.yaml", "lock", "metrics.jsonl", "run.json", "tensorboard",
		"timing.jsonl"}; !slices.Equal(names, want) {
		t.Errorf("the folder holds %v, want %v", names, want)
	}
	sound(t, dir)

	var d description
	raw, err := os.ReadFile(filepath.Join(dir, checkpoints.RunFile))
	must.Do(t, err)
	must.Do(t, json.Unmarshal(raw, &d))
	if d.Status != statusFinished || d.Steps != 40 || d.Seed != 8 || d.Env != "stoker/LQR-v1" || d.Agent != "maddpg" ||
		len(d.Sessions) != 1 {
		t.Errorf("run.json says %+v", d)
	}
	s := d.Sessions[0]
	if s.Revision != "abc" || !slices.Equal(s.Command, o.Command) || s.Engine.Kernels == "" || s.Workers < 1 ||
		s.From != 0 || s.To != 40 ||
		s.Ended.Before(s.Started) ||
		s.Machine.Cores < 1 ||
		s.Status != statusFinished {
		t.Errorf("the session is %+v", s)
	}

	// config.yaml is the resolved configuration: read again it is the same.
	y, err := ReadConfig(dir, catalog.Default())
	must.Do(t, err)
	a, _ := x.YAML()
	b, _ := y.YAML()
	if !bytes.Equal(a, b) {
		t.Errorf("config.yaml reads as\n%s\nwant\n%s", b, a)
	}

	// Progress without a terminal: plain lines.
	for _, want := range []string{dir + ": maddpg in stoker/LQR-v1, 40 steps, native on cpu", "100%  40/40 steps",
		"evaluation at step 40: cost", "the best so far"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("progress has no %q:\n%s", want, &out)
		}
	}
	if strings.ContainsAny(out.String(), "\r\x1b") {
		t.Errorf("progress without a terminal has control characters: %q", &out)
	}

	// Event files hold the same numbers as metrics.jsonl, and the times.
	curves, err := eventtest.Scalars(filepath.Join(dir, "tensorboard"))
	must.Do(t, err)
	for _, tag := range []string{"rollout/ep_rew_mean", "eval/cost", "train/critic_loss", "time/fps",
		"time/share_update"} {
		if len(curves[tag]) == 0 {
			t.Errorf("event files have no %s", tag)
		}
	}
}

// Lines of metrics.jsonl come at the steps of the schedule, log before evaluation, and say nothing of time, machine
// or workers; times are in timing.jsonl.
func TestMetrics(t *testing.T) {
	dir := start(t, parse(t, small["lqr"]))
	var logs, evals []int64
	b, err := os.ReadFile(filepath.Join(dir, checkpoints.MetricsFile))
	must.Do(t, err)
	for line := range strings.Lines(string(b)) {
		var m map[string]*float64
		must.Do(t, json.Unmarshal([]byte(line), &m))
		step := int64(*m["step"])
		if m["eval/cost"] != nil {
			evals = append(evals, step)
		} else {
			logs = append(logs, step)
		}
		for name := range m {
			if strings.HasPrefix(name, "time/") && name != "time/episodes" {
				t.Errorf("%s is in metrics.jsonl", name)
			}
		}
	}
	// Two copies step together: the first even step at or behind each multiple of 7 and 11, and the end.
	if want := []int64{8, 14, 22, 28, 36, 40}; !slices.Equal(logs, want) {
		t.Errorf("logged at %v, want %v", logs, want)
	}
	if want := []int64{12, 22, 34, 40}; !slices.Equal(evals, want) {
		t.Errorf("evaluated at %v, want %v", evals, want)
	}
	b, err = os.ReadFile(filepath.Join(dir, checkpoints.TimingFile))
	must.Do(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var first map[string]any
	must.Do(t, json.Unmarshal([]byte(lines[0]), &first))
	total := 0.0
	for _, phase := range phaseNames {
		share, ok := first["time/share_"+phase].(float64)
		if !ok {
			t.Errorf("no share of %s in %s", phase, lines[0])
		}
		total += share
	}
	if len(lines) != len(logs) || first["at"] == nil || first["time/fps"] == nil || total < 0.999 || total > 1.001 {
		t.Errorf("timing.jsonl has %d lines, the first %s (shares sum to %g)", len(lines), lines[0], total)
	}
}

// Events up to the checkpoint stay when a run is resumed; those beyond it, which are logged again, don't count twice.
func TestEventsAfterResume(t *testing.T) {
	x := parse(t, small["lqr"])
	whole, err := eventtest.Scalars(filepath.Join(start(t, x), "tensorboard"))
	must.Do(t, err)
	runs := t.TempDir()
	// Stopped at step 22, where it has logged and evaluated.
	if _, err := Start(&countdown{context.Background(), 11}, x, options(runs)); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	must.Get(Resume(context.Background(), filepath.Join(runs, "a"), options("")))(t)
	got, err := eventtest.Scalars(filepath.Join(runs, "a", "tensorboard"))
	must.Do(t, err)
	for _, tag := range []string{"rollout/ep_rew_mean", "eval/cost"} {
		var a, b []int64
		for _, p := range whole[tag] {
			a = append(a, p.Step)
		}
		for _, p := range got[tag] {
			b = append(b, p.Step)
		}
		if !slices.Equal(a, b) {
			t.Errorf("%s is at steps %v, want %v", tag, b, a)
		}
	}
}

// What can't be started is refused with the place, and leaves nothing behind.
func TestStartRefuses(t *testing.T) {
	x := parse(t, small["lqr"])
	runs := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(runs, "file"), nil, 0o666))
	must.Do(t, os.Mkdir(filepath.Join(runs, "taken"), 0o777))
	busy := filepath.Join(runs, durable.TempPrefix+"busy")
	must.Do(t, os.Mkdir(busy, 0o777))
	lock, err := durable.AcquireLock(filepath.Join(busy, checkpoints.LockFile))
	must.Do(t, err)
	defer lock.Release()
	for _, c := range []struct {
		name, runs, run string
		usage           bool
		want            []string
	}{
		{"a name that leads elsewhere", runs, "../b", true, []string{`run name "../b"`, "want letters"}},
		{"a hidden name", runs, ".b", true, []string{"want letters"}},
		{"an existing name", runs, "taken", true, []string{filepath.Join(runs, "taken") + " exists", "stoker resume"}},
		{"a run that another process starts", runs, "busy", false, []string{"is being started", "in use by pid"}},
		{"a file where the runs should be", filepath.Join(runs, "file"), "b", false,
			[]string{"runs folder", "a file is in the way"}},
		{"a file on the way there", filepath.Join(runs, "file", "runs"), "b", false, []string{"not a directory"}},
	} {
		_, err := Start(context.Background(), x, Options{RunsDir: c.runs, Name: c.run})
		if err == nil {
			t.Errorf("%s: accepted", c.name)
			continue
		}
		if errors.Is(err, ErrUsage) != c.usage {
			t.Errorf("%s: usage is %v, want %v: %v", c.name, !c.usage, c.usage, err)
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q has no %q", c.name, err, w)
			}
		}
	}
	entries, err := os.ReadDir(runs)
	must.Do(t, err)
	if len(entries) != 3 {
		t.Errorf("something was left behind: %v", entries)
	}
}

// An unwritable folder of runs: an error that names it. (Where permissions bind, unlike for root.)
func TestUnwritableRuns(t *testing.T) {
	runs := filepath.Join(t.TempDir(), "runs")
	must.Do(t, os.Mkdir(runs, 0o555))
	o := options(runs)
	o.FS = durabletest.WithHooks(durable.OS{}, durabletest.Hooks{Before: func(op durabletest.Op) error {
		if op.Kind == "mkdir" {
			return os.ErrPermission
		}
		return nil
	}})
	_, err := Start(context.Background(), parse(t, small["lqr"]), o)
	if !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), runs) {
		t.Errorf("error %v, want one that names %s and says permission denied", err, runs)
	}
}

// What a process killed while starting left is cleared by the next of that name.
func TestStartClearsLeftovers(t *testing.T) {
	x := parse(t, small["lqr"])
	want := outcome(t, durable.OS{}, start(t, x))
	runs := t.TempDir()
	left := filepath.Join(runs, durable.TempPrefix+"a", checkpoints.CheckpointsDir, checkpoints.StepName(0))
	must.Do(t, os.MkdirAll(left, 0o777))
	must.Do(t, os.WriteFile(filepath.Join(left, checkpoints.SumsFile), []byte("half"), 0o666))
	must.Do(t, os.MkdirAll(filepath.Join(runs, durable.TempPrefix+"a", "tensorboard", "old"), 0o777))
	_, err := Start(context.Background(), x, options(runs))
	must.Do(t, err)
	same(t, "over a leftover", outcome(t, durable.OS{}, filepath.Join(runs, "a")), want)
	if _, err := os.Lstat(filepath.Join(runs, durable.TempPrefix+"a")); err == nil {
		t.Error("the leftover is still there")
	}
	if _, err := os.Lstat(filepath.Join(runs, "a", "tensorboard", "old")); err == nil {
		t.Error("the leftover is part of the new run")
	}
}

// A run's default name, and sessions that say who worked on it.
func TestSessions(t *testing.T) {
	l := newLab(t)
	o := l.options()
	o.Name = ""
	if _, err := Start(&countdown{context.Background(), 4}, parse(t, small["lqr"]), o); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	dir := filepath.Join(l.runs, "lqr-s8")
	read := func() (d description) {
		b, err := durable.ReadFile(l.disk, filepath.Join(dir, checkpoints.RunFile), 1<<20)
		must.Do(t, err)
		must.Do(t, json.Unmarshal(b, &d))
		return d
	}
	if d := read(); d.Status != "stopped: told to stop" || d.Sessions[0].Status != d.Status || d.Sessions[0].To != 8 {
		t.Errorf("stopped: run.json says %q, sessions %+v", d.Status, d.Sessions)
	}
	// A process that is killed can't say so: the next one does.
	var last durabletest.Op
	o.FS = endAfter(l.disk, 30, false, &last)
	if _, err := Resume(context.Background(), dir, o); !errors.Is(err, errEnd) {
		t.Fatal(err)
	}
	o.FS = l.disk
	must.Get(Resume(context.Background(), dir, o))(t)
	d := read()
	if len(d.Sessions) != 3 || d.Sessions[1].Status != statusLost || d.Sessions[2].Status != statusFinished ||
		d.Sessions[1].From != 8 {
		t.Errorf("sessions are %+v", d.Sessions)
	}
	if d.Started.After(d.Sessions[0].Started) {
		t.Errorf("the run began at %v, its first session at %v", d.Started, d.Sessions[0].Started)
	}
	// run.json is for people: without it a run resumes all the same.
	must.Do(t, l.disk.Remove(filepath.Join(dir, checkpoints.RunFile)))
	if _, err := Resume(context.Background(), dir, o); err != nil {
		t.Errorf("without run.json: %v", err)
	}
}

// Every experiment that is shipped can be built: its environment, agent and baselines exist, and its evaluation's metric
// too.
func TestShippedExperiments(t *testing.T) {
	for _, name := range configs.Shipped() {
		x, err := configs.Load(name, nil, catalog.Default())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w, err := build(x, 0, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		w.close()
	}
}

// A run leaves no goroutine and no open file behind, whether it ends well, is refused or fails.
func TestNothingStaysOpen(t *testing.T) {
	count := func() (goroutines, files int) {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("open files can't be listed here")
		}
		return runtime.NumGoroutine(), len(entries)
	}
	runs := t.TempDir()
	x := parse(t, small["spread"], "engine.workers=3")
	once := func(i int) {
		o := options(runs)
		o.Name = fmt.Sprintf("a%d", i)
		_, err := Start(&countdown{context.Background(), 5}, x, o)
		if !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		dir := filepath.Join(runs, o.Name)
		p := options("")
		p.Steps = 3
		if _, err := Resume(context.Background(), dir, p); err == nil {
			t.Fatal("fewer steps than done were accepted")
		}
		for _, n := range []int{1, 3, 12, 40} { // from the first file opened to the middle of a save
			var last durabletest.Op
			p = options("")
			p.FS = endAfter(fast{}, n, false, &last)
			if _, err := Resume(context.Background(), dir, p); !errors.Is(err, errEnd) {
				t.Fatalf("after %d operations: %v", n, err)
			}
		}
		must.Get(Resume(context.Background(), dir, options("")))(t)
	}
	once(0)
	g0, f0 := count()
	for i := range 2 {
		once(1 + i)
	}
	// A goroutine that was told to end may still be on its way. One that stays is shown when the tests' time is over.
	for g, _ := count(); g > g0; g, _ = count() {
		runtime.Gosched()
	}
	if _, f := count(); f > f0 {
		t.Errorf("%d files are open, before there were %d", f, f0)
	}
}
