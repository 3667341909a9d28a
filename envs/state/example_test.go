package state_test

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// queue is a small world: jobs wait, each with its length in seconds.
type queue struct {
	servers int // the configuration
	now     float64
	waiting []float64
	noise   *rng.Stream
	total   float64 // follows from waiting
}

// State lists the fields of a queue.
func (q *queue) State(c *state.Codec) {
	c.Same("number of servers", uint64(q.servers))
	state.Value(c, &q.now)
	state.Slice(c, &q.waiting)
	state.Value(c, q.noise)
	if c.Loaded() {
		c.Check(q.now >= 0, "the time is %g, want 0 or more", q.now)
	}
	if c.Filled() {
		q.total = 0
		for _, x := range q.waiting {
			q.total += x
		}
	}
}

// One list of fields gives copies, saved states and fingerprints.
func Example() {
	a := &queue{servers: 2, now: 8, waiting: []float64{1, 3}, noise: rng.NewStream(1, "noise"), total: 4}
	b := &queue{servers: 2, noise: rng.NewStream(1, "noise")}
	if err := state.Copy(b, a); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("copied:", b.now, b.waiting, b.total)

	saved, err := state.Append(nil, "example/Queue-v1", a)
	if err != nil {
		fmt.Println(err)
		return
	}
	b.waiting = append(b.waiting, 5)
	if err := state.Load(saved, "example/Queue-v1", b); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("loaded:", b.now, b.waiting, b.total)

	other := &queue{servers: 3, noise: rng.NewStream(1, "noise")}
	fmt.Println(state.Load(saved, "example/Queue-v1", other))
	// Output:
	// copied: 8 [1 3] 4
	// loaded: 8 [1 3] 4
	// example/Queue-v1: saved state of 101 bytes: of another number of servers (2, want 3)
}
