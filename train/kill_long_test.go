package train

import (
	"testing"
	"time"

	"github.com/stoker-rl/stoker/rng"
)

// timed draws moments of the time that a run takes.
func timed(t *testing.T, text string, stream *rng.Stream) (next func() moment) {
	t.Helper()
	began := time.Now()
	if !spawn(t, t.TempDir(), text, stream, moment{}) {
		t.Fatal("the process was killed by another")
	}
	lasts := time.Since(began)
	return func() moment { return after(time.Duration(stream.Float64() * float64(lasts))) }
}

// after is a moment some time from a process' start.
func after(d time.Duration) moment {
	return moment{wait: func(ended <-chan struct{}) {
		select {
		case <-ended:
		case <-time.After(d):
		}
	}}
}
