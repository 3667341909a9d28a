package tensorboard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train/internal/tensorboard/eventtest"
)

// TestResume: a run is resumed at once, in the same second; its new file comes behind the old one, and what the killed
// process logged beyond the checkpoint does not count.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	c := start()
	for _, life := range []struct {
		purge int64
		steps []int64
		sign  float64
	}{{-1, []int64{0, 10, 20, 30, 40}, 1}, {21, []int64{30, 40, 50}, -1}, {41, []int64{50, 60}, 2}} {
		w := must.Get(NewAt(dir, c.now))(t)
		if life.purge >= 0 {
			must.Do(t, w.Purge(life.purge))
		}
		for _, s := range life.steps {
			must.Do(t, w.Scalar("a", s, life.sign*float64(s)))
		}
		must.Do(t, w.Scalar("only"+fmt.Sprint(life.steps[0]), life.steps[len(life.steps)-1], 1))
		if err := w.Flush(); err != nil { // killed: never closed
			t.Fatal(err)
		}
		w.f.Close()
	}
	// The first process was killed in the middle of a record.
	names, err := eventFiles(dir)
	if err != nil || len(names) != 3 {
		t.Fatalf("files %v, %v", names, err)
	}
	f := must.Get(os.OpenFile(names[0], os.O_APPEND|os.O_WRONLY, 0))(t)
	must.Get(f.Write(make([]byte, 5)))(t)
	f.Close()
	curves := must.Get(eventtest.Scalars(dir))(t)
	var got []string
	for _, p := range curves["a"] {
		got = append(got, fmt.Sprintf("%d:%v", p.Step, p.Value))
	}
	if want := "0:0 10:10 20:20 30:-30 40:-40 50:100 60:120"; strings.Join(got, " ") != want {
		t.Errorf("curve %v, want %v", got, want)
	}
	// The tags that only the cut-off past had are gone.
	if len(curves) != 2 || len(curves["only50"]) != 1 {
		t.Errorf("curves %v", curves)
	}
}

// events reads what is in a writer's file.
func events(t *testing.T, w *Writer) []eventtest.Event {
	t.Helper()
	b := must.Get(os.ReadFile(w.f.Name()))(t)
	all := must.Get(eventtest.Read(b))(t)
	return all
}

func TestEventsAreSeenWhileTheRunGoesOn(t *testing.T) {
	c := start()
	w := must.Get(NewAt(t.TempDir(), c.now))(t)
	defer w.Close()
	// Version and start are out at once; what follows waits for the clock or for Flush.
	for i, s := range []struct {
		pass  time.Duration
		flush bool
		want  int
	}{{0, false, 2}, {time.Second, false, 2}, {time.Second, false, 2}, {flushEvery, false, 6}, {0, false, 6}, {0,
		true, 8}} {
		c.t = c.t.Add(s.pass)
		must.Do(t, w.Scalar("a", int64(i), 1))
		if s.flush {
			must.Do(t, w.Flush())
		}
		if got := len(events(t, w)); got != s.want {
			t.Errorf("after scalar %d: %d events are in the file, want %d", i, got, s.want)
		}
	}
}

func TestEveryCutAndFlipIsNoticed(t *testing.T) {
	raw := must.Get(os.ReadFile(golden))(t)
	read := func(b []byte) (int, error) {
		events, err := eventtest.Read(b)
		return len(events), err
	}
	all, err := read(raw)
	if err != nil || all != 12 {
		t.Fatalf("%d events, %v", all, err)
	}
	whole := 0
	for n := range raw {
		got, err := read(raw[:n])
		if err == nil {
			whole++
		} else if !errors.Is(err, eventtest.ErrTorn) {
			t.Errorf("%d of %d bytes: %v", n, len(raw), err)
		}
		if got != max(0, whole-1) {
			t.Errorf("%d of %d bytes: %d events, want %d", n, len(raw), got, whole-1)
		}
		flipped := slices.Clone(raw)
		flipped[n] ^= 0x10
		if got, err := read(flipped); err == nil || got >= all {
			t.Errorf("byte %d flipped: %d events, %v", n, got, err)
		}
	}
	if whole != all {
		t.Errorf("%d cuts are between records, want %d", whole, all)
	}
}

func TestAFullDiskIsTold(t *testing.T) {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here: ", err)
	}
	w := must.Get(NewAt(t.TempDir(), start().now))(t)
	w.f.Close()
	w.f = f
	w.out.Reset(f)
	must.Do(t, w.Scalar("a", 1, 1))
	for range 2 { // it stays told: what comes behind a broken record cannot be read
		if err := w.Flush(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "event file /dev/full") {
			t.Errorf("flush: %v", err)
		}
	}
	if err := w.Scalar("a", 2, 1); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("write: %v", err)
	}
	if err := w.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("close: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	w := must.Get(NewAt(dir, start().now))(t)
	defer w.Close()
	if err := w.Text("a", 0, "\xff"); err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("text: %v", err)
	}
	if err := w.HParams(map[string]any{"layers": []int{1}}, nil); err == nil ||
		!strings.Contains(err.Error(), `hyperparameter "layers": []int cannot be shown`) {
		t.Errorf("hyperparameter: %v", err)
	}
	must.Do(t, w.Flush())
	if n := len(events(t, w)); n != 2 {
		t.Errorf("refusals left %d events in the file", n-2)
	}
	if _, err := NewAt(filepath.Join(w.f.Name(), "x"), start().now); err == nil {
		t.Error("a folder inside a file")
	}
}

func TestScalarDoesNotAllocate(t *testing.T) {
	w := must.Get(New(t.TempDir()))(t)
	defer w.Close()
	step := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		step++
		must.Do(t, w.Scalar("rollout/ep_rew_mean", step, 1))
	}); n != 0 {
		t.Errorf("%v allocations per scalar", n)
	}
}

func BenchmarkScalar(b *testing.B) {
	w := must.Get(New(b.TempDir()))(b)
	defer w.Close()
	b.ReportAllocs()
	for step := int64(0); b.Loop(); step++ {
		must.Do(b, w.Scalar("rollout/ep_rew_mean", step, 1))
	}
}
