package sim

// CopyFrom makes s a copy of o: state, meters, calendar and configuration. The two are independent afterwards. It
// does not allocate once s has held as much. It may be called from a handler of o, not from one of s.
func (s *Sim) CopyFrom(o *Sim) {
	if s == o {
		return
	}
	if s.plan != o.plan {
		s.sketches = nil // of another size
		s.plan = o.plan
	}
	s.seed, s.arrivals, s.from = o.seed, o.arrivals, o.from
	s.cal.copyFrom(&o.cal)
	s.fns = append(s.fns[:0], o.fns...)
	s.revs = append(s.revs[:0], o.revs...)
	s.insts = append(s.insts[:0], o.insts...)
	s.reqs = append(s.reqs[:0], o.reqs...)
	s.timers = append(s.timers[:0], o.timers...)
	s.freeRev, s.freeInst, s.freeReq, s.freeTim = o.freeRev, o.freeInst, o.freeReq, o.freeTim
	s.nodes = append(s.nodes[:0], o.nodes...)
	s.finder.copyFrom(&o.finder)
	s.waiting = append(s.waiting[:0], o.waiting...)
	s.shelf = append(s.shelf[:0], o.shelf...)
	s.masks = append(s.masks[:0], o.masks...)
	s.seats = append(s.seats[:0], o.seats...)
	if len(s.sketches) != len(o.sketches) {
		s.sketches = nil
		s.resetSketches()
	}
	for i := range s.sketches {
		s.sketches[i].CopyFrom(&o.sketches[i])
	}
	s.handler, s.paused = silent{}, false
}

func (c *calendar) copyFrom(o *calendar) {
	c.now, c.seq, c.hole, c.head = o.now, o.seq, o.hole, o.head
	c.heap = append(c.heap[:0], o.heap...)
	c.due = append(c.due[:0], o.due...)
	c.pos = append(c.pos[:0], o.pos...)
	c.what = append(c.what[:0], o.what...)
}

func (f *finder) copyFrom(o *finder) {
	f.cursor, f.size, f.root = o.cursor, o.size, o.root
	f.top = append(f.top[:0], o.top...)
	f.left = append(f.left[:0], o.left...)
	f.right = append(f.right[:0], o.right...)
}
