package deeprm

import "github.com/stoker-rl/stoker/envs/state"

// queue numbers the visible jobs in the order of their arrival, which an observation does not show. A place that was
// empty and now holds a job holds the one that has just arrived; a place whose job was started now holds the oldest of
// the backlog. Both arrived after all other visible jobs.
type queue struct {
	numbers []uint32 // by place, from 1; 0 where there is no job
	last    uint32   // the largest number so far
	chosen  int32    // place whose job was started last, −1 where time passed
}

func newQueue(places int) queue { return queue{numbers: make([]uint32, places), chosen: -1} }

func (q *queue) reset() {
	clear(q.numbers)
	q.last, q.chosen = 0, -1
}

// observe updates the numbers from an observation.
func (q *queue) observe(v *view, values []float32) {
	for i := range q.numbers {
		switch {
		case v.Length(values, i) == 0:
			q.numbers[i] = 0
		case q.numbers[i] == 0 || i == int(q.chosen):
			q.last++
			q.numbers[i] = q.last
		}
	}
}

// State implements [state.Stater].
func (q *queue) State(c *state.Codec) {
	state.Fixed(c, q.numbers)
	state.Value(c, &q.last)
	state.Value(c, &q.chosen)
	c.Check(q.chosen >= -1 && int(q.chosen) < len(q.numbers), "the job in place %d was started, want -1 to %d", q.chosen,
		len(q.numbers)-1)
}
