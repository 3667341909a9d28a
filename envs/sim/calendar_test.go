package sim

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The calendar gives events in order of time and, at one time, in the order in which they were scheduled,
// whatever is moved and cancelled between.
func TestCalendar(t *testing.T) {
	type planned struct {
		at  Time
		ord int
		h   int32
	}
	rapid.Check(t, func(t *rapid.T) {
		var c calendar
		var want []planned
		for i := range int32(12) {
			c.handle(evTimer, i)
		}
		ord := 0
		drop := func(h int32) { want = slices.DeleteFunc(want, func(p planned) bool { return p.h == h }) }
		t.Repeat(map[string]func(*rapid.T){
			"schedule": func(t *rapid.T) {
				h := rapid.Int32Range(0, 11).Draw(t, "handle")
				at := c.now + rapid.SampledFrom([]Time{-5, 0, 0, 1, 2, 3, 50}).Draw(t, "in")
				drop(h)
				ord++
				want = append(want, planned{max(at, c.now), ord, h})
				c.schedule(h, at)
			},
			"cancel": func(t *rapid.T) {
				h := rapid.Int32Range(0, 11).Draw(t, "handle")
				drop(h)
				c.cancel(h)
			},
			"pop": func(t *rapid.T) {
				until := c.now + rapid.SampledFrom([]Time{0, 1, 2, 100}).Draw(t, "until")
				slices.SortFunc(want, func(a, b planned) int {
					if a.at != b.at {
						return int(a.at - b.at)
					}
					return a.ord - b.ord
				})
				if at, ok := c.next(); ok != (len(want) > 0) || ok && at != want[0].at {
					t.Fatalf("the next event is at %d (%v), want %+v", at, ok, want)
				}
				h, ok := c.pop(until)
				if due := len(want) > 0 && want[0].at < until; ok != due {
					t.Fatalf("popped %v before %d, want %+v", ok, until, want)
				}
				if ok {
					if h != want[0].h || c.now != want[0].at {
						t.Fatalf("popped %d at %d, want %+v", h, c.now, want[0])
					}
					want = want[1:]
				}
			},
		})
	})
}
