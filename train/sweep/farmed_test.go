package sweep

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/catalog"
	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/train"
)

// away is a farm of this process with some workers. Units for which fails says why fail at a step.
func away(t *testing.T, workers int, fails func(u *farm.Unit) string) *train.Elsewhere {
	t.Helper()
	e := &train.Elsewhere{Farm: farm.NewLocal(), Revision: "test", Kernels: must.Get(train.Kernels())(t)}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range workers {
		w := &train.Worker{Farm: e.Farm, Scratch: t.TempDir(), MaxSteps: 1e6, Revision: "test", Kernels: e.Kernels}
		do := func(ctx context.Context, l *farm.Lease, n *atomic.Int64) (farm.Result, []farm.File, error) {
			if fails != nil && fails(&l.Unit) != "" {
				return farm.Result{Error: fails(&l.Unit), AtStep: true}, nil, nil
			}
			return w.Do(ctx, l, n)
		}
		all.Go(func() {
			_ = farm.Work(ctx, e.Farm, farm.Worker{Name: fmt.Sprint("w", i), Slots: 1, Do: do}) // its end is the test's
		})
	}
	t.Cleanup(func() { stop(); all.Wait() })
	return e
}

// A study whose rungs workers train leaves the bytes of one at home, for any number of workers, and where its coordinator
// stops after any three results and another farm goes on.
func TestStudyElsewhere(t *testing.T) {
	plan := func() *Plan { return study(t, func(s *Study) { s.Propose = Halton }) }
	home := filepath.Join(t.TempDir(), "a")
	must.Do(t, prepare(t, home, plan(), false).Run(t.Context(), Options{Jobs: 2, Train: fast}))
	want := left(t, home)
	dir := filepath.Join(t.TempDir(), "b")
	must.Do(t, prepare(t, dir, plan(), false).Run(t.Context(), Options{Train: train.Options{FS: fast.FS, Elsewhere: away(t, 3, nil)}}))
	same(t, "three workers", left(t, dir), want)

	dir = filepath.Join(t.TempDir(), "c")
	stops := 0
	for {
		ctx, stop := context.WithCancelCause(t.Context())
		ended := 0
		o := Options{Train: train.Options{FS: fast.FS, Elsewhere: away(t, 1, nil)}, Ended: func(Arm, Run) {
			if ended++; ended == 3 {
				stop(errEnough)
			}
		}}
		err := prepare(t, dir, plan(), false).Run(ctx, o)
		if err == nil {
			break
		}
		if stops++; !errors.Is(err, errEnough) || stops > 50 {
			t.Fatal(err)
		}
	}
	if stops < 2 {
		t.Errorf("stopped %d times, want several", stops)
	}
	same(t, "stopped and gone on", left(t, dir), want)
}

// A trial that diverges at a worker comes last, and is not trained again: the study's file is the same after every opening.
func TestFailsElsewhere(t *testing.T) {
	for _, until := range []int64{10, 20} { // at the first rung there is no folder, at the second that of the first
		dir := filepath.Join(t.TempDir(), "a")
		p := study(t, nil)
		p.Random, p.Trials, p.Seed = nil, 0, 0
		p.Grid = []Axis{{"agent.actor_rate", []string{"1e-3", "1", "2e-3", "3e-3"}}}
		units := 0
		fails := func(u *farm.Unit) string {
			if strings.HasPrefix(u.Name, "actor_rate-1e-3-") && u.Until == until {
				units++
				return "at step 7: the loss is NaN"
			}
			return ""
		}
		s := prepare(t, dir, p, false)
		must.Do(t, s.Run(t.Context(), Options{Train: train.Options{FS: fast.FS, Elsewhere: away(t, 1, fails)}}))
		want := left(t, dir)
		s = must.Get(Open(dir, catalog.Default()))(t)
		r := s.Arms[0].Runs[0]
		if r.Status != Failed || r.Error != "at step 7: the loss is NaN" || r.Scores[len(r.Scores)-1].Values[0] != nil {
			t.Fatalf("until %d: %+v", until, r)
		}
		must.Do(t, s.Run(t.Context(), Options{Jobs: 1, Train: fast}))
		same(t, "opened again", left(t, dir), want)
		if units == 0 {
			t.Error("no unit was to fail")
		}
	}
}
