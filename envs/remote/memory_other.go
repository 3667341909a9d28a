//go:build !unix && !windows

package remote

import (
	"errors"
	"runtime"
)

// Memory returns an error: on this system programs share none.
func Memory(string) func(bytes int) ([]byte, error) {
	return func(int) ([]byte, error) {
		return nil, errors.New("memory: programs on " + runtime.GOOS + " share none")
	}
}
