package sim

import "fmt"

// reconcile launches and retires instances until function fi has what its limits and its queue call for.
func (s *Sim) reconcile(fi int32) {
	f := &s.fns[fi]
	blind := s.plan.cfg.Functions[fi].blind()
	for f.live > f.max {
		s.shrink(fi)
	}
	s.refill(fi)
	for f.live < f.min {
		s.launch(fi, AnyNode)
	}
	for f.live+f.old < f.max && (!blind || f.nIdle+f.nBusy == 0) {
		coming := int64(f.nStarting+f.nPending) * int64(s.revs[f.revision].Concurrency)
		if coming >= int64(f.queued) {
			break
		}
		s.insts[s.launch(fi, AnyNode)].onDemand = true
	}
}

// shrink drains one instance of function fi's present revision: a pending one, else the newest starting one, else
// the one that has been idle longest, else one with fewest running.
func (s *Sim) shrink(fi int32) {
	f := &s.fns[fi]
	i := f.pending.tail
	if i == none && f.nStarting > 0 {
		for i = f.all.tail; s.insts[i].state != Starting; {
			i = s.insts[i].all.prev
		}
	}
	if i == none {
		i = s.presentOf(f, f.idle.head, false)
	}
	if i == none {
		least := int32(none)
		for j := f.all.head; j != none; j = s.insts[j].all.next {
			in := &s.insts[j]
			if in.state == Busy && in.rev == f.revision && (least == none || in.n < s.insts[least].n) {
				least = j
			}
		}
		i = least
	}
	s.drain(i)
}

// presentOf returns the first instance of f's present revision (or, with old, of an earlier one) in the idle list
// from i.
func (s *Sim) presentOf(f *function, i int32, old bool) int32 {
	for i != none && (s.insts[i].rev != f.revision) != old {
		i = s.insts[i].idle.next
	}
	return i
}

// retireOld drains the oldest ready instance of an earlier revision.
func (s *Sim) retireOld(fi int32) {
	f := &s.fns[fi]
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		if in := &s.insts[i]; in.rev != f.revision && (in.state == Idle || in.state == Busy) {
			s.drain(i)
			return
		}
	}
}

// newRevision makes z the sizing of function f's new instances.
func (s *Sim) newRevision(f *function, z Sizing) {
	i := s.freeRev
	if i != none {
		s.freeRev = s.revs[i].next
	} else {
		i = int32(len(s.revs))
		s.revs = append(s.revs, revision{})
	}
	s.revs[i] = revision{Sizing: z, refs: 1, next: none}
	s.revs[i].fillRates()
	if f.revision != none {
		s.dropRevision(f.revision)
	}
	f.revision, f.min, f.max = i, z.Min, z.Max
}

func (s *Sim) dropRevision(i int32) {
	v := &s.revs[i]
	if v.refs--; v.refs == 0 {
		v.next = s.freeRev
		s.freeRev = i
	}
}

// makeBuckets gives function fi enough buckets for instances of the given concurrency.
func (s *Sim) makeBuckets(fi, concurrency int32) {
	f := &s.fns[fi]
	need := int32(1)
	if s.plan.cfg.Functions[fi].Dispatch < RoundRobin {
		for need < concurrency {
			need *= 2 // so that repeated resizes leave little behind
		}
	}
	if need <= f.buckets {
		return
	}
	bucket, mask := int32(len(s.buckets)), int32(len(s.masks))
	for range need {
		s.buckets = append(s.buckets, emptyList)
	}
	for range (need + 63) / 64 {
		s.masks = append(s.masks, 0)
	}
	copy(s.buckets[bucket:], s.buckets[f.bucket:f.bucket+f.buckets])
	copy(s.masks[mask:], s.masks[f.mask:f.mask+(f.buckets+63)/64])
	f.bucket, f.mask, f.buckets = bucket, mask, need
}

func (s *Sim) checkSizing(function int, z Sizing) error {
	if err := s.checkFunction(function); err != nil {
		return err
	}
	if z.validate("Sizing") == nil {
		return nil // without the name below, which allocates
	}
	return z.validate(fmt.Sprintf("function %d: Sizing", function))
}

func (s *Sim) checkFunction(function int) error {
	if function < 0 || function >= len(s.fns) {
		return fmt.Errorf("sim: function is %d, want 0 to %d", function, len(s.fns)-1)
	}
	return nil
}

// sameShape reports whether two sizings differ at most in the number of instances.
func (z Sizing) sameShape(o Sizing) bool {
	z.Min, z.Max = o.Min, o.Max
	return z == o
}

// Resize changes a function's sizing gently. Where only Min and Max change, instances are launched or retired;
// otherwise new ones start beside the old, each that gets ready retires an old one (which finishes what it runs),
// and where a new one finds no room an old one leaves at once.
func (s *Sim) Resize(function int, z Sizing) error {
	if err := s.checkSizing(function, z); err != nil {
		return err
	}
	fi := int32(function)
	f := &s.fns[fi]
	if z.sameShape(s.revs[f.revision].Sizing) {
		s.setLimits(fi, z)
		return nil
	}
	for f.pending.head != none {
		s.drain(f.pending.head)
	}
	for i := f.all.head; i != none; {
		next := s.insts[i].all.next
		if s.insts[i].state == Starting {
			s.drain(i)
		}
		i = next
	}
	f.old, f.live = f.old+f.live, 0
	s.newRevision(f, z)
	s.makeBuckets(fi, z.Concurrency)
	want := min(max(f.old, z.Min), z.Max)
	for f.old > want {
		s.retireOld(fi)
	}
	for range want {
		if i := s.launch(fi, AnyNode); s.insts[i].state == Pending && f.old > 0 {
			s.retireOld(fi)
		}
	}
	s.reconcile(fi)
	return nil
}

// setLimits changes function fi's Min and Max alone.
func (s *Sim) setLimits(fi int32, z Sizing) {
	f := &s.fns[fi]
	f.min, f.max = z.Min, z.Max
	s.revs[f.revision].Min, s.revs[f.revision].Max = z.Min, z.Max
	s.reconcile(fi)
	s.armExpire(fi)
}

// Redeploy is a fresh deployment: every instance ends now and as many (within z's Min and Max) start cold. What
// ran is reported Killed, or with requeue goes back to the front of the queue as a further attempt. Waiting
// requests keep waiting; Flush ends them.
func (s *Sim) Redeploy(function int, z Sizing, requeue bool) error {
	if err := s.checkSizing(function, z); err != nil {
		return err
	}
	fi := int32(function)
	f := &s.fns[fi]
	want := min(max(f.live+f.old, z.Min), z.Max)
	for f.pending.head != none {
		s.drain(f.pending.head)
	}
	for f.all.head != none {
		s.kill(f.all.head, requeue)
	}
	s.newRevision(f, z)
	s.makeBuckets(fi, z.Concurrency)
	for range want {
		s.launch(fi, AnyNode)
	}
	s.reconcile(fi)
	return nil
}

// Flush ends a function's waiting requests as Killed, those bound to a starting instance excepted.
func (s *Sim) Flush(function int) error {
	if err := s.checkFunction(function); err != nil {
		return err
	}
	f := &s.fns[function]
	for f.queue.head != none {
		r := f.queue.head
		s.unqueue(f, r)
		s.abort(r, Killed)
	}
	return nil
}

// AnyNode leaves the node to the placement policy.
const AnyNode = -1
