package kernel

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns n values that end where a page without access begins: reading or writing one more is a fault.
func guarded[T any](t testing.TB, n int) []T {
	t.Helper()
	size := n * int(unsafe.Sizeof(*new(T)))
	page := syscall.Getpagesize()
	whole := (size + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(m); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(m[whole:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(m[whole-size:whole]))), n)
}
