//go:build unix

package models

import (
	"os"
	"syscall"
)

// inode is the file's number on its disk: a file that is renamed into place may keep size and time.
func inode(info os.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino) //nolint:unconvert // 32 bits on some systems
	}
	return 0
}
