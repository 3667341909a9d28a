package remote

import (
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Memory has a name of its own; a program that maps this name sees what is written.
func TestMemory(t *testing.T) {
	const name, bytes = `Local\stoker-test-memory`, 5000
	if _, err := Memory("")(1); err == nil {
		t.Error("no name passes")
	}
	ours, err := Memory(name)(bytes)
	if err != nil || len(ours) != bytes {
		t.Fatalf("%d bytes, %v", len(ours), err)
	}
	copy(ours[bytes-10:], "seen")
	if _, err := Memory(name)(bytes); err == nil {
		t.Error("a name that is taken passes")
	}
	h, err := windows.CreateFileMapping(windows.InvalidHandle, nil, windows.PAGE_READWRITE, 0, bytes, windows.StringToUTF16Ptr(name))
	if !errors.Is(err, windows.ERROR_ALREADY_EXISTS) {
		t.Fatalf("mapped by its name: %v", err)
	}
	at, err := windows.MapViewOfFile(h, windows.FILE_MAP_READ, 0, 0, bytes)
	if err != nil {
		t.Fatal(err)
	}
	theirs := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), bytes)
	if got := string(theirs[bytes-10:][:4]); got != "seen" {
		t.Errorf("the other program reads %q", got)
	}
}
