package native

import (
	"fmt"
	"sync"

	"github.com/stoker-rl/stoker/nets"
)

// recorded implements [nets.Recorded]: it calls the function each time.
type recorded[T number] struct {
	e      *engine[T]
	name   string
	update func()
	first  []string // operations of the first run, in debug mode
	ran    bool
	prog   *program // where kernels do the work
}

// Record implements [nets.Engine].
func (e *engine[T]) Record(name string, update func()) nets.Recorded {
	return &recorded[T]{e: e, name: name, update: update}
}

// Run implements [nets.Recorded].
func (r *recorded[T]) Run() error {
	if r.update == nil {
		return fmt.Errorf("nets/native: recorded update %q has no function", r.name)
	}
	if t := r.e.tiler; t != nil && t.capture != nil {
		r.e.fail("Run", "%q within another recorded update, want one after the other", r.name)
		return nil // the outer Run reports it
	}
	if r.e.debug {
		return r.compare()
	}
	r.once()
	return r.wrap(r.e.Err())
}

// once does the update: with kernels, as the program that the first time has made of it.
func (r *recorded[T]) once() {
	t := r.e.tiler
	if t == nil {
		r.update()
		return
	}
	if r.e.failed() {
		return
	}
	if r.prog == nil || r.e.debug {
		p := t.list(r.update)
		if r.e.failed() {
			return
		}
		if r.prog == nil {
			r.prog = p
		}
	}
	r.prog.run()
}

func (r *recorded[T]) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("recorded update %q: %w", r.name, err)
	}
	return nil
}

// compare runs the update and holds its operations against those of the first run.
func (r *recorded[T]) compare() error {
	if !r.e.trace.start() {
		r.e.fail("Run", "%q within another recorded update, want one after the other", r.name)
		return nil // the outer Run reports it
	}
	r.once()
	ops := r.e.trace.stop()
	if err := r.e.Err(); err != nil {
		return r.wrap(err)
	}
	if !r.ran {
		r.first, r.ran = ops, true
		return nil
	}
	return r.wrap(difference(r.first, ops))
}

// difference names the first operation that differs from the first run's.
func difference(want, got []string) error {
	const ended = "the end"
	at := func(ops []string, i int) string {
		if i < len(ops) {
			return ops[i]
		}
		return ended
	}
	for i := range max(len(want), len(got)) {
		if a, b := at(want, i), at(got, i); a != b {
			return fmt.Errorf("nets/native: operation %d is %s, in the first run it was %s: each run must do the same operations", i+1, b, a)
		}
	}
	return nil
}

// trace is the debug mode's list of the operations of the recorded update that is running.
type trace struct {
	mu  sync.Mutex
	on  bool
	ops []string
}

func (t *trace) start() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on {
		return false
	}
	t.on, t.ops = true, nil
	return true
}

func (t *trace) stop() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = false
	return t.ops
}

func (t *trace) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.on
}

func (t *trace) add(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on {
		t.ops = append(t.ops, fmt.Sprintf(format, args...))
	}
}
