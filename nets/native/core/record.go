package core

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// recorded implements [nets.Recorded].
type recorded[X Tensor] struct {
	e       *Engine[X]
	name    string
	update  func()
	program Program  // what the backend made of the update at the first run
	first   []string // operations of the first run, in debug mode
	ran     bool
}

// Record implements [nets.Engine].
func (e *Engine[X]) Record(name string, update func()) nets.Recorded {
	return &recorded[X]{e: e, name: name, update: update}
}

// Run implements [nets.Recorded].
func (r *recorded[X]) Run() error {
	if r.update == nil {
		return fmt.Errorf("nets/native: recorded update %q has no function", r.name)
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
	if r.e.Failed() {
		return
	}
	if r.program == nil || r.e.debug { // in debug mode each run lists its operations
		p := r.e.back.Record(r.update)
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
	return r.wrap(difference(r.first, ops))
}
