package sweep

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/checkpoints"
	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// fast has runs that don't wait for the disk: nothing that is tested here depends on what a power cut would leave.
var fast = train.Options{FS: durable.Unsynced{}}

// prepare opens the sweep of a plan in a folder.
func prepare(t *testing.T, dir string, p *Plan, extend bool) *Sweep {
	t.Helper()
	s := must.Get(Prepare(dir, p, catalog.Default(), extend))(t)
	return s
}

// left are the files of a sweep that must not depend on how it was carried out: all but times, locks, what tells of the
// processes, and checkpoints before the last one.
func left(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch base := filepath.Base(rel); {
		case base == checkpoints.LockFile, base == checkpoints.TimingFile, base == checkpoints.RunFile,
			strings.Contains(rel, "tensorboard"):
			return nil
		case strings.Contains(rel, "step-") && !strings.Contains(rel, "step-000000000040/"): // a stop saves one more
			return nil
		}
		b, err := os.ReadFile(path)
		if rel == JournalFile { // its first line has the folder's name
			_, b, _ = bytes.Cut(b, []byte("\n"))
		}
		out[rel] = string(b)
		return err
	})
	must.Do(t, err)
	return out
}

func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(want) < 20 {
		t.Fatalf("%s: %d files, want more", what, len(want))
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s: there is no %s", what, name)
		} else if got[name] != want[name] && name != File {
			t.Errorf("%s: %s differs", what, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: there is a %s", what, name)
		}
	}
	if a, b := folderless(got[File]), folderless(want[File]); a != b {
		t.Errorf("%s: %s differs:\n%s\n%s", what, File, a, b)
	}
}

// folderless is sweep.json without the folder of the command, which is another in each test, and the checksum over it.
func folderless(text string) string {
	before, rest, _ := strings.Cut(text, `"folder": "`)
	_, rest, _ = strings.Cut(rest, "\n")
	rest, _, _ = strings.Cut(rest, `"crc32c"`)
	return before + rest
}

// stopper ends a context once it has seen enough progress.
type stopper struct {
	mu    sync.Mutex
	after int // lines
	stop  context.CancelCauseFunc
}

func (s *stopper) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.after -= bytes.Count(p, []byte("\n")); s.after <= 0 {
		s.stop(errEnough)
	}
	return len(p), nil
}

var errEnough = errors.New("enough")

// A sweep leaves the same bytes for any number of jobs, and wherever it was stopped and went on.
func TestRun(t *testing.T) {
	grid := []string{"agent.actor_rate=1e-4,3e-3", "agent.gamma=uniform(0.5,0.9)"}
	make := func(t *testing.T) *Plan { return plan(t, []uint64{1, 2}, 2, grid...) }
	alone := filepath.Join(t.TempDir(), "a")
	must.Do(t, prepare(t, alone, make(t), false).Run(t.Context(), Options{Jobs: 1, Train: fast}))
	want := left(t, alone)
	s := prepare(t, alone, make(t), false)
	if all, finished := s.Runs(Finished); all != 8 || finished != 8 {
		t.Fatalf("%d of %d runs are finished", finished, all)
	}
	var last Progress
	dir := filepath.Join(t.TempDir(), "b")
	s = prepare(t, dir, make(t), false)
	must.Do(t, s.Run(t.Context(), Options{Jobs: 3, Train: fast, Report: func(p Progress) { last = p }}))
	if last.Finished != 8 || last.Steps != 320 || last.Planned != 320 || last.Rate <= 0 || last.Left != 0 {
		t.Errorf("progress at the end: %+v", last)
	}
	same(t, "three at a time", left(t, dir), want)

	dir = filepath.Join(t.TempDir(), "c")
	stops := 0
	for after := 5; ; after += 3 {
		ctx, stop := context.WithCancelCause(context.Background())
		w := &stopper{after: after, stop: stop}
		s := prepare(t, dir, make(t), false)
		err := s.Run(ctx, Options{Jobs: 2, Out: func(Run) io.Writer { return w },
			Train: train.Options{FS: fast.FS, LineEvery: time.Nanosecond}})
		if err == nil {
			break
		}
		if stops++; !errors.Is(err, errEnough) || stops > 50 {
			t.Fatal(err)
		}
	}
	if stops < 2 {
		t.Fatalf("stopped %d times, want several", stops)
	}
	same(t, "stopped and gone on", left(t, dir), want)
}

// What the process was doing when it was killed stands as running; the next one goes on with it. Two processes don't
// work on one sweep.
func TestKilled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	p := plan(t, []uint64{1}, 0, "agent.actor_rate=1e-4,1e-3")
	s := prepare(t, dir, p, false)
	s.Arms[1].Runs[0].Status = Running
	must.Do(t, os.Mkdir(dir, 0o777))
	must.Do(t, s.write())
	lock, err := durable.AcquireLock(filepath.Join(dir, checkpoints.LockFile))
	must.Do(t, err)
	s = prepare(t, dir, p, false)
	var held *durable.HeldError
	if err := s.Run(t.Context(), Options{Jobs: 1, Train: fast}); !errors.As(err, &held) {
		t.Errorf("a second process: %v", err)
	}
	must.Do(t, lock.Release())
	must.Do(t, s.Run(t.Context(), Options{Jobs: 1, Train: fast}))
	if s, err = Open(dir, catalog.Default()); err != nil || s.Arms[1].Runs[0].Status != Finished {
		t.Errorf("%+v, %v", s, err)
	}
}

