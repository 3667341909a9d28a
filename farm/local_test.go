package farm_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/farmtest"
	"github.com/stoker-rl/stoker/internal/must"
)

func TestLocal(t *testing.T) {
	farmtest.Run(t, func(*testing.T) (farm.Farm, farm.Farm) {
		f := farm.NewLocal()
		return f, f
	}, nil)
}

// A worker extends the lease of a long unit, returns what it can't do, and ends.
func TestWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := farm.NewLocal()
		for i := range uint64(4) {
			must.Do(t, f.Submit(t.Context(), farm.Task{Unit: farmtest.Unit("u", i)}))
		}
		must.Do(t, f.Close())
		runs := new(atomic.Int64)
		must.Do(t, farm.Work(t.Context(), f, farm.Worker{Name: "w", Slots: 2, Telling: 70 * time.Second,
			Do: func(_ context.Context, l *farm.Lease, steps *atomic.Int64) (farm.Result, []farm.File, error) {
				runs.Add(1)
				for range 10 {
					time.Sleep(farm.LeaseTime) // of the bubble
					steps.Add(10)
				}
				return farm.Result{}, nil, nil
			}}))
		for range 4 {
			if r := must.Get(f.Result(t.Context()))(t); r.Worker != "w" || r.Key == "" {
				t.Errorf("%+v", r)
			}
		}
		if runs.Load() != 4 {
			t.Errorf("%d runs of 4 units", runs.Load())
		}
		told := must.Get(f.Told(t.Context()))(t)
		if len(told) != 1 || told[0].Done != 2 || told[0].Rate <= 0 {
			t.Errorf("told %+v", told)
		}
	})
}

// A worker that can't carry units out hands the unit back with what it kept, and ends with the reason.
func TestWorkEnds(t *testing.T) {
	f := farm.NewLocal()
	must.Do(t, f.Submit(t.Context(), farm.Task{Unit: farmtest.Unit("u", 1)}))
	full := errors.New("the disk is full")
	kept := []farm.File{{Name: "a", Hash: farm.HashOf(nil)}}
	err := farm.Work(t.Context(), f, farm.Worker{Name: "w", Slots: 3,
		Do: func(context.Context, *farm.Lease, *atomic.Int64) (farm.Result, []farm.File, error) {
			return farm.Result{}, kept, full
		}})
	if !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	if l := must.Get(f.Lease(t.Context(), "v"))(t); len(l.Kept) != 1 {
		t.Errorf("kept %v", l.Kept)
	}
}
