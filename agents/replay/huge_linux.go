package replay

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// huge asks for large pages under memory that is read at random: with small ones nearly every row waits for its page to
// be found, and the first writing to each stops in the kernel. Where there are none nothing changes.
func huge(x []float32) {
	const least = 16 << 20 // bytes: less fits into what processors remember of pages
	if 4*len(x) < least {
		return
	}
	page := unix.Getpagesize()
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
	from := -int(uintptr(unsafe.Pointer(unsafe.SliceData(x)))) & (page - 1)
	b = b[from:]
	_ = unix.Madvise(b[:len(b)&^(page-1)], unix.MADV_HUGEPAGE) // advice: whoever can't take it loses nothing
}
