package serving

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Buffers of bodies grow in steps, each four times the one before: what is announced takes no memory before it arrives.
// Those up to mostKept are used again.
const (
	firstStep = 4 << 10
	mostBegun = 64 << 10 // the most that is taken for a body of which nothing has arrived
	stepRatio = 4
	mostKept  = 1 << 20
)

// buffers are free ones of each step.
var buffers [5]sync.Pool

// stepOf is the first step that holds n bytes, len(buffers) where none does.
func stepOf(n int64) int {
	i := 0
	for size := int64(firstStep); size < n && i < len(buffers); i++ {
		size *= stepRatio
	}
	return i
}

// newBuffer returns an empty buffer for n bytes.
func newBuffer(n int64) *[]byte {
	step := stepOf(n)
	if step == len(buffers) {
		b := make([]byte, 0, n)
		return &b
	}
	if b, ok := buffers[step].Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, roomFor(n))
	return &b
}

// roomFor is the size of a buffer for n bytes.
func roomFor(n int64) int64 {
	step := stepOf(n)
	if step == len(buffers) {
		return n
	}
	size := int64(firstStep)
	for range step {
		size *= stepRatio
	}
	return size
}

func freeBuffer(b *[]byte) {
	if b == nil || cap(*b) > mostKept {
		return
	}
	*b = (*b)[:0]
	buffers[stepOf(int64(cap(*b)))].Put(b)
}

// readBody reads a body of at most MaxBody bytes within what requests may hold.
func (s *Server) readBody(k *work, w http.ResponseWriter, r *http.Request) error {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return failed(http.StatusUnsupportedMediaType, "Content-Encoding: %q is not supported, send the body as it is", e)
	}
	limit, length := s.options.MaxBody, r.ContentLength
	if length > limit {
		return s.tooLarge()
	}
	next := min(length, mostBegun)
	if length < 0 {
		next = firstStep
	}
	k.answer = w
	if err := s.memory.begin(&k.held, r.RemoteAddr, roomFor(next), k.stop); err != nil {
		return err
	}
	k.buffer = newBuffer(next)
	k.body = *k.buffer
	for {
		if done, err := s.fill(k, r); err != nil {
			return err
		} else if done {
			return s.memory.arrived(&k.held)
		}
		if err := s.grow(k, s.nextStep(int64(cap(k.body)), length)); err != nil {
			return err
		}
	}
}

func (s *Server) tooLarge() error {
	return failed(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", s.options.MaxBody)
}

// nextStep is the size of the buffer that follows one of a size, for a body of a length, −1 where it is not known.
func (s *Server) nextStep(size, length int64) int64 {
	if length < 0 {
		length = s.options.MaxBody + 1 // one more shows that it is too large
	}
	return min(size*stepRatio, length)
}

// grow gives a request a buffer for n bytes, with what has arrived.
func (s *Server) grow(k *work, n int64) error {
	if err := s.memory.hold(&k.held, roomFor(n)); err != nil {
		return err
	}
	old := k.buffer
	k.buffer = newBuffer(n)
	k.body = append(*k.buffer, k.body...)
	s.memory.release(&k.held, int64(cap(*old)))
	freeBuffer(old)
	return nil
}

// fill reads until the body ends, which it reports, or the buffer is full.
func (s *Server) fill(k *work, r *http.Request) (done bool, err error) {
	for {
		b := k.body
		free := b[len(b):cap(b)]
		if int64(len(b)) == r.ContentLength {
			if r.ProtoMajor < 2 {
				return true, nil // the last bytes came with the end
			}
			free = k.end[:]
		} else if len(free) == 0 {
			return false, nil
		}
		n, err := r.Body.Read(free)
		k.body = b[:min(len(b)+n, cap(b))]
		switch {
		case int64(len(k.body)) > s.options.MaxBody:
			return false, s.tooLarge()
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil && statusOf(err) == http.StatusRequestTimeout:
			return false, s.memory.late(&k.held, failed(http.StatusRequestTimeout, "the request did not arrive within %v: %d "+
				"bytes of its body did", s.options.ReadTimeout, len(k.body)))
		case err != nil:
			return false, &failure{http.StatusBadRequest, fmt.Errorf("reading the body: %w", err)}
		}
	}
}
