package sim

// pick chooses an instance for an arriving request: none if no slot is free. full says that the request must be
// rejected (Blind's or Random's choice has no slot).
func (s *Sim) pick(f *function, c *Function, r int32) (i int32, full bool) {
	switch c.Dispatch {
	case LeastLoaded, Packed:
		l := s.lowest(f)
		if c.Dispatch == Packed {
			l = s.highest(f)
		}
		if l == none {
			return none, false
		}
		return s.buckets[f.bucket+l].head, false
	}
	if f.nIdle+f.nBusy == 0 {
		return none, false
	}
	if c.Dispatch == Random {
		q := &s.reqs[r]
		i = s.rows[f.row+int32(f.dispatchKey.With(q.id).With(uint64(q.attempt)).IntN(int(f.nIdle+f.nBusy)))]
	} else if i = s.buckets[f.bucket].head; i == none {
		return none, false
	} else if s.insts[i].avail.next != none { // to the end of the round
		s.makeUnavailable(f, i)
		s.makeAvailable(f, i, 0, true)
	}
	if c.blind() && s.insts[i].n >= s.revs[s.insts[i].rev].Concurrency {
		return none, true
	}
	return i, false
}

// blind reports whether requests are sent to instances without a look at what runs there.
func (c *Function) blind() bool { return c.Dispatch == Blind || c.Dispatch == Random }

// place is the bucket on which an instance that takes requests belongs with n running: none if it is full.
func (c *Function) place(n, concurrency int32) int32 {
	switch {
	case c.blind():
		return 0
	case n >= concurrency:
		return none
	case c.Dispatch == RoundRobin:
		return 0
	}
	return n
}

// settle follows a change in instance i's running requests or state: it takes in waiting requests, schedules the next
// completion and puts the instance on its lists, or ends it if it has drained.
func (s *Sim) settle(i int32) {
	in := &s.insts[i]
	f, v := &s.fns[in.fn], &s.revs[in.rev]
	if in.state == Draining {
		s.pace(in)
		if in.n == 0 {
			s.remove(i)
			s.reconcile(in.fn)
		}
		return
	}
	for in.n < v.Concurrency && f.queue.head != none {
		s.takeNext(f, i, false)
	}
	s.pace(in)
	s.file(i)
}

// takeNext moves the first waiting request into instance i.
func (s *Sim) takeNext(f *function, i int32, cold bool) {
	r := f.queue.head
	s.queueRemove(f, r)
	f.gauge.now[lvWaiting]--
	s.begin(i, r, cold)
}

// file puts a ready instance on the lists that its number of running requests calls for.
func (s *Sim) file(i int32) {
	in := &s.insts[i]
	f, c := &s.fns[in.fn], &s.plan.cfg.Functions[in.fn]
	if in.n > 0 && in.state == Idle {
		s.idleRemove(&f.idle, i)
		f.nIdle--
		f.nBusy++
		in.state, in.since = Busy, s.cal.now
	} else if in.n == 0 && in.state == Busy {
		s.idlePush(&f.idle, i)
		f.nBusy--
		f.nIdle++
		in.state, in.since = Idle, s.cal.now
		s.armExpire(in.fn)
	}
	if l := c.place(in.n, s.revs[in.rev].Concurrency); l != in.level {
		if in.level != none {
			s.makeUnavailable(f, i)
		}
		if l != none {
			s.makeAvailable(f, i, l, c.Dispatch >= RoundRobin)
		}
	}
}

// mayExpire reports whether function f's longest idle instance is one too many for its lower limit.
func (s *Sim) mayExpire(f *function) bool {
	if f.keepAlive == 0 || f.idle.head == none {
		return false
	}
	have := f.live
	if s.insts[f.idle.head].rev != f.revision {
		have += f.old
	}
	return have > f.min
}

