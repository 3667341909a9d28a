//go:build unix

package remote

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Eager returns a reader of a pipe that looks again and again for a while before it sleeps: to be woken takes longer than
// small environments take to step. It looks less where that was in vain. Other files are returned as they are.
func Eager(f *os.File) io.Reader {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return f
	}
	fd, err := syscall.Dup(int(f.Fd())) // the runtime may wait for f already
	if err != nil {
		return f
	}
	if syscall.SetNonblock(fd, true) != nil {
		_ = syscall.Close(fd) // f is read as it is
		return f
	}
	return &eager{fd: fd, file: os.NewFile(uintptr(fd), f.Name()), looks: mostLooks}
}

// mostLooks and leastLooks bound how often is looked: for some 120 and 2 microseconds.
const mostLooks, leastLooks = 512, 8

type eager struct {
	fd    int
	file  *os.File // sleeps until there is something
	looks int
}

func (e *eager) Read(p []byte) (int, error) {
	for range e.looks {
		n, err := syscall.Read(e.fd, p)
		switch {
		case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		e.looks = mostLooks
		return n, nil
	}
	e.looks = max(e.looks/2, leastLooks)
	return e.file.Read(p)
}
