//go:build libtorch

package torch

import "sync"

// failure stores an engine's first error until take. Forward passes on several goroutines may report.
type failure struct {
	mu  sync.Mutex
	err error
}

func (f *failure) report(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

func (f *failure) take() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.err
	f.err = nil
	return err
}

func (f *failure) pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err != nil
}
