package native

import (
	"sync"
	"sync/atomic"
)

// sticky keeps the first error until it is taken. Passes on several goroutines may put.
type sticky struct {
	set atomic.Bool
	mu  sync.Mutex
	err error
}

func (s *sticky) put(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		s.set.Store(true)
	}
}

func (s *sticky) take() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.err
	s.err = nil
	s.set.Store(false)
	return err
}
