//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package durable

import (
	"errors"
	"os"
	"runtime"
)

// lockFile refuses: without a lock that ends with its process, two runs could use the same folder.
func lockFile(*os.File) error {
	return errors.New("file locks are not available on " + runtime.GOOS + ": runs need Linux, macOS, a BSD or Windows")
}
