package core

import (
	"fmt"
	"sync"
)

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
			return fmt.Errorf("nets/native: operation %d is %s, in the first run it was %s: "+
				"each run must do the same operations", i+1, b, a)
		}
	}
	return nil
}
