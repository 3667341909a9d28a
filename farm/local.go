package farm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// NewLocal returns a farm of this process. Its leases end by [LeaseTime] too; its files are in memory.
func NewLocal() Farm { return newLocal(LeaseTime) }

// NewOwn is NewLocal for workers that can't vanish: a process that stood still goes on with what it has leased.
func NewOwn() Farm { return newLocal(0) }

func newLocal(lease time.Duration) Farm {
	return &local{lease: lease, files: map[string][]byte{}, first: map[Key]Result{}, told: map[string]Standing{}, moved: make(chan struct{})}
}

type local struct {
	lease   time.Duration // 0: without end
	mu      sync.Mutex
	queue   []*item
	results []Result
	first   map[Key]Result
	fault   error
	files   map[string][]byte
	told    map[string]Standing
	ended   bool
	moved   chan struct{} // closed and made anew at every change
}

// item is a task in the queue, or leased.
type item struct {
	task     Task
	vanished []string
	worker   string
	turn     int // of leases: an earlier one is over
	timer    *time.Timer
}

// held is a lease's handle.
type held struct {
	item *item
	turn int
}

// move wakes all who wait; the mutex is held.
func (f *local) move() {
	close(f.moved)
	f.moved = make(chan struct{})
}

// wait calls try, with the mutex held, until it is done.
func (f *local) wait(ctx context.Context, try func() bool) error {
	for {
		f.mu.Lock()
		if try() {
			f.mu.Unlock()
			return nil
		}
		moved := f.moved
		f.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *local) Submit(_ context.Context, tasks ...Task) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range tasks {
		delete(f.first, t.Unit.Key())
		f.queue = append(f.queue, &item{task: t})
	}
	f.move()
	return nil
}

func (f *local) Result(ctx context.Context) (r Result, err error) {
	var fault error
	err = f.wait(ctx, func() bool {
		switch fault = f.fault; {
		case fault != nil:
			return true
		case len(f.results) == 0:
			return false
		}
		r, f.results = f.results[0], f.results[1:]
		return true
	})
	if err == nil {
		err = fault
	}
	return r, err
}

func (f *local) Lease(ctx context.Context, worker string) (l *Lease, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ended := false
	err = f.wait(ctx, func() bool {
		if len(f.queue) == 0 {
			ended = f.ended
			return ended
		}
		i := f.queue[0]
		f.queue = f.queue[1:]
		i.worker = worker
		i.turn++
		turn := i.turn
		if f.lease > 0 {
			i.timer = time.AfterFunc(f.lease, func() { f.expire(i, turn) })
		}
		l = NewLease(i.task, &held{i, turn})
		return true
	})
	if ended {
		return nil, ErrEnded
	}
	return l, err
}

// expire takes a lease from a silent worker.
func (f *local) expire(i *item, turn int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i.turn != turn {
		return
	}
	i.turn++
	i.vanished = append(i.vanished, i.worker)
	if len(i.vanished) < MaxVanished {
		f.queue = append(f.queue, i)
	} else {
		f.store(PutAside(&i.task.Unit, i.vanished))
	}
	f.move()
}

// PutAside is the result of a unit under which workers vanished.
func PutAside(u *Unit, vanished []string) Result {
	return Result{Key: u.Key(), Name: u.Name, Worker: vanished[len(vanished)-1], Aside: true, Error: fmt.Sprintf(
		"put aside: workers %s vanished while they worked on it; it may ask for more memory than they have", strings.Join(vanished, ", "))}
}

// own reports whether the lease is the worker's still; the mutex is held. It ends the lease.
func (f *local) own(l *Lease) bool {
	h := l.handle.(*held)
	if h.item.turn != h.turn {
		return false
	}
	h.item.turn++
	if h.item.timer != nil {
		h.item.timer.Stop()
	}
	return true
}

func (f *local) Extend(l *Lease) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := l.handle.(*held); h.item.turn == h.turn && f.lease > 0 {
		h.item.timer.Reset(f.lease)
	}
	return nil
}

func (f *local) Return(_ context.Context, l *Lease, kept []File) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own(l) {
		i := l.handle.(*held).item
		i.task.Kept = kept
		f.queue = append(f.queue, i)
		f.move()
	}
	return nil
}

func (f *local) Done(_ context.Context, l *Lease, r Result) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.own(l)
	f.store(r)
	f.move()
	return nil
}

// store keeps a unit's first result, and compares a second one; the mutex is held.
func (f *local) store(r Result) {
	if was, ok := f.first[r.Key]; ok {
		if err := Same(was, r); err != nil && f.fault == nil {
			f.fault = err
		}
		return
	}
	f.first[r.Key] = r
	f.results = append(f.results, r)
}

func name(k Key, f File) string { return string(k) + "/" + string(f.Hash) }

func (f *local) Put(_ context.Context, k Key, file File, r io.Reader) error {
	b, err := io.ReadAll(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[name(k, file)] = b
	return err
}

func (f *local) Get(_ context.Context, k Key, file File) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, ok := f.files[name(k, file)]
	if !ok {
		return nil, fmt.Errorf("file %s of unit %.12s: %w", file.Name, k, ErrGone)
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

func (f *local) Drop(_ context.Context, k Key, list []File) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, file := range Stored(list) {
		delete(f.files, name(k, file))
	}
	return nil
}

func (f *local) Tell(_ context.Context, s Standing) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told[s.Worker] = s
	return nil
}

func (f *local) Told(context.Context) ([]Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Standing
	for _, s := range f.told {
		out = append(out, s)
	}
	return out, nil
}

func (f *local) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.move()
	return nil
}
