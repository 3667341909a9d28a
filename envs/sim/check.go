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

// instance checks one place of the instance pool.
func (k *checker) instance(i int32) {
	s := k.s
	in := &s.insts[i]
	_, event := k.when(in.h)
	mark := k.inst[i]
	if in.state == Gone {
		k.that(mark == inFree && !event && in.n == 0, "ended instance %d is listed (%b)", i, mark)
		return
	}
	f, c, z := &s.fns[in.fn], &s.plan.cfg.Functions[in.fn], &s.revs[in.rev]
	placed := in.state != Pending && len(s.nodes) > 0
	if !k.that(mark&inAll != 0 && mark&inFree == 0 && in.gen > 0 && in.h >= 0,
		"instance %d is not listed by its function (%b)", i, mark) ||
		!k.that(in.rev == f.revision || in.state >= Idle, "instance %d of an earlier revision is %v", i, in.state) ||
		!k.that(placed && within(in.node, len(s.nodes)) || !placed && in.node == none,
			"instance %d (%v) is on node %d", i, in.state, in.node) ||
		!k.that(in.born <= s.cal.now && in.since <= s.cal.now && in.vAt <= s.cal.now && in.born >= 0 && in.since >= 0 &&
			in.vAt >= 0,
			"instance %d has moments to come", i) ||
		!k.that(in.cold >= 1 && in.cold <= MaxSpan, "instance %d has the cold start %d", i, in.cold) {
		return
	}
	k.that((mark&inIdle != 0) == (in.state == Idle) && (mark&inPending != 0) == (in.state == Pending),
		"instance %d (%v) is on the wrong list (%b)", i, in.state, mark)
	k.that((mark&inBucket != 0) == (in.level != none), "instance %d has bucket %d (%b)", i, in.level, mark)
	level := int32(none)
	if in.state == Idle || in.state == Busy {
		level = c.place(in.n, z.Concurrency)
	}
	k.that(in.level == level, "instance %d with %d running is in bucket %d, want %d", i, in.n, in.level, level)
	k.that(level < f.buckets, "instance %d wants bucket %d of %d", i, level, f.buckets)
	switch in.state {
	case Pending, Starting:
		k.that(event == (in.state == Starting) && in.n == 0,
			"%v instance %d has its event %v, runs %d", in.state, i, event, in.n)
		if r := in.root; r != none {
			k.that(in.state == Starting && within(r, len(s.reqs)) && s.reqs[r].state == reqBound && s.reqs[r].inst == i &&
				s.reqs[r].fn == in.fn,
				"instance %d is bound to request %d", i, r)
		}
	case Idle:
		k.that(in.n == 0 && in.root == none && !event, "idle instance %d runs %d, has its event %v", i, in.n, event)
	case Busy, Draining:
		k.that(in.n > 0 && event && in.rate == z.rateOf(in.n),
			"%v instance %d runs %d at rate %d, has its event %v", in.state, i, in.n, in.rate, event)
		k.heap(i)
	}
}

// heap checks the requests running in instance i: the heap's shape and order, and that the next completion is at
// its time.
func (k *checker) heap(i int32) {
	s := k.s
	in := &s.insts[i]
	if !k.that(within(in.root, len(s.reqs)) && s.reqs[in.root].link == emptyLink,
		"instance %d has the root %d", i, in.root) {
		return
	}
	stack := []int32{in.root}
	n := int32(0)
	for len(stack) > 0 {
		r := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		q := &s.reqs[r]
		if !k.that(k.req[r]&inHeap == 0 && q.state == reqRunning && q.inst == i && q.fn == in.fn,
			"request %d (state %d) runs in instance %d", r, q.state, i) {
			return
		}
		k.req[r] |= inHeap
		n++
		k.that(int64(q.finish-in.v) <= int64(MaxSpan)<<rateBits, "request %d has more service left than a demand can be", r)
		prev := r
		for j := q.child; j != none; j = s.reqs[j].link.next {
			if !k.that(within(j, len(s.reqs)) && s.reqs[j].link.prev == prev && len(stack) <= len(s.reqs),
				"the heap of instance %d is broken at %d", i, j) {
				return
			}
			k.that(!s.reqs[j].sooner(q), "the heap of instance %d is out of order at %d", i, j)
			stack = append(stack, j)
			prev = j
		}
	}
	k.that(n == in.n, "instance %d runs %d, counts %d", i, n, in.n)
	left := int64(s.reqs[in.root].finish - in.v)
	at := in.vAt
	if left > 0 {
		at += Time((uint64(left) + in.rate - 1) / in.rate)
	}
	got, _ := k.when(in.h)
	k.that(got == max(min(at, maxClock), s.cal.now), "instance %d has its completion at %d, want %d", i, got, at)
}

// request checks one place of the request pool.
func (k *checker) request(r int32) {
	s := k.s
	q := &s.reqs[r]
	_, event := k.when(q.h)
	mark := k.req[r] &^ inAges
	if q.state == reqFree {
		k.that(k.req[r] == inFree && !event, "free request %d is listed (%b)", r, k.req[r])
		return
	}
	if !k.that(q.state < reqStates && q.outcome < outcomes && within(q.fn, len(s.fns)),
		"request %d of function %d is in state %d with outcome %d", r, q.fn, q.state, q.outcome) ||
		!k.that(q.demand >= 0 && q.demand <= MaxSpan && q.slo >= 0 && q.arrived >= 0 && q.arrived < maxClock &&
			q.started <= s.cal.now,
			"request %d has times out of range", r) {
		return
	}
	at, _ := k.when(q.h)
	k.that(q.state == reqRunning || q.child == none, "request %d in state %d has the child %d", r, q.state, q.child)
	coming, ending := q.state == reqComing, q.state == reqEnding
	k.that(event == (coming || ending), "request %d in state %d has its event %v", r, q.state, event)
	k.that(!coming || at == max(q.arrived, s.cal.now), "request %d arrives at %d, its event is at %d", r, q.arrived, at)
	k.that(!ending || at == s.cal.now, "the end of request %d is reported at %d", r, at)
	k.that(coming || q.arrived <= s.cal.now && q.seq > 0 && q.seq <= s.arrivals,
		"request %d with number %d arrived at %d", r, q.seq, q.arrived)
	k.that(mark == [reqStates]uint8{reqQueued: inQueue, reqRunning: inHeap}[q.state],
		"request %d in state %d is on the wrong list (%b)", r, q.state, mark)
	aged := q.inSystem() && s.plan.cfg.Functions[q.fn].Timeout > 0
	k.that((k.req[r]&inAges != 0) == aged, "request %d in state %d is on the list by age: %v", r, q.state, !aged)
	if q.state == reqBound {
		k.that(within(q.inst, len(s.insts)) && s.insts[q.inst].root == r && s.insts[q.inst].state == Starting,
			"request %d is bound to instance %d", r, q.inst)
	}
}
