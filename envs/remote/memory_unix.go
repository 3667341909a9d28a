//go:build unix

package remote

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// Memory returns what maps the file that the program was started with as the descriptor of a name, such as "3". The file
// gets the size that is asked for.
func Memory(name string) func(bytes int) ([]byte, error) {
	return func(bytes int) ([]byte, error) {
		fd, err := strconv.Atoi(name)
		if err != nil || fd < 3 {
			return nil, fmt.Errorf("memory is %q, want the number of an open file's descriptor, at least 3", name)
		}
		f := os.NewFile(uintptr(fd), "memory")
		defer f.Close() // what is mapped stays
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, fmt.Errorf("memory is %q, want the descriptor of a file", name)
		}
		if err := f.Truncate(int64(bytes)); err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		m, err := syscall.Mmap(fd, 0, bytes, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		return m, nil
	}
}
