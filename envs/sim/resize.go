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

// SetKeepAlive changes a function's keep-alive (0: never expire).
func (s *Sim) SetKeepAlive(function int, keepAlive Time) error {
	if err := s.checkFunction(function); err != nil {
		return err
	}
	if keepAlive < 0 || keepAlive > MaxSpan {
		return fmt.Errorf("sim: function %d: keep-alive is %d µs, want 0 (never) to %d", function, keepAlive, MaxSpan)
	}
	f := &s.fns[function]
	f.keepAlive = keepAlive
	s.cal.cancel(f.expire)
	s.armExpire(int32(function))
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

// Adjust is a vertical resize: it changes CPU, memory, GPU slices, speed, contention and concurrency of a
// function's present instances in place, running requests included, and its limits. Instances of an earlier
// revision, on their way out, stay as they are. It fails, changing nothing, where a node has no room.
func (s *Sim) Adjust(function int, z Sizing) error {
	if err := s.checkSizing(function, z); err != nil {
		return err
	}
	fi := int32(function)
	f := &s.fns[fi]
	v := &s.revs[f.revision]
	if err := s.moveRoom(f, &v.Sizing, &z); err != nil {
		return err
	}
	f.gauge.touch(s.cal.now)
	g := &f.gauge.now
	s.scratch = s.scratch[:0]
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		if in.rev != f.revision {
			continue
		}
		s.sync(in)
		s.scratch = append(s.scratch, i, in.n)
		s.load(f, in, v, 0)
		if in.state != Pending {
			g[lvCPU] += int64(z.CPU) - int64(v.CPU)
			g[lvMemory] += int64(z.Memory) - int64(v.Memory)
			g[lvGPU] += int64(z.GPU) - int64(v.GPU)
		}
	}
	shrunk := z.CPU < v.CPU || z.Memory < v.Memory || z.GPU < v.GPU
	v.Sizing = z
	v.fillRates()
	s.makeBuckets(fi, z.Concurrency)
	for j := 0; j < len(s.scratch); j += 2 {
		in := &s.insts[s.scratch[j]]
		s.load(f, in, v, s.scratch[j+1])
	}
	for j := 0; j < len(s.scratch); j += 2 {
		i := s.scratch[j]
		switch s.insts[i].state {
		case Idle, Busy:
			s.settle(i)
		case Draining:
			s.pace(&s.insts[i])
		}
	}
	if shrunk && len(s.nodes) > 0 {
		s.placeAll(fi)
	}
	s.setLimits(fi, z)
	return nil
}

// moveRoom changes the room that f's present instances hold on their nodes from one sizing to another.
func (s *Sim) moveRoom(f *function, from, to *Sizing) error {
	if len(s.nodes) == 0 || from.CPU == to.CPU && from.Memory == to.Memory && from.GPU == to.GPU {
		return nil
	}
	stop := int32(none) // where the walk ended for lack of room
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		if in.rev != f.revision || in.node == none {
			continue
		}
		s.nodeTake(in.node, from, -1)
		if !s.nodes[in.node].free.holds(to) {
			s.nodeTake(in.node, from, 1)
			stop = i
			break
		}
		s.nodeTake(in.node, to, 1)
	}
	if stop == none {
		return nil
	}
	for i := f.all.head; i != stop; i = s.insts[i].all.next {
		if in := &s.insts[i]; in.rev == f.revision && in.node != none {
			s.nodeTake(in.node, to, -1)
			s.nodeTake(in.node, from, 1)
		}
	}
	k := s.insts[stop].node
	return fmt.Errorf("sim: adjusting %s: node %d has %+v left, which does not hold %+v in place of %+v",
		s.name(s.insts[stop].fn), k, s.nodes[k].free, room(to), room(from))
}

func room(z *Sizing) Node { return Node{z.CPU, z.Memory, z.GPU} }

// name is how errors call function fi.
func (s *Sim) name(fi int32) string {
	if n := s.plan.cfg.Functions[fi].Name; n != "" {
		return fmt.Sprintf("function %d (%s)", fi, n)
	}
	return fmt.Sprintf("function %d", fi)
}

// placeAll follows a shrinking of function fi's instances: its own pending ones may now fit anywhere, those of
// others where it has made room.
func (s *Sim) placeAll(fi int32) {
	f := &s.fns[fi]
	for f.nPending > 0 {
		k := s.findNode(&s.revs[f.revision].Sizing)
		if k == none {
			break
		}
		s.placeNext(f, k)
	}
	for k := range s.nodes {
		s.placePending(int32(k))
	}
}

// AnyNode leaves the node to the placement policy.
const AnyNode = -1

// Launch starts an instance on the given node, or on AnyNode (pending where none has room; the only choice in
// an unlimited cluster). It fails where the node has no room or the function has Max instances. What is launched
// beyond Min expires like any other.
func (s *Sim) Launch(function, node int) (InstanceID, error) {
	if err := s.checkFunction(function); err != nil {
		return 0, err
	}
	fi := int32(function)
	f := &s.fns[fi]
	if f.live+f.old >= f.max {
		return 0, fmt.Errorf("sim: launching %s: it has %d instances already, its Max is %d", s.name(fi), f.live+f.old, f.max)
	}
	if node != AnyNode {
		if node < 0 || node >= len(s.nodes) {
			return 0, fmt.Errorf("sim: launching %s: node is %d, want AnyNode or 0 to %d", s.name(fi), node, len(s.nodes)-1)
		}
		if z := &s.revs[f.revision].Sizing; !s.nodes[node].free.holds(z) {
			return 0, fmt.Errorf("sim: launching %s: node %d has %+v left, which does not hold %+v", s.name(fi), node,
				s.nodes[node].free, room(z))
		}
	}
	i := s.launch(fi, int32(node))
	return s.insts[i].id(i), nil
}

// find is the pool place of a living instance.
func (s *Sim) find(id InstanceID) (int32, error) {
	i := int64(uint32(id))
	if id == 0 || i >= int64(len(s.insts)) || s.insts[i].gen != uint32(id>>32) || s.insts[i].state == Gone {
		return none, fmt.Errorf("sim: instance %#x has ended or never was", uint64(id))
	}
	return int32(i), nil
}

// Retire ends an instance once it has finished what it runs; below Min another starts in its place.
func (s *Sim) Retire(id InstanceID) error {
	i, err := s.find(id)
	if err != nil {
		return err
	}
	fi := s.insts[i].fn
	s.drain(i)
	s.reconcile(fi)
	return nil
}

// Kill ends an instance now. What it ran is reported Killed, or with requeue goes back to the front of the queue
// as a further attempt.
func (s *Sim) Kill(id InstanceID, requeue bool) error {
	i, err := s.find(id)
	if err != nil {
		return err
	}
	fi := s.insts[i].fn
	s.kill(i, requeue)
	s.reconcile(fi)
	return nil
}
