package variants

import (
	"crypto/sha256"
	"fmt"
	"sync"
)

// store keeps what the environments of a process have in common: an evaluation plays the same problems once for each
// policy, each in environments of its own, and the exact fronts of an application, which belong to its model, may take
// minutes.
var store sync.Map

// drawnAs is the key of a generated application: its number and the range of functions that it was drawn from.
type drawnAs struct {
	n        uint64
	from, to int
}

// question is the key of the best outcome of a problem of an application.
type question struct {
	model   *Model
	problem Problem
}

// shared returns what is kept under a key; make makes it once.
func shared[T any](key any, make func() (T, error)) (T, error) {
	once, ok := store.Load(key)
	if !ok {
		once, _ = store.LoadOrStore(key, sync.OnceValues(make))
	}
	return once.(func() (T, error))()
}

// sharedAs returns the first value that was given for a key.
func sharedAs[T any](key string, v T) T {
	first, _ := store.LoadOrStore(key, v)
	return first.(T)
}

// generated returns a generated application. All that ask for it have the same one.
func generated(n uint64, from, to int) (*Model, error) {
	return shared(drawnAs{n, from, to}, func() (*Model, error) {
		app, err := Generate(n, from, to)
		if err != nil {
			return nil, err
		}
		return app.Compile()
	})
}

// fingerprint tells models apart: by what their application says and by what its files of profiles gave.
func (m *Model) fingerprint() string {
	h, a := sha256.New(), m.App
	fmt.Fprintf(h, "%+v %q %v %v ", a.Workflow, a.Accuracy, a.Weights, a.Normalize)
	fmt.Fprintf(h, "%+v %+v %+v %v %v %v", m.Delays, m.Options, m.Variants, m.Fixed, m.Orchestration, m.Transitions)
	return fmt.Sprintf("%x", h.Sum(nil))
}
