package serving

import (
	"fmt"
	"log/slog"
	"time"
)

// Options are a server's limits and its log.
type Options struct {
	// Version is the program's, for metadata.
	Version string
	// MaxBody is the most bytes of a request's body, MaxBatch the most rows.
	MaxBody  int64
	MaxBatch int
	// MaxInFlight is how many requests that have arrived are decided and answered at once.
	MaxInFlight int
	// MaxMemory is the most bytes that all requests may hold together: their bodies, those that still arrive included, and
	// what is decoded of them. MaxArriving is how many bodies of one peer arrive at once; beyond it the oldest gives way.
	MaxMemory   int64
	MaxArriving int
	// MaxConnections is how many connections a peer has at once; all peers together have at most four times as many.
	MaxConnections int
	// ReadTimeout is how long a request may take to arrive, Deadline how long its decision may take after that, Idle how
	// long a connection is kept that says nothing.
	ReadTimeout, Deadline, Idle time.Duration
	// Grace is how long requests under way may take to end after the server was told to stop. Linger is how long it still
	// takes new ones before that, not ready, so that those who send them find out.
	Grace, Linger time.Duration
	// Poll is how often files are looked at; 0 is never.
	Poll time.Duration
	// Now reads the clock that deadlines are compared with; nil is time.Now.
	Now func() time.Time
	// Log takes what happens, Access a line for each request; nil is no log.
	Log, Access *slog.Logger
}

// Defaults are the limits that `stoker serve` begins with.
func Defaults() Options {
	return Options{
		Version: "devel", MaxBody: 8 << 20, MaxBatch: 4096, MaxInFlight: 1024,
		MaxMemory: 128 << 20, MaxArriving: 256, MaxConnections: 1024,
		ReadTimeout: 10 * time.Second, Deadline: 2 * time.Second, Idle: 2 * time.Minute,
		Grace: 20 * time.Second, Linger: time.Second, Poll: time.Second,
	}
}

func (o *Options) check() error {
	for _, c := range []struct {
		what string
		bad  bool
	}{
		{"the most bytes of a body", o.MaxBody < 1}, {"the most rows of a batch", o.MaxBatch < 1},
		{"the requests in flight", o.MaxInFlight < 1}, {"the memory of all requests", o.MaxMemory < 1},
		{"the bodies of a peer that arrive at once", o.MaxArriving < 1}, {"the connections of a peer", o.MaxConnections < 1},
		{"the time to read a request", o.ReadTimeout <= 0},
		{"the deadline", o.Deadline <= 0}, {"the idle time", o.Idle <= 0},
	} {
		if c.bad {
			return fmt.Errorf("serving: %s must be above 0", c.what)
		}
	}
	if o.Grace < 0 || o.Linger < 0 || o.Poll < 0 {
		return fmt.Errorf("serving: times must not be negative")
	}
	return nil
}
