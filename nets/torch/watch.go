//go:build libtorch

package torch

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
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
	if r.e.recording.Load() != nil {
		r.e.fail("Run", "%q within another recorded update, want one after the other", r.name)
		return nil
	}
	ops, err := watch(r.once)
	if err != nil || r.e.failure.pending() {
		return err
	}
	r.e.settleChecks(&r.choiceChecks)
	if r.first == nil {
		// In the first run, a Work's first Backward repeats the forward pass with a graph. The second run is therefore
		// the one to compare with.
		if r.twice = !r.twice; r.twice {
			return nil
		}
		r.first = ops
		return nil
	}
	for i := range max(len(r.first), len(ops)) {
		if a, b := line(r.first, i), line(ops, i); a != b {
			return fmt.Errorf("nets/torch: operation %d is %s, before it was %s: each run must do the same operations", i+1, b, a)
		}
	}
	return nil
}

func line(ops []string, i int) string {
	if i < len(ops) {
		return ops[i]
	}
	return "the end"
}
