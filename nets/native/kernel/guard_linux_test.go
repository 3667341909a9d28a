package kernel

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stoker-rl/stoker/internal/must"
)

// guarded returns n values that end where a page without access begins: reading or writing one more is a fault.
func guarded[T any](t testing.TB, n int) []T {
	t.Helper()
	size := n * int(unsafe.Sizeof(*new(T)))
	page := syscall.Getpagesize()
	whole := (size + page - 1) / page * page
	m := must.Get(syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))(t)
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	must.Do(t, syscall.Mprotect(m[whole:], syscall.PROT_NONE))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(m[whole-size:whole]))), n)
}
