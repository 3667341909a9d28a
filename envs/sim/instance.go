package sim

import "math"

// starter is the platform's bound on instance starts ([Config.StartRate]): it starts one instance after another, and
// each keeps it busy for the same time.
type starter struct {
	from  Time   // when it last became busy
	count uint64 // starts that it has taken since
}

// take takes one more start and returns when the platform is done with it.
func (b *starter) take(now Time, rate float64) Time {
	if b.until(rate) <= now {
		b.from, b.count = now, 0
	}
	b.count++
	return b.until(rate)
}

// until is when the platform is done with all starts that it has taken. It is computed from their number, so that
// rounding to microseconds does not add up.
func (b *starter) until(rate float64) Time {
	return b.from + Time(math.Round(min(float64(b.count)*1e6/rate, float64(MaxSpan))))
}

// startOf is when an instance that is placed now begins its cold start.
func (s *Sim) startOf() Time {
	if rate := s.plan.cfg.StartRate; rate > 0 {
		return s.starts.take(s.cal.now, rate)
	}
	return s.cal.now
}

// id names instance in at pool place i.
func (in *instance) id(i int32) InstanceID { return InstanceID(in.gen)<<32 | InstanceID(uint32(i)) }

// launch makes an instance of function fi and returns its pool place. It stands on node where, or with AnyNode where
// the placement policy puts it, or is pending.
func (s *Sim) launch(fi int32, where int32) int32 {
	i := s.freeInst
	if i != none {
		s.freeInst = s.insts[i].all.next
	} else {
		i = int32(len(s.insts))
		s.insts = append(s.insts, instance{h: s.cal.handle(evInstance, i)})
	}
	f := &s.fns[fi]
	in := &s.insts[i]
	*in = instance{
		gen: in.gen + 1, h: in.h, born: s.cal.now, since: s.cal.now, fn: fi, node: none, rev: f.revision,
		root: none, level: none, avail: emptyLink, idle: emptyLink, state: Pending,
		cold: s.plan.fn[fi].cold.draw(f.coldKey.With(f.launches)),
	}
	f.launches++
	s.revs[in.rev].refs++
	s.allPush(f, i)
	f.live++
	if where == AnyNode {
		where = s.findNode(&s.revs[in.rev].Sizing)
	}
	if where == none && len(s.nodes) > 0 {
		s.idlePush(&f.pending, i)
		if f.nPending++; f.nPending == 1 {
			s.waiting = append(s.waiting, fi)
		}
	} else {
		s.startOn(i, where)
	}
	s.armExpire(fi)
	return i
}

// startOn places instance i on node k (none: the unlimited cluster) and starts it.
func (s *Sim) startOn(i, k int32) {
	in := &s.insts[i]
	f, v := &s.fns[in.fn], &s.revs[in.rev]
	if k != none {
		s.nodeTake(k, &v.Sizing, 1)
	}
	in.node, in.state = k, Starting
	f.nStarting++
	f.tally.ColdStarts++
	f.gauge.touch(s.cal.now)
	g := &f.gauge.now
	g[lvPlaced]++
	g[lvStarting]++
	g[lvCPU] += int64(v.CPU)
	g[lvMemory] += int64(v.Memory)
	g[lvGPU] += int64(v.GPU)
	s.cal.schedule(in.h, min(s.startOf()+in.cold, maxClock))
}

// ready makes starting instance i ready and gives it what waits for it; cold marks those requests.
func (s *Sim) ready(i int32, cold bool) {
	in := &s.insts[i]
	f := &s.fns[in.fn]
	f.gauge.touch(s.cal.now)
	f.gauge.now[lvStarting]--
	f.gauge.now[lvReady]++
	f.nStarting--
	f.nIdle++
	in.state, in.since, in.vAt = Idle, s.cal.now, s.cal.now
	s.idlePush(&f.idle, i)
	bound := in.root
	in.root = none
	if bound != none {
		f.gauge.now[lvWaiting]--
		s.begin(i, bound, cold)
	}
	for in.n < s.revs[in.rev].Concurrency && f.queue.head != none {
		s.takeNext(f, i, cold)
	}
	s.pace(in)
	s.file(i)
	s.armExpire(in.fn)
	for f.old > 0 && s.insts[i].rev == f.revision {
		s.retireOld(s.insts[i].fn)
		if f.nStarting+f.nPending > 0 {
			break
		}
	}
}

