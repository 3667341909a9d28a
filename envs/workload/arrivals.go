package workload

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/rng"
)

// cursor walks a law's arrivals minute by minute. Its state is the seed, the minute and the place in it; the rest is the minute
// drawn.
type cursor struct {
	law    law
	print  uint64 // of the source
	seed   uint64
	key    rng.Key
	minute int // the minute drawn
	at     int // next of order

	// The minute's arrivals as they were drawn, stream by stream, and the order of their times: microsecond in the minute
	// above orderBits, place among those drawn below. Drawn in that order, equal times keep it.
	offsets []int32
	who     []name
	order   []uint64
	sorter  *sorter // made where a minute needs it
}

type name struct{ stream, number int32 }

const orderBits = 38

func newCursor(l law, print, seed uint64) *cursor {
	c := &cursor{law: l, print: print}
	c.Reset(seed)
	return c
}

func (c *cursor) Reset(seed uint64) {
	c.seed, c.key = seed, rng.New(seed, "workload/arrivals")
	c.load(0)
}

// load draws a minute. Beyond the last there are no arrivals.
func (c *cursor) load(minute int) {
	c.minute, c.at = min(minute, c.law.minutes()), 0
	c.offsets, c.who, c.order = c.offsets[:0], c.who[:0], c.order[:0]
	if c.minute >= c.law.minutes() {
		return
	}
	for s := range c.law.streams() {
		from := len(c.offsets)
		c.offsets = c.law.draw(c.offsets, c.key, s, c.minute)
		for i := range c.offsets[from:] {
			c.who = append(c.who, name{int32(s), int32(i)})
		}
	}
	sorted := true
	for i, t := range c.offsets {
		sorted = sorted && (i == 0 || c.offsets[i-1] <= t)
		c.order = append(c.order, uint64(t)<<orderBits|uint64(i))
	}
	if !sorted {
		if c.sorter == nil {
			c.sorter = new(sorter)
		}
		c.order = c.sorter.sort(c.order)
	}
}

func (c *cursor) Next() (Arrival, bool) {
	for c.at == len(c.order) {
		if c.minute >= c.law.minutes() {
			return Arrival{}, false
		}
		c.load(c.minute + 1)
	}
	o := c.order[c.at]
	c.at++
	w := c.who[o&(1<<orderBits-1)]
	return Arrival{Time: int64(c.minute)*Minute + int64(o>>orderBits), Stream: w.stream, Number: w.number}, true
}

func (c *cursor) SeekTo(t int64) {
	t = max(t, 0)
	minute := t / Minute
	if last := int64(c.law.minutes()); minute > last {
		minute = last
	}
	if int(minute) != c.minute {
		c.load(int(minute))
	}
	c.at, _ = slices.BinarySearch(c.order, uint64(t-minute*Minute)<<orderBits)
}

var errArrivals = errors.New("workload: the arrivals' saved state")

func (c *cursor) CopyFrom(src Arrivals) error {
	o, ok := src.(*cursor)
	if !ok || o.print != c.print {
		return fmt.Errorf("workload: arrivals copied from another source")
	}
	offsets, who, order, own := c.offsets, c.who, c.order, c.sorter
	*c = *o
	c.sorter = own
	c.offsets = append(offsets[:0], o.offsets...)
	c.who = append(who[:0], o.who...)
	c.order = append(order[:0], o.order...)
	return nil
}

const (
	cursorVersion = 1
	cursorBytes   = 1 + 4*8
)

func (c *cursor) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, cursorVersion)
	for _, x := range [...]uint64{c.print, c.seed, uint64(c.minute), uint64(c.at)} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b, nil
}

func (c *cursor) UnmarshalBinary(b []byte) error {
	if len(b) != cursorBytes {
		return fmt.Errorf("%w has %d bytes, want %d", errArrivals, len(b), cursorBytes)
	}
	if b[0] != cursorVersion {
		return fmt.Errorf("%w has version %d, want %d", errArrivals, b[0], cursorVersion)
	}
	var x [4]uint64
	for i := range x {
		x[i] = binary.LittleEndian.Uint64(b[1+8*i:])
	}
	if x[0] != c.print {
		return fmt.Errorf("%w is of another source (%016x, want %016x)", errArrivals, x[0], c.print)
	}
	if x[2] > uint64(c.law.minutes()) {
		return fmt.Errorf("%w is in minute %d, want at most %d", errArrivals, x[2], c.law.minutes())
	}
	seed, key, minute, at := c.seed, c.key, c.minute, c.at
	c.seed, c.key = x[1], rng.New(x[1], "workload/arrivals")
	c.load(int(x[2]))
	if x[3] > uint64(len(c.order)) {
		err := fmt.Errorf("%w is at arrival %d of minute %d, which has %d", errArrivals, x[3], x[2], len(c.order))
		c.seed, c.key = seed, key
		c.load(minute)
		c.at = at
		return err
	}
	c.at = int(x[3])
	return nil
}
