//go:build linux || darwin

package libtorch

import (
	"os"
	"path/filepath"
	"syscall"
)

// diskFree is the space left to this user on the file system that holds dir,
// or its nearest parent that exists, in bytes.
func diskFree(dir string) (uint64, error) {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return st.Bavail * uint64(st.Bsize), nil
}
