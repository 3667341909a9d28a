package deeprm

import (
	"encoding/binary"
	"fmt"
)

// queue numbers visible jobs in the order of their arrival, which an observation does not show. A place that was empty holds the job that
// has just arrived, and a place whose job was started the backlog's oldest; both came after all other visible jobs.
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

// observe takes in what has changed since the last choice.
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

func (q *queue) copyFrom(src *queue) error {
	if len(q.numbers) != len(src.numbers) {
		return fmt.Errorf("is of %d places, cannot be copied from one of %d", len(q.numbers), len(src.numbers))
	}
	copy(q.numbers, src.numbers)
	q.last, q.chosen = src.last, src.chosen
	return nil
}

func (q *queue) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, q.last)
	b = binary.LittleEndian.AppendUint32(b, uint32(q.chosen))
	for _, n := range q.numbers {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func (q *queue) restore(b []byte) error {
	if want := 8 + 4*len(q.numbers); len(b) != want {
		return fmt.Errorf("saved state has %d bytes, want %d", len(b), want)
	}
	last, chosen := binary.LittleEndian.Uint32(b), int32(binary.LittleEndian.Uint32(b[4:]))
	if chosen < -1 || int(chosen) >= len(q.numbers) {
		return fmt.Errorf("saved state started the job in place %d, want -1 to %d", chosen, len(q.numbers)-1)
	}
	q.last, q.chosen = last, chosen
	for i := range q.numbers {
		q.numbers[i] = binary.LittleEndian.Uint32(b[8+4*i:])
	}
	return nil
}
