//go:build !unix

package bench

import "time"

// cpuTime is 0 where the system has no Getrusage.
func cpuTime() time.Duration { return 0 }
