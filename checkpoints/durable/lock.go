package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Lock is a file lock held by one process. The operating system releases it when the process ends, also in a crash; the
// file itself stays.
type Lock struct {
	f *os.File
}

// HeldError says that another process holds a lock.
type HeldError struct {
	// Path is the lock file.
	Path string
	// Holder is the text that the holder wrote there, for example "pid 4711 on host gpu3"; empty when it cannot be read.
	Holder string
}

// Error names the lock and who holds it.
func (e *HeldError) Error() string {
	who := e.Holder
	if who == "" {
		who = "another process"
	}
	return fmt.Sprintf("%s: in use by %s", e.Path, who)
}

// errHeld is the error of lockFile where another process has the lock.
var errHeld = errors.New("held")

// holderBytes is the most bytes that are read of a lock file, since another process writes it.
const holderBytes = 300

// AcquireLock takes the lock at path, creates a missing file, and writes this process's id and host into it. It does
// not wait: where another process has the lock, the error is a [*HeldError].
func AcquireLock(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		defer f.Close()
		if errors.Is(err, errHeld) {
			return nil, &HeldError{Path: path, Holder: readHolder(f)}
		}
		return nil, fmt.Errorf("%s: cannot lock: %w", path, err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "(unknown)"
	}
	l := &Lock{f: f}
	if err := l.describe(fmt.Sprintf("pid %d on host %s\n", os.Getpid(), host)); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// describe replaces the lock file's text. It only informs people, so it is not synced.
func (l *Lock) describe(text string) error {
	if err := l.f.Truncate(0); err != nil {
		return err
	}
	_, err := l.f.WriteAt([]byte(text), 0)
	return err
}

// Release releases the lock.
func (l *Lock) Release() error {
	if err := l.describe(""); err != nil {
		l.f.Close()
		return err
	}
	return l.f.Close()
}

func readHolder(f *os.File) string {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, holderBytes))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.ToValidUTF8(line, "?")
}

// Scratch makes a folder, whose name begins with a prefix, in parent or, where that is empty, among the system's temporary ones,
// and removes those of processes that were killed. A folder has a file of the name ours once its lock is held: without one,
// another process is just making it. Leave removes the folder.
func Scratch(parent, prefix string) (dir string, leave func() error, err error) {
	const ours, lock = "ours", "lock"
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", nil, err
	}
	for _, e := range entries {
		d := filepath.Join(parent, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(d, ours)); err != nil {
			continue
		}
		if l, err := AcquireLock(filepath.Join(d, lock)); err == nil {
			_ = errors.Join(l.Release(), os.RemoveAll(d)) // what stays is the next process's to remove
		}
	}
	if dir, err = os.MkdirTemp(parent, prefix); err != nil {
		return "", nil, err
	}
	l, err := AcquireLock(filepath.Join(dir, lock))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	leave = func() error { return errors.Join(l.Release(), os.RemoveAll(dir)) } // in this order: Windows removes no open file
	if err := os.WriteFile(filepath.Join(dir, ours), nil, 0o600); err != nil {
		return "", nil, errors.Join(err, leave())
	}
	return dir, leave, nil
}