// armExpire schedules function fi's next look at its longest idle instance.
func (s *Sim) armExpire(fi int32) {
	f := &s.fns[fi]
	if s.mayExpire(f) && s.cal.pos[f.expire] == unscheduled {
		s.cal.schedule(f.expire, s.insts[f.idle.head].since+f.keepAlive)
	}
}

// expire ends function fi's instances that have been idle too long. One event a function stands for all of them.
func (s *Sim) expire(fi int32) {
	f := &s.fns[fi]
	for s.mayExpire(f) && s.insts[f.idle.head].since+f.keepAlive <= s.cal.now {
		f.tally.Expired++
		s.remove(f.idle.head)
	}
	s.armExpire(fi)
}

// armQueue schedules the moment at which the first waiting request may give up; armAge that at which the oldest
// request may time out.
func (s *Sim) armQueue(f *function, c *Function) {
	if f.queue.head != none && s.cal.pos[f.queueTimer] == unscheduled {
		s.cal.schedule(f.queueTimer, s.reqs[f.queue.head].arrived+c.QueueTimeout)
	}
}

func (s *Sim) armAge(f *function, c *Function) {
	if f.ages.head != none && s.cal.pos[f.ageTimer] == unscheduled {
		s.cal.schedule(f.ageTimer, s.reqs[f.ages.head].arrived+c.Timeout)
	}
}

// putBack returns request r to the queue at its place by arrival.
func (s *Sim) putBack(f *function, r int32) {
	s.queuePutBack(f, r)
	if c := &s.plan.cfg.Functions[s.reqs[r].fn]; c.QueueTimeout > 0 && f.queue.head == r {
		s.cal.cancel(f.queueTimer)
		s.armQueue(f, c)
	}
}

// giveUp ends function fi's first waiting request if it has waited too long.
func (s *Sim) giveUp(fi int32) {
	f, c := &s.fns[fi], &s.plan.cfg.Functions[fi]
	r := f.queue.head
	due := r != none && s.reqs[r].arrived+c.QueueTimeout <= s.cal.now
	if due {
		s.unqueue(f, r)
	}
	s.armQueue(f, c)
	if due {
		s.end(r, TimedOut)
	}
}

// unqueue takes request r out of the queue.
func (s *Sim) unqueue(f *function, r int32) {
	f.gauge.touch(s.cal.now)
	f.gauge.now[lvWaiting]--
	s.queueRemove(f, r)
}

// timeOut ends function fi's oldest request if it has been in the system too long.
func (s *Sim) timeOut(fi int32) {
	f, c := &s.fns[fi], &s.plan.cfg.Functions[fi]
	r := f.ages.head
	if r == none || s.reqs[r].arrived+c.Timeout > s.cal.now {
		s.armAge(f, c)
		return
	}
	q := &s.reqs[r]
	switch q.state {
	case reqQueued:
		s.unqueue(f, r)
	case reqBound:
		f.gauge.touch(s.cal.now)
		f.gauge.now[lvWaiting]--
		s.insts[q.inst].root = none
	case reqRunning:
		i := q.inst
		s.leave(r)
		s.settle(i)
	}
	s.count(r, TimedOut)
	s.armAge(f, c)
	s.report(r)
}

// refill hands waiting requests to instances with free slots, which there are after some were put back.
func (s *Sim) refill(fi int32) {
	f, c := &s.fns[fi], &s.plan.cfg.Functions[fi]
	for f.queue.head != none && f.nIdle+f.nBusy > 0 {
		i, _ := s.pick(f, c, f.queue.head)
		if c.blind() {
			i = s.anyFree(f)
		}
		if i == none {
			return
		}
		f.gauge.touch(s.cal.now)
		s.settle(i)
	}
}

// anyFree is function f's oldest instance with a free slot, found by a walk.
func (s *Sim) anyFree(f *function) int32 {
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		if (in.state == Idle || in.state == Busy) && in.n < s.revs[in.rev].Concurrency {
			return i
		}
	}
	return none
}
