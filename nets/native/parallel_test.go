package native_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/internal/must"
	"github.com/stoker-rl/stoker/nets/native"
)

// Every part runs once, no two parts at a time on one worker, without allocation.
func TestParallel(t *testing.T) {
	for _, o := range []native.Options{{Threads: 2}, {Threads: 1}, {Kernels: native.Go}} {
		engine := native.New(o)
		e := engine.(interface {
			Parallel(parts int, part func(i, w int))
			Workers() int
		})
		// Parallel uses as many threads as the last update.
		must.Do(t, engine.Record("nothing", func() {}).Run())
		var busy [8]atomic.Int32
		done := make([]int32, 100)
		part := func(i, w int) {
			if w >= e.Workers() || busy[w].Add(1) != 1 {
				t.Errorf("%+v: part %d is on worker %d of %d beside another", o, i, w, e.Workers())
			}
			done[i]++
			busy[w].Add(-1)
		}
		e.Parallel(len(done), part)
		if slices.Min(done) != 1 || slices.Max(done) != 1 {
			t.Errorf("%+v: parts were done %v times, want once", o, done)
		}
		e.Parallel(0, part)
		if n := testing.AllocsPerRun(20, func() { e.Parallel(len(done), part) }); n != 0 {
			t.Errorf("%+v: allocates %g times", o, n)
		}
	}
}
