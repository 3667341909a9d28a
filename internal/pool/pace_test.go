package pool

import (
	"testing"
	"time"
)

// The way that is faster is found and kept, and found again when it changes.
func TestPace(t *testing.T) {
	var p Pace
	drive := func(runs int, one, many time.Duration) (share float64) {
		n := 0
		for range runs {
			d := many
			if p.Threads(4) == 1 {
				d, n = one, n+1
			}
			p.Ran(d)
		}
		return float64(n) / float64(runs)
	}
	for _, c := range []struct {
		name      string
		one, many time.Duration
		low, high float64 // share of runs on one thread
	}{
		{"threads help", 300, 200, 0, 0.05},
		{"threads hinder", 300, 500, 0.9, 1},
		{"threads help again", 300, 200, 0, 0.15},
		{"no difference: the way is kept", 300, 299, 0, 0.05},
	} {
		if got := drive(5000, c.one*time.Microsecond, c.many*time.Microsecond); got < c.low || got > c.high {
			t.Errorf("%s: %.2f of the runs were on one thread, want %g to %g", c.name, got, c.low, c.high)
		}
	}
}
