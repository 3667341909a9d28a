package core

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stoker-rl/stoker/nets"
)

// State is what all parts of one engine share: its name, its first failure, and whether a recorded update is running
// or being captured.
type State struct {
	// MaxValues bounds a tensor: more is taken for a mistake in the shape.
	MaxValues int

	name   string
	failed atomic.Bool // or closed
	closed atomic.Bool
	mu     sync.Mutex
	err    error

	ids       atomic.Int64 // of tensors and Works, for errors and the debug mode's lists
	debug     bool
	trace     trace
	capturing bool
	updating  bool // in Update
}

// NewState returns the state of a new native engine. With debug, every run of a recorded update is compared with its
// first.
func NewState(debug bool) *State {
	s := Named("native")
	s.debug = debug
	return s
}

// Named returns the state of a new engine of another name. Tensors may have 2³⁰ values, 4 GiB of float32.
func Named(name string) *State { return &State{name: name, MaxValues: 1 << 30} }

// errorf is an error of the engine. The format says what was wrong and what would be right.
func (s *State) errorf(format string, args ...any) error {
	return fmt.Errorf("nets/"+s.name+": "+format, args...)
}

// Fail stores the first failure until Err takes it. Passes on several goroutines may call it. The format says
// what was wrong and what would be right.
func (s *State) Fail(op, format string, args ...any) {
	s.report(s.errorf(op+": "+format, args...))
}

func (s *State) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.failed.Store(true)
	}
}

// Failed says that operations do nothing: after a failure until Err is called, and after Close.
func (s *State) Failed() bool { return s.failed.Load() }

// Stopped is Failed at the beginning of an operation. After Close that is a failure of its own.
func (s *State) Stopped(op string) bool {
	if !s.Failed() {
		return false
	}
	if s.closed.Load() {
		s.Fail(op, "the engine is closed")
	}
	return true
}

// Err implements [nets.Engine].
func (s *State) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.err = nil
	s.failed.Store(s.closed.Load())
	return err
}

// Close makes every later operation a failure, for engines whose tensors are gone then. It is false where the engine
// was closed before.
func (s *State) Close() bool {
	first := !s.closed.Swap(true)
	s.failed.Store(true)
	return first
}

// Closed says whether Close was called.
func (s *State) Closed() bool { return s.closed.Load() }

// Capture calls update while operations are to be captured instead of run.
func (s *State) Capture(update func()) {
	s.capturing = true
	defer func() { s.capturing = false }()
	update()
}

// Update calls a recorded update operation by operation, while networks over graphs refuse to run.
func (s *State) Update(update func()) {
	defer func(was bool) { s.updating = was }(s.updating)
	s.updating = true
	update()
}

// recording says that a recorded update is captured or, in debug mode, running.
func (s *State) recording() bool { return s.capturing || s.debugged() }

// debugged says that the debug mode lists operations.
func (s *State) debugged() bool { return s.debug && s.trace.running() }

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

// Compare stores a failure that names the first operation of a run of an update that differs from an earlier run's.
func (s *State) Compare(want, got []string) {
	const ended = "the end"
	at := func(ops []string, i int) string {
		if i < len(ops) {
			return ops[i]
		}
		return ended
	}
	for i := range max(len(want), len(got)) {
		if a, b := at(want, i), at(got, i); a != b {
			s.report(s.errorf("operation %d is %s, before it was %s: each run must do the same operations", i+1, b, a))
			return
		}
	}
}

// recorded implements [nets.Recorded].
type recorded[X Tensor] struct {
	e       *Engine[X]
	name    string
	updates []func()
	program Program  // what the backend made of the updates at the first run
	first   []string // operations of the first run, in debug mode
	ran     bool
}

// Record implements [nets.Engine].
func (e *Engine[X]) Record(name string, updates ...func()) nets.Recorded {
	return &recorded[X]{e: e, name: name, updates: updates}
}

// NoFunction says that a recorded update has none, or one that is nil.
func NoFunction(updates []func()) bool {
	return len(updates) == 0 || slices.ContainsFunc(updates, func(u func()) bool { return u == nil })
}

// Run implements [nets.Recorded].
func (r *recorded[X]) Run() error {
	if NoFunction(r.updates) {
		return r.e.errorf("recorded update %q has no function", r.name)
	}
	if r.e.capturing {
		return r.nested()
	}
	if r.e.debug {
		return r.compare()
	}
	r.once()
	return r.wrap(r.e.Err())
}

// nested refuses a Run within another one, which reports it.
func (r *recorded[X]) nested() error {
	r.e.Fail("Run", "%q within another recorded update, want one after the other", r.name)
	return nil
}

// once does the update by the program that the first run has made of it.
func (r *recorded[X]) once() {
	if r.e.Stopped("Run") {
		return
	}
	if r.program == nil || r.e.debug { // in debug mode each run lists its operations
		p := r.e.back.Record(r.updates)
		if r.e.Failed() {
			return
		}
		if r.program == nil {
			r.program = p
		}
	}
	r.program.Run()
}

func (r *recorded[X]) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("recorded update %q: %w", r.name, err)
	}
	return nil
}

// compare runs the update and compares its operations with those of the first run.
func (r *recorded[X]) compare() error {
	if !r.e.trace.start() {
		return r.nested()
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
	r.e.Compare(r.first, ops)
	return r.wrap(r.e.Err())
}
