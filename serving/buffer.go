package serving

import (
	"bufio"
	"io"
	"sync"
	"time"
)

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