// drain ends instance i as soon as it has finished what it runs. The caller reconciles.
func (s *Sim) drain(i int32) {
	in := &s.insts[i]
	f := &s.fns[in.fn]
	switch in.state {
	case Starting, Pending:
		if r := in.root; r != none {
			in.root = none
			s.reqs[r].inst = none
			s.putBack(f, r)
		}
		s.remove(i)
	case Idle:
		s.remove(i)
	case Busy:
		if in.level != none {
			s.makeUnavailable(f, i)
		}
		in.state = Draining
		f.nBusy--
		f.nDraining++
		s.discount(f, in)
	}
}

// discount takes an instance out of the number that take requests.
func (s *Sim) discount(f *function, in *instance) {
	if in.rev == f.revision {
		f.live--
	} else {
		f.old--
	}
}

// kill ends instance i now; its tasks are reported Killed or put back in the queue. The caller reconciles.
func (s *Sim) kill(i int32, requeue bool) {
	in := &s.insts[i]
	f := &s.fns[in.fn]
	f.gauge.touch(s.cal.now)
	for in.n > 0 {
		r := in.root
		in.root = s.extract(r, r)
		s.load(f, in, &s.revs[in.rev], in.n-1)
		if requeue {
			q := &s.reqs[r]
			q.attempt++
			q.inst = none
			f.gauge.now[lvWaiting]++
			s.putBack(f, r)
		} else {
			s.abort(r, Killed)
		}
	}
	if in.state == Busy {
		f.nBusy--
		f.nIdle++
		in.state = Idle
		s.idlePush(&f.idle, i)
	}
	if in.state == Draining {
		s.remove(i)
		return
	}
	s.drain(i)
}

// remove takes instance i, which runs nothing, off every list and frees it and its room.
func (s *Sim) remove(i int32) {
	in := &s.insts[i]
	f, v := &s.fns[in.fn], &s.revs[in.rev]
	s.cal.cancel(in.h)
	f.gauge.touch(s.cal.now)
	g := &f.gauge.now
	state, k, rev := in.state, in.node, in.rev
	switch state {
	case Pending:
		s.unpend(i)
	case Starting:
		f.nStarting--
		g[lvStarting]--
	case Idle:
		f.nIdle--
		g[lvReady]--
		s.idleRemove(&f.idle, i)
		if in.level != none {
			s.makeUnavailable(f, i)
		}
	case Draining:
		f.nDraining--
		g[lvReady]--
	}
	if state != Draining {
		s.discount(f, in)
	}
	if state != Pending {
		g[lvPlaced]--
		g[lvCPU] -= int64(v.CPU)
		g[lvMemory] -= int64(v.Memory)
		g[lvGPU] -= int64(v.GPU)
	}
	s.allRemove(f, i)
	in.state = Gone
	in.all.next = s.freeInst
	s.freeInst = i
	if k != none {
		s.nodeTake(k, &v.Sizing, -1)
	}
	s.dropRevision(rev)
	if k != none {
		s.placePending(k)
	}
}

// unpend takes instance i out of the pending ones.
func (s *Sim) unpend(i int32) {
	fi := s.insts[i].fn
	f := &s.fns[fi]
	s.idleRemove(&f.pending, i)
	s.insts[i].idle = emptyLink
	if f.nPending--; f.nPending == 0 {
		for j, w := range s.waiting {
			if w == fi {
				s.waiting = append(s.waiting[:j], s.waiting[j+1:]...)
				break
			}
		}
	}
}

// placeNext starts function f's first pending instance on node k, or ends it if it was launched for waiting requests
// and none wait any more.
func (s *Sim) placeNext(f *function, k int32) {
	i := f.pending.head
	if s.insts[i].onDemand && f.queued == 0 && f.live > f.min {
		s.remove(i)
		return
	}
	s.unpend(i)
	s.startOn(i, k)
}

// placePending gives the room that fell free on node k to pending instances, first come first served by function.
// Only node k can hold any of them: each fitted nowhere before.
func (s *Sim) placePending(k int32) {
	for j := 0; j < len(s.waiting); {
		fi := s.waiting[j]
		f := &s.fns[fi]
		for f.nPending > 0 && s.nodes[k].free.holds(&s.revs[s.insts[f.pending.head].rev].Sizing) {
			s.placeNext(f, k)
		}
		if f.nPending > 0 {
			j++
		}
	}
}
