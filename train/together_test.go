package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stoker-rl/stoker/checkpoints/durable"
	"github.com/stoker-rl/stoker/tools/proof"
)

// Runs that are trained side by side leave the bytes that each leaves alone, whatever the number at a time.
func TestTogether(t *testing.T) {
	var runs []Planned
	var labs []lab
	var want []map[string]string
	for _, text := range small {
		for seed := range 3 {
			set := fmt.Sprintf("seed=%d", seed+1)
			l := newLab(t)
			labs, runs = append(labs, l), append(runs, Planned{Experiment: parse(t, text, set), Options: l.options()})
			want = append(want, finished(t, parse(t, text, set)))
		}
	}
	for _, jobs := range []int{1, 4, 100} {
		for i := range runs {
			labs[i] = newLab(t)
			runs[i].Options = labs[i].options()
		}
		for i, o := range Together(context.Background(), runs, jobs) {
			if !o.Begun || o.Err != nil {
				t.Fatalf("run %d: %v", i, o.Err)
			}
			same(t, fmt.Sprintf("run %d, %d at a time", i, jobs), labs[i].outcome(t), want[i])
			x := runs[i].Experiment
			if o.Result.LastValue == nil || o.Result.LastStep != o.Result.Steps ||
				o.Result.BestMetric != x.Train.Evaluate.Metric {
				t.Errorf("the last evaluation: %+v", o.Result)
			}
		}
	}
	proof.Claim(t, proof.Row{
		Topic: "resume", Claim: fmt.Sprintf("%d runs of three kinds trained side by side, 1, 4 and all at a time, "+
			"against each alone: bytes of checkpoint and metrics", len(runs)),
		Bound: "equal", Measured: "equal", Holds: true,
	})
}

// full is a disk that is full from the second checkpoint on.
type full struct{ fast }

func (f full) Create(name string) (durable.File, error) {
	if strings.Contains(name, "step-") && !strings.Contains(name, "step-000000000000") {
		return nil, &pathError{name}
	}
	return f.fast.Create(name)
}

type pathError struct{ name string }

func (e *pathError) Error() string { return e.name + ": " + syscall.ENOSPC.Error() }
func (e *pathError) Unwrap() error { return syscall.ENOSPC }

// A run that fails, at once or on its way, or panics, leaves the others alone.
func TestTogetherFailures(t *testing.T) {
	dir := t.TempDir()
	planned := func(name string) Planned {
		o := options(dir)
		o.Name = name
		return Planned{Experiment: parse(t, small["lqr"]), Options: o}
	}
	runs := []Planned{planned("a"), planned("a/b"), planned("full"), planned("panics"), planned("z")}
	runs[2].Options.FS = full{}
	runs[3].Options.Out = panics{}
	out := Together(context.Background(), runs, 2)
	want := finished(t, parse(t, small["lqr"]))
	for _, i := range []int{0, 4} {
		if out[i].Err != nil {
			t.Fatal(out[i].Err)
		}
		same(t, "beside failures", outcome(t, fast{}, filepath.Join(dir, runs[i].Options.Name)), want)
	}
	if !errors.Is(out[1].Err, ErrUsage) {
		t.Errorf("a bad name: %v", out[1].Err)
	}
	if !errors.Is(out[2].Err, syscall.ENOSPC) || out[2].Result == nil {
		t.Errorf("a full disk: %v", out[2].Err)
	}
	if err := out[3].Err; err == nil || !strings.Contains(err.Error(), "panicked, which is a bug: no more paper") {
		t.Errorf("a panic: %v", err)
	}
}

type panics struct{}

func (panics) Write([]byte) (int, error) { panic("no more paper") }

// When told to stop, runs under way save, and go on to the bytes of runs that were not stopped; the others are not
// begun.
func TestTogetherStopped(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	barrier := &barrier{missing: 2, then: func() { cancel(errStop) }, all: make(chan struct{})}
	labs, runs := make([]lab, 3), make([]Planned, 3)
	seed := func(i int) string { return fmt.Sprintf("seed=%d", i+1) }
	for i := range runs {
		labs[i] = newLab(t)
		runs[i] = Planned{Experiment: parse(t, small["lqr"], seed(i)), Options: labs[i].options()}
		runs[i].Options.Out = &announced{at: barrier}
	}
	out := Together(ctx, runs, 2)
	for i, o := range out[:2] {
		if !errors.Is(o.Err, errStop) || o.Result == nil || o.Result.Steps >= 40 {
			t.Fatalf("run %d: %v, %+v", i, o.Err, o.Result)
		}
		labs[i].resume(t)
		same(t, "stopped and resumed", labs[i].outcome(t), finished(t, parse(t, small["lqr"], seed(i))))
	}
	if out[2].Begun || out[2].Err != nil {
		t.Errorf("the third run: %+v", out[2])
	}
}

// A barrier holds runs until none is missing, and calls then before it lets them go: no run ends before the other begins.
type barrier struct {
	mu      sync.Mutex
	missing int
	then    func()
	all     chan struct{}
}

func (b *barrier) wait() {
	b.mu.Lock()
	if b.missing--; b.missing == 0 {
		b.then()
		close(b.all)
	}
	b.mu.Unlock()
	<-b.all
}

// announced holds a run at what it says first.
type announced struct {
	at   *barrier
	once sync.Once
}

func (a *announced) Write(b []byte) (int, error) {
	a.once.Do(a.at.wait)
	return len(b), nil
}
