package kernel

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stoker-rl/stoker/internal/must"
)

// spare are the mappings of tests that ended, by size: they serve the next ones, since most of a test's time is the system's.
var spare = map[int][][]byte{}

// guarded returns n values that end where a page without access begins: reading or writing one more is a fault.
func guarded[T any](t testing.TB, n int) []T {
	t.Helper()
	size := n * int(unsafe.Sizeof(*new(T)))
	page := syscall.Getpagesize()
	whole := (size + page - 1) / page * page
	var m []byte
	if free := spare[whole]; len(free) > 0 {
		m, spare[whole] = free[len(free)-1], free[:len(free)-1]
		clear(m[:whole])
	} else {
		m = must.Get(syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))(t)
		must.Do(t, syscall.Mprotect(m[whole:], syscall.PROT_NONE))
	}
	t.Cleanup(func() { spare[whole] = append(spare[whole], m) })
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(m[whole-size:whole]))), n)
}
