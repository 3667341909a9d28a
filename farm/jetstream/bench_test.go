//go:build farm

package jetstream

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stoker-rl/stoker/farm"
	"github.com/stoker-rl/stoker/farm/farmtest"
	"github.com/stoker-rl/stoker/internal/must"
)

// What a unit without files costs beside its work: submitted, leased, its result stored once and acknowledged, and taken.
func BenchmarkUnit(b *testing.B) {
	c, at, err := Listen(b.Context(), ListenOptions{Address: "127.0.0.1:0", Token: token, Study: study})
	must.Do(b, err)
	w, _, err := Join(b.Context(), JoinOptions{Address: at, Token: token})
	must.Do(b, err)
	for i := range b.N {
		must.Do(b, c.Submit(b.Context(), farm.Task{Unit: farmtest.Unit("u", uint64(i))}))
	}
	b.ResetTimer()
	ended := make(chan error)
	go func() {
		ended <- farm.Work(b.Context(), w, farm.Worker{Name: "w", Slots: 4,
			Do: func(context.Context, *farm.Lease, *atomic.Int64) (farm.Result, []farm.File, error) {
				return farm.Result{}, nil, nil
			}})
	}()
	for range b.N {
		_, err := c.Result(b.Context())
		must.Do(b, err)
	}
	b.StopTimer()
	must.Do(b, c.Close())
	must.Do(b, <-ended)
	_ = w.Close() // the coordinator is gone
}

// window is how many units a coordinator of runs submits at a time.
const window = 10_000

// What a queue costs that is filled anew after the coordinator was killed: time and memory of a unit.
func BenchmarkQueue(b *testing.B) {
	c, _, err := Listen(b.Context(), ListenOptions{Address: "127.0.0.1:0", Token: token, Study: study})
	must.Do(b, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	tasks := make([]farm.Task, 0, window)
	for i := range b.N {
		if tasks = append(tasks, farm.Task{Unit: farmtest.Unit("u", uint64(i))}); len(tasks) == window || i == b.N-1 {
			must.Do(b, c.Submit(b.Context(), tasks...))
			tasks = tasks[:0]
		}
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "heapB/op")
	b.ReportMetric(float64(after.Sys)/(1<<20), "sysMiB")
	must.Do(b, c.Close())
}
