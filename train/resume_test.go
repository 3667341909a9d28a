package train

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/tools/proof"
)

// A run that is stopped and resumed, at any step and as often as one likes, leaves the bytes of one that was not.
func TestResumeIsExact(t *testing.T) {
	for name, text := range small {
		t.Run(name, func(t *testing.T) {
			want := finished(t, parse(t, text))
			strides := []int{0, 5} // iterations between two stops
			if *long {
				strides = []int{0, 1, 2, 3, 5, 7, 10, 13}
			}
			for _, stride := range strides {
				l := newLab(t)
				ctx := &countdown{context.Background(), stride}
				_, err := Start(ctx, parse(t, text), l.options())
				stops := 0
				for ; err != nil; stops++ {
					if !errors.Is(err, errStop) {
						t.Fatal(err)
					}
					ctx.n = stride + 1
					_, err = Resume(ctx, l.dir(), l.options())
				}
				if stride < 5 && stops < 3 {
					t.Errorf("stride %d: stopped %d times only", stride, stops)
				}
				same(t, fmt.Sprintf("stopped every %d steps", stride), l.outcome(t), want)
				l.sound(t)
			}
		})
	}
}

// The number of goroutines that step environments changes no byte.
func TestWorkersChangeNothing(t *testing.T) {
	for name, text := range small {
		want := finished(t, parse(t, text, "engine.workers=1"))
		for _, n := range []string{"0", "2", "8"} {
			same(t, name+" with workers: "+n, inOneGo(t, parse(t, text, "engine.workers="+n)), want)
		}
	}
}

