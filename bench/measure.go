package bench

import (
	"runtime"
	"time"
)

// sample is what measure found: per operation.
type sample struct {
	Operations  int64   `json:"operations"`
	Nanoseconds float64 `json:"ns_per_op"`
	Allocations float64 `json:"allocs_per_op"`
	Bytes       float64 `json:"bytes_per_op"`
}

// perSecond is operations a second.
func (s sample) perSecond() float64 { return 1e9 / s.Nanoseconds }

// measure calls f often enough to last about as long as wanted, after a warm-up, and counts time and allocations.
func measure(wanted time.Duration, f func() error) (sample, error) {
	if err := f(); err != nil {
		return sample{}, err
	}
	for n := int64(1); ; {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		for range n {
			if err := f(); err != nil {
				return sample{}, err
			}
		}
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if took >= wanted {
			per := 1 / float64(n)
			return sample{n, float64(took) * per, float64(after.Mallocs-before.Mallocs) * per, float64(after.TotalAlloc-before.TotalAlloc) * per}, nil
		}
		// Aim a fifth beyond what is wanted, and at most a hundredfold at a time.
		n = min(100*n, max(n+1, int64(1.2*float64(n)*float64(wanted)/float64(max(took, 1)))))
	}
}
