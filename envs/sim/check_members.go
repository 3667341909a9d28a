package sim

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
