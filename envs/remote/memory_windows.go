package remote

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Memory returns what makes and maps memory of a name, which the other program maps by it. It is gone with both.
func Memory(name string) func(bytes int) ([]byte, error) {
	return func(bytes int) ([]byte, error) {
		called, err := windows.UTF16PtrFromString(name)
		if err != nil || name == "" {
			return nil, fmt.Errorf("memory is %q, want a name", name)
		}
		h, err := windows.CreateFileMapping(windows.InvalidHandle, nil, windows.PAGE_READWRITE, uint32(uint64(bytes)>>32),
			uint32(bytes), called)
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		at, err := windows.MapViewOfFile(h, windows.FILE_MAP_WRITE, 0, 0, uintptr(bytes))
		if err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), bytes), nil
	}
}
