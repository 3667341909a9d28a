package native

import (
	"sync"
	"sync/atomic"
	"testing"
)

// counts is a job that counts how often each part was done and watches that a worker does one at a time.
type counts struct {
	parts   []atomic.Int32
	workers [4]atomic.Int32
	clash   atomic.Bool
}

func (c *counts) part(i, w int) {
	if c.workers[w].Add(1) != 1 {
		c.clash.Store(true)
	}
	c.parts[i].Add(1)
	c.workers[w].Add(-1)
}

// Each part of each job is done once, whatever the helpers are at, also where engines want the pool at the same time.
func TestPool(t *testing.T) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for n := range 3_000 {
				c := &counts{parts: make([]atomic.Int32, n%7+1)}
				helpers.do(c, len(c.parts), n%4+1)
				for i := range c.parts {
					if c.parts[i].Load() != 1 {
						t.Errorf("job %d: part %d was done %d times", n, i, c.parts[i].Load())
						return
					}
				}
				if c.clash.Load() {
					t.Error("two parts ran on one worker at once")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkPool(b *testing.B) {
	c := &counts{parts: make([]atomic.Int32, 2)}
	b.ReportAllocs()
	for b.Loop() {
		helpers.do(c, 2, 2)
	}
}
