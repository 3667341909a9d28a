package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile locks one byte far beyond the file's text: on Windows other processes cannot read a locked range, and they
// must be able to read who holds the lock.
func lockFile(f *os.File) error {
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0,
		1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errHeld
	}
	return err
}
