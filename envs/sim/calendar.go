package sim

import "math/bits"

// calendar is the list of events to come: a 4-ary heap ordered by (time, sequence) for what lies ahead, and a
// first-in-first-out list for what is due at the present moment. An event belongs to a handle; each handle has at
// most one, which can be moved or cancelled in place, so that the calendar never holds a stale event.
//
// The list keeps the order (time, sequence) exact: what is scheduled for the present moment goes there, so every
// heap event of this moment is older and comes first.
type calendar struct {
	clock
	heap []entry
	due  []int32 // handles, -1 where cancelled
	pos  []int32 // by handle: place in heap, or unscheduled, or dueBase minus the place in due
	what []ref   // by handle: whose it is
}

// clock is where the calendar stands.
type clock struct {
	now  Time
	seq  uint64
	head int // first of due still to come
	// hole says that heap[0] has been taken out and not filled: the next push fills it with one sift instead of
	// two. Its key stays and sorts before all others.
	hole bool
}

type entry struct {
	at  Time
	seq uint64
	h   int32
}

const (
	unscheduled = -1
	dueBase     = -2
)

// ref packs an event's kind and the index of its owner.
type ref uint32

const refIndexBits = 28

// maxPool bounds every pool of event owners.
const maxPool = 1 << refIndexBits

type eventKind uint8

const (
	evRequest      eventKind = iota // a request arrives, or its end is reported
	evInstance                      // an instance gets ready, or its next request completes
	evExpire                        // a function's longest idle instance may expire
	evQueueTimeout                  // a function's longest waiting request may give up
	evTimeout                       // a function's oldest request may time out
	evTimer                         // a caller's timer
)

func (r ref) kind() eventKind { return eventKind(r >> refIndexBits) }
func (r ref) index() int32    { return int32(r & (maxPool - 1)) }

func (c *calendar) reset() {
	*c = calendar{heap: c.heap[:0], due: c.due[:0], pos: c.pos[:0], what: c.what[:0]}
}

// handle makes a handle for the owner.
func (c *calendar) handle(k eventKind, owner int32) int32 {
	c.pos = append(c.pos, unscheduled)
	c.what = append(c.what, ref(k)<<refIndexBits|ref(owner))
	return int32(len(c.pos) - 1)
}

// schedule sets h's event to the moment at, moving it if there is one. A past moment means now.
func (c *calendar) schedule(h int32, at Time) {
	p := c.pos[h]
	if at <= c.now {
		if p != unscheduled {
			c.cancel(h)
		}
		c.pos[h] = dueBase - int32(len(c.due))
		c.due = append(c.due, h)
		return
	}
	if p <= dueBase {
		c.cancel(h)
		p = unscheduled
	}
	c.seq++
	e := entry{at, c.seq, h}
	switch {
	case p >= 0:
		if e.before(&c.heap[p]) {
			c.up(int(p), e)
		} else {
			c.down(int(p), e)
		}
	case c.hole:
		c.hole = false
		c.down(0, e)
	default:
		c.heap = append(c.heap, entry{})
		c.up(len(c.heap)-1, e)
	}
}

// cancel takes h's event out, if there is one.
func (c *calendar) cancel(h int32) {
	p := c.pos[h]
	c.pos[h] = unscheduled
	switch {
	case p >= 0:
		last := len(c.heap) - 1
		e := c.heap[last]
		c.heap = c.heap[:last]
		if int(p) == last {
			return
		}
		if e.before(&c.heap[p]) {
			c.up(int(p), e)
		} else {
			c.down(int(p), e)
		}
	case p <= dueBase:
		c.due[dueBase-p] = -1
	}
}

// pop takes the next event before until out and moves the clock to it.
func (c *calendar) pop(until Time) (h int32, ok bool) {
	if c.hole {
		c.fill()
	}
	if len(c.heap) > 0 && c.heap[0].at == c.now && c.now < until {
		return c.take(), true
	}
	for c.head < len(c.due) && c.now < until {
		h := c.due[c.head]
		c.head++
		if c.head == len(c.due) {
			c.due, c.head = c.due[:0], 0
		}
		if h >= 0 {
			c.pos[h] = unscheduled
			return h, true
		}
	}
	if len(c.heap) > 0 && c.heap[0].at < until {
		c.now = c.heap[0].at
		return c.take(), true
	}
	return 0, false
}

// take removes the heap's first event, leaving a hole.
func (c *calendar) take() int32 {
	h := c.heap[0].h
	c.pos[h] = unscheduled
	c.hole = true
	return h
}

// fill closes the hole with the last entry.
func (c *calendar) fill() {
	c.hole = false
	last := len(c.heap) - 1
	e := c.heap[last]
	c.heap = c.heap[:last]
	if last > 0 {
		c.down(0, e)
	}
}

// next is the time of the next event.
func (c *calendar) next() (Time, bool) {
	for _, h := range c.due[c.head:] {
		if h >= 0 {
			return c.now, true
		}
	}
	if c.hole {
		c.fill()
	}
	if len(c.heap) == 0 {
		return 0, false
	}
	return c.heap[0].at, true
}

func (a *entry) before(b *entry) bool {
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}

// earlier is before as a number, 1 or 0: the borrow of a 128-bit subtraction. Times are not negative.
func (a *entry) earlier(b *entry) int {
	_, borrow := bits.Sub64(a.seq, b.seq, 0)
	_, borrow = bits.Sub64(uint64(a.at), uint64(b.at), borrow)
	return int(borrow)
}

// up writes e at place i or above.
func (c *calendar) up(i int, e entry) {
	heap, pos := c.heap, c.pos
	for i > 0 {
		p := (i - 1) / 4
		if !e.before(&heap[p]) {
			break
		}
		heap[i] = heap[p]
		pos[heap[i].h] = int32(i)
		i = p
	}
	heap[i] = e
	pos[e.h] = int32(i)
}

// down writes e at place i or below.
func (c *calendar) down(i int, e entry) {
	heap, pos := c.heap, c.pos
	for {
		k := 4*i + 1
		least := k
		if k+4 <= len(heap) {
			// Which of four comes first is unpredictable, so it is computed without a branch.
			four := heap[k : k+4 : k+4]
			a := four[1].earlier(&four[0])
			b := 2 + four[3].earlier(&four[2])
			least += a + (b-a)*four[b].earlier(&four[a])
		} else if k < len(heap) {
			for j := k + 1; j < len(heap); j++ {
				if heap[j].before(&heap[least]) {
					least = j
				}
			}
		} else {
			break
		}
		if !heap[least].before(&e) {
			break
		}
		heap[i] = heap[least]
		pos[heap[i].h] = int32(i)
		i = least
	}
	heap[i] = e
	pos[e.h] = int32(i)
}