// A run that fails is written down and leaves the others alone; it is tried again when the sweep goes on.
func TestFailures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	p := plan(t, []uint64{1, 2}, 0, "agent.actor_rate=1e-4,1e-3")
	s := prepare(t, dir, p, false)
	blocked := filepath.Join(dir, s.Arms[0].Runs[1].Folder)
	if err := os.MkdirAll(blocked, 0o777); err != nil { // a folder that is no run
		t.Fatal(err)
	}
	var ended []Run
	var last Progress
	err := s.Run(t.Context(), Options{Jobs: 1, Train: fast, Ended: func(_ Arm, r Run) { ended = append(ended, r) },
		Report: func(p Progress) { last = p }})
	if err == nil || !strings.Contains(err.Error(), "1 of 4 runs failed:\nactor_rate-1e-4-s2: run ") || len(ended) != 4 {
		t.Errorf("%v; ended: %v", err, ended)
	}
	if last.Failed != 1 || last.Finished != 3 || last.Steps != 120 || last.Planned != 120 {
		t.Errorf("progress at the end: %+v", last)
	}
	s, err = Open(dir, catalog.Default())
	must.Do(t, err)
	if r := s.Arms[0].Runs[1]; r.Status != Failed || !strings.Contains(r.Error, "exists") {
		t.Errorf("%+v", r)
	}
	must.Do(t, os.Remove(blocked))
	must.Do(t, s.Run(t.Context(), Options{Jobs: 2, Train: fast}))
	if runs, err := FinishedRuns(dir, catalog.Default()); err != nil || len(runs) != 4 || runs[1] != blocked {
		t.Errorf("%v, %v", runs, err)
	}
}

// Another plan is refused with what differs; extending adds to what is there and trains only that.
func TestExtend(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	first := plan(t, []uint64{1}, 2, "agent.actor_rate=1e-4", "agent.gamma=uniform(0.5,0.9)")
	must.Do(t, prepare(t, dir, first, false).Run(t.Context(), Options{Jobs: 2, Train: fast}))
	refused := func(p *Plan, extend bool, want ...string) {
		t.Helper()
		_, err := Prepare(dir, p, catalog.Default(), extend)
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) || !errors.Is(err, train.ErrUsage) {
				t.Errorf("%v, want %q", err, w)
			}
		}
	}
	more := plan(t, []uint64{2, 1}, 3, "agent.actor_rate=1e-3,0.0001", "agent.gamma=uniform(0.5,0.9)")
	refused(more, false, "--grid agent.actor_rate was 1e-4, is 1e-3,0.0001", "--trials was 2, is 3",
		"--seeds was 1, is 2,1",
		"--extend")
	longer := *first
	longer.Set = []string{"train.steps=60"}
	refused(&longer, false, "train.steps was 40, is 60")
	refused(&longer, true, "--extend adds values, trials and seeds only", "train.steps was 40, is 60")
	refused(plan(t, []uint64{1}, 0, "agent.tau=0.1"), true,
		"--extend adds values of the same keys, [agent.actor_rate, agent.gamma]")
	refused(plan(t, []uint64{1}, 2, "agent.actor_rate=1e-4", "agent.gamma=uniform(0.5,0.8)"), true, "of the same ranges")
	if _, err := Prepare(filepath.Join(t.TempDir(), "x"), first, catalog.Default(), true); err == nil {
		t.Error("extended what is not there")
	}

	s := prepare(t, dir, more, true)
	if all, finished := s.Runs(Finished); all != 12 || finished != 2 || s.Steps() != 480 {
		t.Fatalf("%d of %d runs are finished", finished, all)
	}
	ended := 0
	if err := s.Run(t.Context(), Options{Jobs: 1, Train: fast, Ended: func(Arm, Run) { ended++ }}); err != nil || ended != 10 {
		t.Fatalf("%d runs, %v", ended, err)
	}
	// The same as a sweep that was asked for all of it at once.
	whole := filepath.Join(t.TempDir(), "a")
	p := plan(t, []uint64{1, 2}, 3, "agent.actor_rate=1e-4,1e-3", "agent.gamma=uniform(0.5,0.9)")
	must.Do(t, prepare(t, whole, p, false).Run(t.Context(), Options{Jobs: 2, Train: fast}))
	same(t, "extended", left(t, dir), left(t, whole))
}

// A folder that holds something else is left alone.
func TestPrepareRefuses(t *testing.T) {
	p, dir := plan(t, []uint64{1}, 0, "agent.tau=0.1"), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, "notes"), nil, 0o666))
	for path, want := range map[string]string{dir: "exists and is no sweep", filepath.Join(dir,
		".a"): "want letters, digits"} {
		if _, err := Prepare(path, p, catalog.Default(), false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, File), []byte("{"), 0o666))
	if _, err := Prepare(dir, p, catalog.Default(), false); err == nil || !strings.Contains(err.Error(),
		"damaged or edited") {
		t.Errorf("damaged: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "x"), catalog.Default()); err == nil || !strings.Contains(err.Error(),
		"there is no") {
		t.Error(err)
	}
}
