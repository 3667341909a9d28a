//go:build libtorch

package torch

import (
	"fmt"
	"runtime"
	"time"
)

// OperationTime measures what one call of libtorch costs from here: the mean time of n additions of two small
// tensors, with the check for an error and the freeing of the result.
func OperationTime(n int) (time.Duration, error) {
	if n < 1 {
		return 0, fmt.Errorf("nets/torch: operations is %d, want at least 1", n)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := newScope()
	defer s.close()
	enter(false)
	a := s.zeros(codeFloat32, onCPU, 4)
	kept := len(s.held)
	const batch = 64
	start := time.Now()
	for done := 0; done < n; {
		for range min(batch, n-done) {
			s.add(a, a)
			done++
		}
		s.release(kept)
	}
	elapsed := time.Since(start)
	return elapsed / time.Duration(n), s.err
}
