package train

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/checkpoints/durable/durabletest"
	"github.com/stoker-rl/stoker/internal/must"
)

func (l lab) store() string { return filepath.Join(l.dir(), checkpoints.CheckpointsDir) }

// A run that goes back to any of its checkpoints ends with the bytes of one that never did. What it was before is kept
// whole, and the folder that keeps it is a run that can be checked and resumed.
func TestResumeFrom(t *testing.T) {
	for _, name := range []string{"spread", "lqr"} {
		x := parse(t, small[name], "train.checkpoint.keep=0")
		want := finished(t, x)
		l := newLab(t)
		l.start(t, x)
		list, err := checkpoints.List(l.disk, l.store())
		must.Do(t, err)
		if len(list) < 4 {
			t.Fatalf("%s: checkpoints %v, want more", name, list)
		}
		base := l.disk
		for i, c := range list[:len(list)-1] {
			l.disk = memory{base.Clone()}
			o := l.options()
			o.From = c
			res, err := Resume(context.Background(), l.dir(), o)
			if err != nil {
				t.Fatalf("%s: from %s: %v", name, c, err)
			}
			same(t, name+" from "+c, l.outcome(t), want)
			l.sound(t)
			again, err := checkpoints.List(l.disk, l.store())
			must.Do(t, err)
			if !slices.Equal(again, list) {
				t.Errorf("%s: from %s: checkpoints %v, want %v", name, c, again, list)
			}
			if res.Aside != filepath.Join(l.dir(), asideFolder, "1") {
				t.Fatalf("%s: from %s: kept in %q", name, c, res.Aside)
			}
			same(t, "kept", outcome(t, l.disk, res.Aside), want)
			if r, err := checkpoints.CheckFS(l.disk, res.Aside); err != nil {
				t.Errorf("%s: from %s: kept: %v\n%v", name, c, err, r)
			}
			if i > 0 {
				continue
			}
			must.Do(t, os.MkdirAll(res.Aside, 0o777)) // for the lock, which is on the real disk
			o = l.options()
			o.Steps = x.Train.Steps + 6
			if res, err := Resume(context.Background(), res.Aside, o); err != nil || res.Steps < o.Steps {
				t.Errorf("%s: what was kept, resumed: %+v, %v", name, res, err)
			}
		}
	}
}

// A checkpoint is named by its name, its folder, its steps or a pointer. Another run's is refused, and so is what is
// not there; nothing is written then. The latest is resumed from as ever.
func TestResumeFromNames(t *testing.T) {
	x := parse(t, small["lqr"])
	l := newLab(t)
	l.start(t, x)
	want, base := l.outcome(t), l.disk
	first := checkpoints.StepName(14)
	best, err := checkpoints.ReadPointer(l.disk, l.store(), checkpoints.Best)
	must.Do(t, err)
	for from, c := range map[string]string{
		first: first, "14": first, filepath.Join(l.store(), first): first, l.store() + "/" + first + "/": first,
		"best": strings.TrimPrefix(filepath.Base(best), checkpoints.StepName(40)), "latest": "", checkpoints.StepName(40): "",
	} {
		l.disk = memory{base.Clone()}
		o, out := l.options(), &strings.Builder{}
		o.From, o.Out = from, out
		res, err := Resume(context.Background(), l.dir(), o)
		if err != nil {
			t.Errorf("from %s: %v", from, err)
			continue
		}
		if (res.Aside != "") != (c != "") || !strings.Contains(out.String(), c) {
			t.Errorf("from %s: kept %q, says %s", from, res.Aside, out)
		}
		same(t, "from "+from, l.outcome(t), want)
	}
	for from, says := range map[string]string{
		"15": "has no checkpoint step-000000000015", "step-00000000014": "did you mean " + first + "?",
		"/elsewhere/" + first: "--init-from /elsewhere/" + first,
	} {
		l.disk = memory{base.Clone()}
		o := l.options()
		o.From = from
		o.FS = durabletest.WithHooks(l.disk, durabletest.Hooks{Before: func(op durabletest.Op) error {
			t.Errorf("from %s: %v", from, op)
			return nil
		}})
		_, err := Resume(context.Background(), l.dir(), o)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), says) {
			t.Errorf("from %s: %v, want %q", from, err, says)
		}
	}
}

