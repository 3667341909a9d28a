package core

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// State is what all parts of one engine share: its first failure, and whether a recorded update is running or
// being captured.
type State struct {
	failed atomic.Bool
	mu     sync.Mutex
	err    error

	ids       atomic.Int64 // of tensors and Works, for errors and the debug mode's lists
	debug     bool
	trace     trace
	capturing bool
}

// NewState returns the state of a new engine. With debug, every run of a recorded update is compared with its first.
func NewState(debug bool) *State { return &State{debug: debug} }

// Fail stores the first failure until Err takes it. Passes on several goroutines may call it. The format says
// what was wrong and what would be right.
func (s *State) Fail(op, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = fmt.Errorf("nets/native: "+op+": "+format, args...)
		s.failed.Store(true)
	}
}

// Failed says that operations do nothing until Err is called.
func (s *State) Failed() bool { return s.failed.Load() }

// Err implements [nets.Engine].
func (s *State) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.err = nil
	s.failed.Store(false)
	return err
}

// Capture calls update while operations are to be captured instead of run.
func (s *State) Capture(update func()) {
	s.capturing = true
	defer func() { s.capturing = false }()
	update()
}

// recording says that a recorded update is captured or, in debug mode, running.
func (s *State) recording() bool { return s.capturing || s.debugged() }

// debugged says that the debug mode lists operations.
func (s *State) debugged() bool { return s.debug && s.trace.running() }
