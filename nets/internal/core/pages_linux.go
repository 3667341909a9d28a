package core

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of the larger pages that x86's and arm64's kernels give on request.
const hugePage = 2 << 20

// largePages asks for pages of 2 MiB for memory that has not been touched yet: rows that edges pick at random
// lie on more small pages than the processor remembers the places of. Where the system gives none, all works as
// before.
func largePages[E any](x []E) {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(*unsafe.SliceData(x))))
	if len(bytes) < 2*hugePage {
		return
	}
	before := -uintptr(unsafe.Pointer(unsafe.SliceData(bytes))) % hugePage
	inner := bytes[before:]
	// An error leaves small pages.
	_ = unix.Madvise(inner[:len(inner)/hugePage*hugePage], unix.MADV_HUGEPAGE)
}
