package replay

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// huge asks for large pages under memory that is read at random. With small pages nearly every row misses the TLB, and
// the first write to each page traps into the kernel. Without large pages nothing changes.
func huge(x []float32) {
	const least = 16 << 20 // bytes: less fits in the TLB
	if 4*len(x) < least {
		return
	}
	page := unix.Getpagesize()
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
	from := -int(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) & (page - 1)
	b = b[from:]
	_ = unix.Madvise(b[:len(b)&^(page-1)], unix.MADV_HUGEPAGE) // advice only: a failure costs nothing
}