// Nor does it with any learner, together with any number of threads and of processors.
func TestThreadsChangeNothing(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	some := []int{1, 2, 8}
	runs, differ := 0, 0
	for i, c := range combinations() {
		text := c.brief()
		want := finished(t, parse(t, text, "train.envs=8", "engine.workers=1", "engine.threads=1"))
		for j := range 27 {
			if !*long && j%26 != i%26 { // else one or two of each
				continue
			}
			workers, threads, processors := some[j%3], some[j/3%3], some[j/9]
			runtime.GOMAXPROCS(processors)
			x := parse(t, text, "train.envs=8", fmt.Sprintf("engine.workers=%d", workers),
				fmt.Sprintf("engine.threads=%d", threads))
			runs++
			if d := differs(inOneGo(t, x), want); d != "" {
				t.Errorf("%s with %d workers, %d threads and %d processors: %s", c.name, workers, threads, processors,
					d)
				differ++
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "resume",
		Claim: "every learner on sizing, CartPole and simple_spread, 8 environments, with 1, 2 and 8 workers, " +
			"threads and processors each: checkpoint and metrics.jsonl " +
			"equal those of one worker and one thread",
		Bound: "0 differ", Measured: fmt.Sprintf("%d differ of %d runs", differ, runs), Holds: differ == 0,
	})
}

// What an interrupted process logged beyond its last checkpoint is not there when the run is resumed, torn lines
// included.
func TestLogsBeyondTheCheckpoint(t *testing.T) {
	x := parse(t, small["lqr"])
	l := newLab(t)
	if _, err := Start(&countdown{context.Background(), 8}, x, l.options()); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	for _, name := range []string{checkpoints.MetricsFile, checkpoints.TimingFile} {
		f, err := l.disk.Append(filepath.Join(l.dir(), name))
		must.Do(t, err)
		_, err = f.Write([]byte("{\"step\":17,\"lost\":1}\n{\"step\":1"))
		must.Do(t, err)
	}
	l.resume(t)
	same(t, "resumed", l.outcome(t), finished(t, x))
	l.sound(t)
}

// A finished run resumes to nothing; with more steps it continues to what a longer run gets, and one with fewer is
// refused.
func TestExtend(t *testing.T) {
	x := parse(t, small["spread"])
	l := newLab(t)
	l.start(t, x)
	before := l.outcome(t)
	if res := l.resume(t); res.From != x.Train.Steps || res.Steps != x.Train.Steps {
		t.Errorf("resuming a finished run gave %+v", res)
	}
	same(t, "resumed when done", l.outcome(t), before)

	o := l.options()
	o.Steps = 30
	if _, err := Resume(context.Background(), l.dir(), o); !errors.Is(err, ErrUsage) ||
		!strings.Contains(err.Error(), "has done 48") {
		t.Errorf("fewer steps than done: %v", err)
	}
	o.Steps = 72
	res, err := Resume(context.Background(), l.dir(), o)
	if err != nil || res.From != 48 || res.Steps != 72 || res.Planned != 72 {
		t.Fatalf("extended: %+v, %v", res, err)
	}
	// The agent's schedules don't depend on the total here, so that its state is a longer run's; only that one didn't
	// log at step 48, which begins the sums of the metrics anew.
	got, long := l.outcome(t), finished(t, parse(t, small["spread"], "train.steps=72"))
	for _, name := range []string{checkpoints.WeightsFile, checkpoints.EnvsFile, learnerArrays} {
		if got[name] != long[name] {
			t.Errorf("%s of the extended run is not that of a run of 72 steps", name)
		}
	}
	if y, err := readConfig(l.disk, l.dir(), catalog.Default()); err != nil || y.Train.Steps != 72 {
		t.Errorf("config.yaml plans %v, %v", y, err)
	}
	// The new total is the run's: it holds at the next resume too.
	if res := l.resume(t); res.Planned != 72 {
		t.Errorf("resumed once more: %+v", res)
	}
}

// Where noise falls over the whole training, it follows the new total.
func TestScheduleFollowsTheTotal(t *testing.T) {
	noise := func(metrics string) string {
		for line := range strings.Lines(metrics) {
			if strings.HasPrefix(line, `{"step":56,`) {
				_, after, _ := strings.Cut(line, `"train/noise":`)
				value, _, _ := strings.Cut(after, ",")
				return value
			}
		}
		t.Fatalf("no line of step 56 in %s", metrics)
		return ""
	}
	l := newLab(t)
	l.start(t, parse(t, small["lqr"]))
	o := l.options()
	o.Steps = 80
	must.Get(Resume(context.Background(), l.dir(), o))(t)
	got := noise(l.outcome(t)[checkpoints.MetricsFile])
	want := noise(finished(t, parse(t, small["lqr"], "train.steps=80"))[checkpoints.MetricsFile])
	// At step 56 of 80 the noise has fallen by 0.7 of the way from 0.1 to 0.01.
	if got != want || !strings.HasPrefix(got, "0.037") {
		t.Errorf("noise at step 56 of 80 is %s, of a run planned so %s, want 0.037", got, want)
	}
}

// keep: 2 leaves the last two checkpoints, and the best one where that is older; best names the evaluation that did
// best.
func TestKeepAndPointers(t *testing.T) {
	for _, stride := range []int{1000, 5} {
		l := newLab(t)
		ctx := &countdown{context.Background(), stride}
		_, err := Start(ctx, parse(t, small["spread"]), l.options())
		for errors.Is(err, errStop) {
			ctx.n = stride
			_, err = Resume(ctx, l.dir(), l.options())
		}
		must.Do(t, err)
		store := filepath.Join(l.dir(), checkpoints.CheckpointsDir)
		best, err := checkpoints.ReadPointer(l.disk, store, checkpoints.Best)
		must.Do(t, err)
		entries, err := l.disk.ReadDir(store)
		must.Do(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if n := len(names); n > 5 || names[n-1] != checkpoints.StepName(48) ||
			!slices.Contains(names, filepath.Base(best)) {
			t.Errorf("stopped every %d: there are %v, want the pointers, the last two and %s", stride, names,
				filepath.Base(best))
		}
		at, top := int64(0), math.Inf(-1)
		for line := range strings.Lines(l.outcome(t)[checkpoints.MetricsFile]) {
			var m struct {
				Step int64    `json:"step"`
				Mean *float64 `json:"eval/mean_reward"`
			}
			must.Do(t, json.Unmarshal([]byte(line), &m))
			if m.Mean != nil && *m.Mean > top {
				at, top = m.Step, *m.Mean
			}
		}
		if filepath.Base(best) != checkpoints.StepName(at) {
			t.Errorf("stopped every %d: best is %s, but the best evaluation, %g, was at step %d", stride, best, top, at)
		}
	}
}

// What a run can't be resumed under is refused, and nothing is changed by the attempt.
func TestResumeRefuses(t *testing.T) {
	dir := start(t, parse(t, small["lqr"]))
	edit := func(file, old, to string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			b, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil || !strings.Contains(string(b), old) {
				t.Fatalf("%s has no %q (%v)", file, old, err)
			}
			must.Do(t, os.WriteFile(filepath.Join(dir, file), []byte(strings.Replace(string(b), old, to, 1)),
				0o666))
		}
	}
	last := filepath.Join(checkpoints.CheckpointsDir, checkpoints.StepName(40))
	for _, c := range []struct {
		name   string
		change func(t *testing.T, dir string)
		usage  bool
		want   string
	}{
		{"no run", func(t *testing.T, dir string) { must.Do(t, os.Remove(filepath.Join(dir, configFile))) }, true,
			"is not a run folder"},
		{"no checkpoint", func(t *testing.T, dir string) {
			must.Do(t,
				os.RemoveAll(filepath.Join(dir, checkpoints.CheckpointsDir)))
		}, false, "nothing to resume"},
		{"a damaged checkpoint", edit(filepath.Join(last, loopFile), `"steps": 40`, `"steps": 41`), false,
			"its hash is not the recorded one"},
		{"another configuration", edit(configFile, "noise_final: 0.01", "noise_final: 0.02"), true,
			"was made with agent.noise_final: 0.01, the run's config.yaml now says 0.02"},
		{"a broken configuration", edit(configFile, "noise_final", "noise_fina"), false, "did you mean noise_final?"},
		{"another total", edit(configFile, "steps: 40", "steps: 80"), true,
			"train.steps: 40, the run's config.yaml now says 80; restore it, and give a new total with: stoker " +
				"resume --steps"},
		{"a changed history", edit(checkpoints.RunFile, `"lqr`, `"lqs`), false,
			"damaged or edited; it holds only the run's history: remove it to resume without it"},
		{"a changed line of metrics", edit(checkpoints.MetricsFile, "4", "5"), false,
			"metrics.jsonl: damaged or edited"},
		{"no metrics", func(t *testing.T, dir string) {
			must.Do(t,
				os.Remove(filepath.Join(dir, checkpoints.MetricsFile)))
		}, false, "metrics.jsonl: is missing"},
		{"lost metrics", func(t *testing.T, dir string) {
			must.Do(t,
				os.Truncate(filepath.Join(dir, checkpoints.MetricsFile), 100))
		}, false, "lines are missing"},
		{"locked", func(t *testing.T, dir string) {
			l, err := durable.AcquireLock(filepath.Join(dir, checkpoints.LockFile))
			must.Do(t, err)
			t.Cleanup(func() { l.Release() })
		}, false, "in use by pid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := copyTree(t, dir)
			c.change(t, dir)
			whole := c.name != "no run" && c.name != "no checkpoint" && c.name != "no metrics"
			var before map[string]string
			if whole {
				before = outcome(t, fast{}, dir)
			}
			o := options("")
			if c.name == "locked" {
				o.Steps = 80 // else there is nothing to do, and nothing to lock
			}
			_, err := Resume(context.Background(), dir, o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if errors.Is(err, ErrUsage) != c.usage {
				t.Errorf("error %v is a usage error: %v, want %v", err, !c.usage, c.usage)
			}
			if whole {
				same(t, "after the refusal", outcome(t, fast{}, dir), before)
			}
		})
	}
	var held *durable.HeldError
	l, err := durable.AcquireLock(filepath.Join(dir, checkpoints.LockFile))
	must.Do(t, err)
	defer l.Release()
	o := options("")
	o.Steps = 80
	if _, err := Resume(context.Background(), dir, o); !errors.As(err, &held) {
		t.Errorf("a held lock gave %v", err)
	}
}

// sound fails the test where check finds a problem in a run on the real disk.
func sound(t testing.TB, dir string) {
	t.Helper()
	if r, err := checkpoints.Check(dir); err != nil {
		t.Fatalf("%v\n%v", err, r)
	}
}

// Another family of kernels is refused, and allowed with Inexact.
func TestAnotherFamilyOfKernels(t *testing.T) {
	runs := t.TempDir()
	dir := filepath.Join(runs, "a")
	x := parse(t, small["lqr"])
	if _, err := Start(&countdown{context.Background(), 8}, x, options(runs)); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	foreign(t, dir)
	_, err := Resume(context.Background(), dir, options(""))
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), `"abacus"`) ||
		!strings.Contains(err.Error(), "--inexact") {
		t.Fatalf("another family gave %v", err)
	}
	o := options("")
	o.Inexact = true
	if res, err := Resume(context.Background(), dir, o); err != nil || res.Steps != 40 {
		t.Fatalf("with Inexact: %+v, %v", res, err)
	}
}

