package sim

import "fmt"

// check verifies every invariant of the state: what UnmarshalBinary must know before it trusts a file, and what the
// random tests hold against every step. It costs a walk over everything.
func (s *Sim) check() error {
	k := &checker{s: s, inst: make([]uint8, len(s.insts)), req: make([]uint8, len(s.reqs)),
		refs: make([]int32, len(s.revs))}
	k.calendar()
	if k.err == nil {
		k.pools()
	}
	for i := 0; k.err == nil && i < len(s.fns); i++ {
		k.function(int32(i))
	}
	for i := 0; k.err == nil && i < len(s.insts); i++ {
		k.instance(int32(i))
	}
	for i := 0; k.err == nil && i < len(s.reqs); i++ {
		k.request(int32(i))
	}
	if k.err == nil {
		k.machines()
	}
	return k.err
}

// checker collects the first broken invariant. inst and req mark the lists in which an element was met.
type checker struct {
	s    *Sim
	err  error
	inst []uint8
	req  []uint8
	refs []int32
}

const (
	inFree uint8 = 1 << iota
	inAll
	inIdle
	inPending
	inBucket
	inQueue
	inAges
	inHeap
)

func (k *checker) that(ok bool, format string, args ...any) bool {
	if !ok && k.err == nil {
		k.err = fmt.Errorf(format, args...)
	}
	return ok && k.err == nil
}

func within(i int32, n int) bool { return i >= 0 && int(i) < n }

func (k *checker) calendar() {
	s, c := k.s, &k.s.cal
	k.that(c.now >= 0 && c.now <= maxClock && s.from >= 0 && s.from <= c.now,
		"the clock stands at %d, the window began at %d", c.now, s.from)
	k.that(s.starts.from >= 0 && s.starts.from <= c.now && s.starts.count < 1<<53, "starts are taken from %d on",
		s.starts.from)
	n := 0
	for i := range c.heap {
		e := &c.heap[i]
		if c.hole && i == 0 {
			continue
		}
		k.that(e.at >= c.now && e.at <= maxClock && e.seq <= c.seq, "event %d at %d, sequence %d", i, e.at, e.seq)
		k.that(i == 0 || c.hole && i <= 4 || !e.before(&c.heap[(i-1)/4]), "event %d comes before its parent", i)
		k.that(within(e.h, len(c.pos)) && c.pos[e.h] == int32(i), "event %d is misplaced", i)
		n++
	}
	for i, h := range c.due {
		if i >= c.head && h >= 0 {
			k.that(int(h) < len(c.pos) && c.pos[h] == dueBase-int32(i), "due event %d is misplaced", i)
			n++
		}
	}
	for _, p := range c.pos {
		if p != unscheduled {
			n--
		}
	}
	k.that(n == 0 && len(c.pos) == len(c.what), "the calendar's places do not match its events")
}

// when is the time of h's event.
func (k *checker) when(h int32) (Time, bool) {
	c := &k.s.cal
	switch p := c.pos[h]; {
	case p >= 0:
		return c.heap[p].at, true
	case p <= dueBase:
		return c.now, true
	}
	return 0, false
}

// chain walks a free list.
func (k *checker) chain(what string, head int32, n int, next func(int32) int32) {
	steps := 0
	for i := head; i != none; i = next(i) {
		if steps++; !k.that(within(i, n) && steps <= n, "the list of free %s is broken at %d", what, i) {
			return
		}
	}
}