// A damaged latest checkpoint is refused by the name of its file, beside that of the newest sound one and how to go on
// from it; going on from there ends with the bytes of an undamaged run, and keeps the damaged checkpoint.
func TestDamagedLatest(t *testing.T) {
	x := parse(t, small["spread"], "train.checkpoint.keep=0")
	want := finished(t, x)
	before := checkpoints.StepName(36)
	for path, names := range map[string]string{
		filepath.Join(checkpoints.StepName(48), loopFile):                loopFile,
		filepath.Join(checkpoints.StepName(48), checkpoints.WeightsFile): checkpoints.WeightsFile,
		filepath.Join(checkpoints.StepName(48), checkpoints.SumsFile):    checkpoints.StepName(48),
		string(checkpoints.Latest):                                       string(checkpoints.Latest),
	} {
		l := newLab(t)
		l.start(t, x)
		at := filepath.Join(l.store(), path)
		b, err := durable.ReadFile(l.disk, at, 1<<20)
		must.Do(t, err)
		must.Do(t, l.disk.Set(at, b[:len(b)-2]))
		_, err = Resume(context.Background(), l.dir(), l.options())
		sound := before
		if path == string(checkpoints.Latest) {
			sound = checkpoints.StepName(48)
		}
		hint := fmt.Sprintf("the newest sound checkpoint is %s; go on from it with: stoker resume %s --from %s", sound,
			l.dir(), sound)
		if err == nil || !strings.Contains(err.Error(), names) || !strings.Contains(err.Error(), hint) {
			t.Fatalf("%s: %v, want %s and %q", path, err, names, hint)
		}
		o := l.options()
		o.From = sound
		res, err := Resume(context.Background(), l.dir(), o)
		must.Do(t, err)
		same(t, path, l.outcome(t), want)
		l.sound(t)
		kept, err := durable.ReadFile(l.disk, filepath.Join(res.Aside, checkpoints.CheckpointsDir, path), 1<<20)
		if err != nil || string(kept) != string(b[:len(b)-2]) {
			t.Errorf("%s is not kept as it was: %v", path, err)
		}
	}
}

// Going back is killed after each operation on the disk in turn (after some, without -long), with what was not synced kept and lost. The run then
// goes on, from where it was or from where it was to go; no checkpoint is gone.
func TestGoBackKilled(t *testing.T) {
	text := small["lqr"]
	want := finished(t, parse(t, text))
	done := newLab(t)
	done.start(t, parse(t, text))
	stride := 23
	if *long {
		stride = 1
	}
	for n := 1; ; n += stride {
		l, last := lab{memory{done.disk.Clone()}, t.TempDir()}, durabletest.Op{}
		l.runs = done.runs
		o := l.options()
		o.From, o.FS = "14", endAfter(l.disk, n, n%2 == 0, &last)
		_, err := Resume(context.Background(), l.dir(), o)
		if err == nil {
			if n < 30 {
				t.Errorf("going back takes %d operations only", n)
			}
			return
		}
		if !errors.Is(err, errEnd) {
			t.Fatalf("at %v: %v", last, err)
		}
		for i, d := range []*durabletest.Disk{l.disk.Clone(), l.disk.PowerCut(0)} {
			l.disk = memory{d}
			what := fmt.Sprintf("%v (%d)", last, i)
			final := filepath.Join(l.dir(), asideFolder, "1", checkpoints.CheckpointsDir, checkpoints.StepName(40))
			if _, err := checkpoints.OpenFS(l.disk, filepath.Join(l.store(), checkpoints.StepName(40))); err != nil {
				if _, err := checkpoints.OpenFS(l.disk, final); err != nil {
					t.Fatalf("%s: the last checkpoint is gone: %v", what, err)
				}
			}
			if _, err := Resume(context.Background(), l.dir(), l.options()); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			same(t, what, l.outcome(t), want)
			l.sound(t)
		}
	}
}

// Resuming a finished run changes no file: not a byte, not a time.
func TestResumeFinished(t *testing.T) {
	dir := start(t, parse(t, small["lqr"]))
	// A time long ago, so that one that is written shows although the file system's clock is coarse.
	old := time.Unix(1_000_000_000, 0)
	must.Do(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, old, old))
	}))
	look := func() string {
		var s strings.Builder
		must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			fmt.Fprintln(&s, path, info.ModTime(), info.Size())
			if !d.IsDir() {
				b, err := os.ReadFile(path)
				fmt.Fprintf(&s, "%x\n", b)
				return err
			}
			return nil
		}))
		return s.String()
	}
	before := look()
	for _, steps := range []int64{0, 40} {
		o := options("")
		o.Steps = steps
		res, err := Resume(context.Background(), dir, o)
		if err != nil || res.From != 40 || res.Steps != 40 || res.BestValue == nil || res.BestMetric != "cost" {
			t.Errorf("--steps %d: %+v, %v", steps, res, err)
		}
	}
	if after := look(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	o := options("")
	o.Steps = 39
	if _, err := Resume(context.Background(), dir, o); !errors.Is(err, ErrUsage) ||
		!strings.Contains(err.Error(), "has done 40 already") {
		t.Errorf("--steps 39: %v", err)
	}
}