// foreign makes the latest checkpoint one of other kernels.
func foreign(t *testing.T, dir string) {
	t.Helper()
	at, err := checkpoints.Find(durable.OS{}, dir, checkpoints.Latest)
	must.Do(t, err)
	c, err := checkpoints.Open(at)
	must.Do(t, err)
	s, err := checkpoints.OpenStore(durable.OS{}, filepath.Dir(at))
	must.Do(t, err)
	h := c.Header()
	h.Kernels = "abacus"
	w, err := s.Create("foreign", h)
	must.Do(t, err)
	for name := range c.Files() {
		if strings.Contains(name, ".seg-") {
			continue
		}
		b, err := c.Read(name)
		must.Do(t, err)
		must.Do(t, w.Blob(name, b))
	}
	info, _ := c.Replay(replayName)
	var rows []byte
	must.Do(t, c.ReplayRows(replayName, func(_ int64, row []byte) error { rows = append(rows, row...); return nil }))
	must.Do(t, w.Replay(replayName, checkpoints.Replay{
		RowBytes: info.RowBytes, Total: info.Total, Capacity: info.Capacity, SegmentRows: info.SegmentRows,
		Append: func(dst []byte, first int64, n int) ([]byte, error) {
			return append(dst, rows[int(first)*info.RowBytes:][:n*info.RowBytes]...), nil
		},
	}))
	_, err = w.Commit()
	must.Do(t, err)
	must.Do(t, s.SetPointer(checkpoints.Latest, "foreign"))
}
