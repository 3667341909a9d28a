package farm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Worker carries out units.
type Worker struct {
	// Name is unique in the farm.
	Name string
	// Slots is the number of units at a time.
	Slots int
	// Do carries a unit out, and counts environment steps in steps. Where ctx ends it saves, and returns the files to
	// keep with ctx's cause. An error that is no result of the unit, such as a full disk, ends the worker, and the unit
	// goes to another.
	Do func(ctx context.Context, l *Lease, steps *atomic.Int64) (r Result, kept []File, err error)
	// Telling is how often it says what it does; never where 0.
	Telling time.Duration
}

// Work carries out units of a farm until the study ends, ctx ends, or one can't be carried out here. The error is then
// nil, ctx's cause, or why.
func Work(ctx context.Context, f Farm, w Worker) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	now := &atWork{worker: w, units: map[*Lease]*atomic.Int64{}}
	if w.Telling > 0 {
		go now.tell(ctx, f)
	}
	var all sync.WaitGroup
	errs := make([]error, w.Slots)
	for i := range errs {
		all.Go(func() {
			for errs[i] == nil {
				errs[i] = now.one(ctx, f)
			}
			if !errors.Is(errs[i], ErrEnded) {
				stop(errs[i])
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if !errors.Is(err, ErrEnded) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// atWork is a worker with what it does.
type atWork struct {
	worker Worker
	mu     sync.Mutex
	units  map[*Lease]*atomic.Int64
	done   int
	steps  int64 // of units that are over
}

// one leases a unit and carries it out.
func (a *atWork) one(ctx context.Context, f Farm) error {
	l, err := f.Lease(ctx, a.worker.Name)
	if err != nil {
		return err
	}
	steps := new(atomic.Int64)
	a.mu.Lock()
	a.units[l] = steps
	a.mu.Unlock()
	over := make(chan struct{})
	var extends sync.WaitGroup
	extends.Go(func() { extend(f, l, over) })
	r, kept, err := a.worker.Do(ctx, l, steps)
	// What is saved is delivered, although ctx has ended.
	late := context.WithoutCancel(ctx)
	if err == nil {
		r.Key, r.Name, r.Worker = l.Key, l.Unit.Name, a.worker.Name
		err = f.Done(late, l, r)
	} else {
		err = errors.Join(err, f.Return(late, l, kept))
	}
	close(over)
	extends.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.units, l)
	a.done++
	a.steps += steps.Load()
	return err
}

// extend extends a lease until its unit is over.
func extend(f Farm, l *Lease, over <-chan struct{}) {
	tick := time.NewTicker(LeaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = f.Extend(l) // where it is lost the unit is carried out twice, which is harmless
		case <-over:
			return
		}
	}
}

// tell says now and then what the worker does.
func (a *atWork) tell(ctx context.Context, f Farm) {
	tick := time.NewTicker(a.worker.Telling)
	defer tick.Stop()
	var before int64
	last := time.Now()
	for {
		s, now := a.standing()
		if passed := time.Since(last).Seconds(); passed > 0 {
			s.Rate = float64(now-before) / passed
		}
		before, last = now, time.Now()
		_ = f.Tell(ctx, s) // for people: the next one may come through
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// standing is what the worker does, and the steps that it has done in all.
func (a *atWork) standing() (s Standing, steps int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, steps = Standing{Worker: a.worker.Name, Slots: a.worker.Slots, Done: a.done}, a.steps
	for l, n := range a.units {
		u := Working{l.Key, l.Unit.Name, n.Load()}
		s.Units = append(s.Units, u)
		steps += u.Steps
	}
	return s, steps
}
