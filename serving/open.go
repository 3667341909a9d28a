package serving

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/stoker-rl/stoker/policy"
	"github.com/stoker-rl/stoker/serving/models"
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

// Open returns a server of bundles, and of those in a folder ("" is none). All must pass.
func Open(specs []models.Spec, folder string, p policy.Options, security *Security, o Options) (*Server, error) {
	var s *Server
	var early []error // of files that are left out; what else fails at the start is returned
	set, err := models.NewSet(specs, models.Options{
		Folder: folder, MaxBytes: bundleBytes(p.MaxBytes),
		Open: func(data []byte) (models.Policy, error) {
			q, err := policy.OpenBytes(data, p)
			if err != nil {
				return nil, err // not q: an interface around a nil pointer would not be nil
			}
			return q, nil
		},
		Tell: func(e models.Event) {
			if s != nil {
				s.Told(e)
			} else if e.Model == "" {
				early = append(early, e.Err)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	if len(set.Names()) == 0 {
		none := fmt.Errorf("%s has no bundle (*%s): make one with stoker export", folder, models.Extension)
		return nil, errors.Join(append(early, none)...)
	}
	if s, err = New(set, security, o); err != nil {
		return nil, err
	}
	for _, err := range early {
		s.Told(models.Event{Err: err})
	}
	return s, nil
}

// bundleBytes is the most bytes of a file whose tensors have at most n: the header and a little more.
func bundleBytes(n int64) int64 {
	const header = 2 << 20
	if n == 0 {
		n = 256 << 20
	}
	return n + header
}

// Lines say what is served and where, for people.
func (s *Server) Lines(l Listeners, took time.Duration) []string {
	var out []string
	for _, name := range s.set.Names() {
		v, err := s.set.Acquire(name, "")
		if err != nil {
			continue // unloaded meanwhile
		}
		a := v.Bundle().Agent
		out = append(out, fmt.Sprintf("model  %s  %s for %s  sha256:%s", name, a.Name, a.Env, v.Digest))
		v.Release()
	}
	scheme := "http"
	if s.security.tlsConfig() != nil {
		scheme = "https"
	}
	for _, at := range []struct {
		what string
		l    net.Listener
		url  string
	}{
		{"HTTP", l.HTTP, scheme + "://%s/v2"}, {"gRPC", l.GRPC, "%s"}, {"admin", l.Admin, scheme +
			"://%s/v2/repository/index"},
	} {
		if at.l != nil {
			out = append(out, fmt.Sprintf("%-5s  "+at.url, at.what, at.l.Addr()))
		}
	}
	return append(out, fmt.Sprintf("ready after %.0f ms", float64(took.Microseconds())/1000))
}

// buffer collects lines of a log: a system call for each would cost a request a tenth of its time.
type buffer struct {
	mu   sync.Mutex
	to   *bufio.Writer
	stop chan struct{}
	done sync.WaitGroup
}

// Buffer returns a writer for logs that passes on what it holds every tenth of a second, and when it is closed.
func Buffer(w io.Writer) io.WriteCloser {
	b := &buffer{to: bufio.NewWriterSize(w, 64<<10), stop: make(chan struct{})}
	b.done.Go(func() {
		t := time.NewTicker(100 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				b.flush()
			case <-b.stop:
				b.flush()
				return
			}
		}
	})
	return b
}

func (b *buffer) flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.to.Flush() // a log that cannot be written has nobody to tell
}

// Write implements [io.Writer].
func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.to.Write(p)
}

// Close writes what is left.
func (b *buffer) Close() error {
	close(b.stop)
	b.done.Wait()
	return nil
}
