package pool

import (
	"slices"
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

func (c *counts) Part(i, w int) {
	if c.workers[w].Add(1) != 1 {
		c.clash.Store(true)
	}
	c.parts[i].Add(1)
	c.workers[w].Add(-1)
}

// Each part of each job is done once, whatever the workers are doing, also where engines want the pool at the
// same time.
func TestPool(t *testing.T) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for n := range 3_000 {
				c := &counts{parts: make([]atomic.Int32, n%7+1)}
				Do(c, len(c.parts), n%4+1)
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

// order is a job that notes which parts were done and by whom.
type order [][2]int

func (o *order) Part(i, w int) { *o = append(*o, [2]int{i, w}) }

// A thread does its own range from the start, the same in each job, and then what others have left, from the end.
func TestPoolRanges(t *testing.T) {
	p := pool{over: make(chan struct{}, 1)}
	for range 3 {
		o := order{}
		p.offer(&o, 7, 3)
		p.takeOf(1, 1)
		p.take(0, 3)
		p.wait()
		if want := (order{{2, 1}, {3, 1}, {0, 0}, {1, 0}, {6, 0}, {5, 0}, {4, 0}}); !slices.Equal(o, want) {
			t.Errorf("parts and workers were %v, want %v", o, want)
		}
	}
	o := order{}
	p.offer(&o, 2, 2)
	if p.take(2, 3); len(o) > 0 {
		t.Error("a thread too many took part")
	}
}

func BenchmarkPool(b *testing.B) {
	c := &counts{parts: make([]atomic.Int32, 2)}
	b.ReportAllocs()
	for b.Loop() {
		Do(c, 2, 2)
	}
}