func (k *checker) pools() {
	s := k.s
	k.chain("instances", s.freeInst, len(s.insts), func(i int32) int32 {
		k.inst[i] |= inFree
		return s.insts[i].all.next
	})
	k.chain("requests", s.freeReq, len(s.reqs), func(i int32) int32 {
		k.req[i] |= inFree
		return s.reqs[i].link.next
	})
	k.chain("timers", s.freeTim, len(s.timers), func(i int32) int32 {
		k.that(!s.timers[i].live, "timer %d is both free and pending", i)
		return s.timers[i].next
	})
	k.chain("revisions", s.freeRev, len(s.revs), func(i int32) int32 {
		k.that(s.revs[i].refs == 0, "revision %d is both free and in use", i)
		return s.revs[i].next
	})
	for i := range s.timers {
		_, ok := k.when(s.timers[i].h)
		k.that(ok == s.timers[i].live, "timer %d has its event %v, want %v", i, ok, s.timers[i].live)
	}
	for i := range s.fns {
		if r := s.fns[i].revision; k.that(within(r, len(s.revs)), "function %d has revision %d", i, r) {
			k.refs[r]++
		}
	}
	for i := range s.insts {
		in := &s.insts[i]
		if in.state != Gone && k.that(within(in.rev, len(s.revs)) && within(in.fn, len(s.fns)),
			"instance %d has revision %d of function %d", i, in.rev, in.fn) {
			k.refs[in.rev]++
		}
	}
	for i, n := range k.refs {
		k.that(s.revs[i].refs == n, "revision %d has %d users, counts %d", i, n, s.revs[i].refs)
	}
	k.segments()
}

// segments checks that the functions' buckets lie apart in the arena.
func (k *checker) segments() {
	s := k.s
	buckets, words, rows := make([]bool, len(s.buckets)), make([]bool, len(s.masks)), make([]bool, len(s.rows))
	claim := func(used []bool, from, n int32) bool {
		if from < 0 || n < 0 || int64(from)+int64(n) > int64(len(used)) {
			return false
		}
		for i := from; i < from+n; i++ {
			if used[i] {
				return false
			}
			used[i] = true
		}
		return true
	}
	for i := range s.fns {
		f := &s.fns[i]
		k.that(f.buckets >= 1 && f.buckets <= MaxConcurrency && claim(buckets, f.bucket, f.buckets) &&
			claim(words, f.mask, (f.buckets+63)/64),
			"function %d's buckets %d at %d are beyond or in another's", i, f.buckets, f.bucket)
		random := s.plan.cfg.Functions[i].Dispatch == Random
		k.that(random && f.rowLen >= 1 && claim(rows, f.row, f.rowLen) || !random && f.row == none && f.rowUsed == 0,
			"function %d's row of %d at %d are beyond or in another's", i, f.rowLen, f.row)
	}
}

// list walks a doubly linked list and marks its elements; it returns how many there are.
func (k *checker) list(what string, l list, marks []uint8, mark uint8, at func(int32) link) int32 {
	n, prev := int32(0), int32(none)
	for i := l.head; i != none; i = at(i).next {
		if !k.that(within(i, len(marks)) && marks[i]&mark == 0 && at(i).prev == prev, "%s is broken at %d", what, i) {
			return n
		}
		marks[i] |= mark
		prev = i
		n++
	}
	k.that(l.tail == prev, "%s ends at %d, its tail says %d", what, prev, l.tail)
	return n
}

func (k *checker) machines() {
	s := k.s
	left := make([]Node, len(s.nodes))
	count := make([]int32, len(s.nodes))
	copy(left, s.plan.cfg.Nodes)
	for i := range s.insts {
		if in := &s.insts[i]; in.state != Gone && in.node != none {
			z := &s.revs[in.rev]
			l := &left[in.node]
			k.that(l.holds(&z.Sizing), "node %d carries more than it holds", in.node)
			l.CPU, l.Memory, l.GPU = l.CPU-z.CPU, l.Memory-z.Memory, l.GPU-z.GPU
			count[in.node]++
		}
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		k.that(n.free == left[i] && n.instances == count[i],
			"node %d has %+v left for %d instances, says %+v and %d", i, left[i], count[i], n.free, n.instances)
		k.that(n.since >= s.from && n.since <= s.cal.now, "node %d was last looked at at %d", i, n.since)
	}
	listed := make([]bool, len(s.fns))
	for _, fi := range s.waiting {
		if !k.that(within(fi, len(s.fns)) && !listed[fi] && s.fns[fi].nPending > 0,
			"function %d is among those with pending instances", fi) {
			return
		}
		listed[fi] = true
		z := &s.revs[s.fns[fi].revision].Sizing
		for i := range s.nodes {
			k.that(!s.nodes[i].free.holds(z), "function %d has a pending instance that node %d could hold", fi, i)
		}
	}
	for i := range s.fns {
		k.that(listed[i] == (s.fns[i].nPending > 0),
			"function %d with %d pending instances is not listed", i, s.fns[i].nPending)
	}
}
