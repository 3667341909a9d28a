//go:build libtorch

package torch

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"runtime"
	"slices"
	"strings"
	"unsafe"
)

// watch runs f and lists libtorch's operations meanwhile: a line for each operation, with the shapes and all numbers of
// its arguments, and for each copy between the host and a tensor.
func watch(f func()) ([]string, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := asError(C.sto_watch()); err != nil {
		f()
		return nil, err
	}
	f()
	text := C.sto_unwatch()
	defer C.free(unsafe.Pointer(text))
	return strings.Split(strings.TrimSuffix(C.GoString(text), "\n"), "\n"), nil
}

// waiting are operations that make the host wait for the device, because it needs their result's value or size.
var waiting = []string{
	"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero", "aten::equal", "aten::allclose",
	"aten::nonzero", "aten::masked_select", "aten::_unique", "aten::_unique2", "aten::unique_dim", "aten::unique_consecutive",
	"aten::repeat_interleave", "aten::bincount", "stoker::to_host", "stoker::to_device",
}

// waits says whether a line of watch makes the host wait, or copies between host and device.
func waits(line string) bool {
	name, _, _ := strings.Cut(line, " ")
	return slices.Contains(waiting, name)
}

// compare runs the update and compares libtorch's operations with those of the first run.
func (r *recorded) compare() error {
	if r.b.recording.Load() != nil {
		r.b.Fail("Run", "%q within another recorded update, want one after the other", r.name)
		return nil
	}
	ops, err := watch(r.once)
	if err != nil || r.b.Failed() {
		return err
	}
	r.b.settleChecks(&r.choiceChecks)
	if r.first == nil {
		// In the first run, a Work's first Backward repeats the forward pass with a graph. The second run is therefore
		// the one to compare with.
		if r.twice = !r.twice; r.twice {
			return nil
		}
		r.first = ops
		return nil
	}
	r.b.Compare(r.first, ops)
	return nil
}
