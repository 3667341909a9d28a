package workload

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/envs/state"
	"github.com/stoker-rl/stoker/rng"
)

// cursor walks a law's arrivals minute by minute. Its state is its position; the rest is the minute drawn.
type cursor struct {
	law         law
	fingerprint uint64 // of the source
	position

	// The minute's arrivals as they were drawn, stream by stream, and the order of their times: microsecond in the minute
	// above orderBits, place among those drawn below. Drawn in that order, equal times keep it.
	offsets []int32
	who     []name
	order   []uint64
	sorter  *sorter // made where a minute needs it
}

// position is where a cursor stands.
type position struct {
	seed   uint64
	key    rng.Key
	minute int // the minute drawn
	at     int // next of order
}

type name struct{ stream, number int32 }

const orderBits = 38

func newCursor(l law, fingerprint, seed uint64) *cursor {
	c := &cursor{law: l, fingerprint: fingerprint}
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

// kind names saved arrivals.
const kind = "arrivals"

func (c *cursor) CopyFrom(src Arrivals) error {
	o, ok := src.(*cursor)
	if !ok {
		return fmt.Errorf("workload: arrivals copied from a %T, want those of an equal source", src)
	}
	return state.Copy(c, o)
}

func (c *cursor) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, kind, c) }

func (c *cursor) UnmarshalBinary(b []byte) error { return state.Load(b, kind, c) }

// State implements [state.Stater]. Where it is loaded the minute is drawn again.
func (c *cursor) State(k *state.Codec) {
	k.Same("source", c.fingerprint)
	if !k.Stored() {
		state.Value(k, &c.position)
		state.Slice(k, &c.offsets)
		state.Slice(k, &c.who)
		state.Slice(k, &c.order)
		return
	}
	seed, minute, at := c.seed, c.minute, c.at
	state.Value(k, &seed)
	state.Value(k, &minute)
	state.Value(k, &at)
	last := c.law.minutes()
	if k.Check(minute >= 0 && minute <= last, "minute %d, want 0 to %d", minute, last) && k.Loaded() {
		c.seed, c.key = seed, rng.New(seed, "workload/arrivals")
		c.load(minute)
		k.Check(at >= 0 && at <= len(c.order), "arrival %d of minute %d, which has %d", at, minute, len(c.order))
		c.at = at
	}
}
