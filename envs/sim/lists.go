package sim

import "math/bits"

// The lists below link pool places by index; each function says which link it goes through.

// queuePush appends request r to its function's queue.
func (s *Sim) queuePush(f *function, r int32) {
	q := &s.reqs[r]
	q.state = reqQueued
	q.link = link{f.queue.tail, none}
	if f.queue.tail == none {
		f.queue.head = r
	} else {
		s.reqs[f.queue.tail].link.next = r
	}
	f.queue.tail = r
	f.queued++
}

// queuePutBack returns request r to the queue at its place by arrival, looked for from the front.
func (s *Sim) queuePutBack(f *function, r int32) {
	q := &s.reqs[r]
	at := f.queue.head
	for at != none && s.reqs[at].seq < q.seq {
		at = s.reqs[at].link.next
	}
	if at == none {
		s.queuePush(f, r)
		return
	}
	q.state = reqQueued
	q.link = link{s.reqs[at].link.prev, at}
	if q.link.prev == none {
		f.queue.head = r
	} else {
		s.reqs[q.link.prev].link.next = r
	}
	s.reqs[at].link.prev = r
	f.queued++
}

// queueRemove takes request r out of its function's queue.
func (s *Sim) queueRemove(f *function, r int32) {
	l := s.reqs[r].link
	if l.prev == none {
		f.queue.head = l.next
	} else {
		s.reqs[l.prev].link.next = l.next
	}
	if l.next == none {
		f.queue.tail = l.prev
	} else {
		s.reqs[l.next].link.prev = l.prev
	}
	f.queued--
}

// agePush appends request r to its function's list by arrival; ageRemove takes it out.
func (s *Sim) agePush(f *function, r int32) {
	s.reqs[r].age = link{f.ages.tail, none}
	if f.ages.tail == none {
		f.ages.head = r
	} else {
		s.reqs[f.ages.tail].age.next = r
	}
	f.ages.tail = r
}

func (s *Sim) ageRemove(f *function, r int32) {
	l := s.reqs[r].age
	if l.prev == none {
		f.ages.head = l.next
	} else {
		s.reqs[l.prev].age.next = l.next
	}
	if l.next == none {
		f.ages.tail = l.prev
	} else {
		s.reqs[l.next].age.prev = l.prev
	}
}

// allPush appends instance i to its function's list of instances; allRemove takes it out.
func (s *Sim) allPush(f *function, i int32) {
	s.insts[i].all = link{f.all.tail, none}
	if f.all.tail == none {
		f.all.head = i
	} else {
		s.insts[f.all.tail].all.next = i
	}
	f.all.tail = i
}

func (s *Sim) allRemove(f *function, i int32) {
	l := s.insts[i].all
	if l.prev == none {
		f.all.head = l.next
	} else {
		s.insts[l.prev].all.next = l.next
	}
	if l.next == none {
		f.all.tail = l.prev
	} else {
		s.insts[l.next].all.prev = l.prev
	}
}

// idlePush appends instance i to a list through instance.idle (the idle or the pending ones); idleRemove takes it
// out of that list.
func (s *Sim) idlePush(l *list, i int32) {
	s.insts[i].idle = link{l.tail, none}
	if l.tail == none {
		l.head = i
	} else {
		s.insts[l.tail].idle.next = i
	}
	l.tail = i
}

func (s *Sim) idleRemove(l *list, i int32) {
	k := s.insts[i].idle
	if k.prev == none {
		l.head = k.next
	} else {
		s.insts[k.prev].idle.next = k.next
	}
	if k.next == none {
		l.tail = k.prev
	} else {
		s.insts[k.next].idle.prev = k.prev
	}
}

// makeAvailable puts instance i into a bucket of available instances: in front, or at the back where they take turns.
func (s *Sim) makeAvailable(f *function, i, level int32, back bool) {
	b := &s.buckets[f.bucket+level]
	in := &s.insts[i]
	in.level = level
	if f.row != none {
		s.addToRow(f, i)
		return
	}
	if b.head == none {
		in.avail = emptyLink
		b.head, b.tail = i, i
		s.masks[f.mask+level>>6] |= 1 << (level & 63)
	} else if back {
		in.avail = link{b.tail, none}
		s.insts[b.tail].avail.next = i
		b.tail = i
	} else {
		in.avail = link{none, b.head}
		s.insts[b.head].avail.prev = i
		b.head = i
	}
}

// makeUnavailable takes instance i out of its bucket.
func (s *Sim) makeUnavailable(f *function, i int32) {
	in := &s.insts[i]
	b := &s.buckets[f.bucket+in.level]
	l := in.avail
	if f.row != none {
		s.removeFromRow(f, i)
		return
	}
	if l.prev == none {
		b.head = l.next
	} else {
		s.insts[l.prev].avail.next = l.next
	}
	if l.next == none {
		b.tail = l.prev
	} else {
		s.insts[l.next].avail.prev = l.prev
	}
	if b.head == none {
		s.masks[f.mask+in.level>>6] &^= 1 << (in.level & 63)
	}
	in.level = none
}

// addToRow adds instance i to the ready instances of a function whose Dispatch is Random: a dense row, so that one of
// them can be drawn. instance.avail.prev is the place in the row. removeFromRow takes it out, and the row's last
// instance moves to its place.
func (s *Sim) addToRow(f *function, i int32) {
	if f.rowUsed == f.rowLen {
		from := f.row
		f.row, f.rowLen = int32(len(s.rows)), 2*f.rowLen
		for range f.rowLen {
			s.rows = append(s.rows, none)
		}
		copy(s.rows[f.row:], s.rows[from:from+f.rowUsed])
	}
	s.rows[f.row+f.rowUsed] = i
	s.insts[i].avail = link{f.rowUsed, none}
	f.rowUsed++
}

func (s *Sim) removeFromRow(f *function, i int32) {
	f.rowUsed--
	at, last := s.insts[i].avail.prev, s.rows[f.row+f.rowUsed]
	s.rows[f.row+at] = last
	s.insts[last].avail.prev = at
	s.insts[i].avail, s.insts[i].level = emptyLink, none
}

// lowest and highest are the first and last bucket in use, none if all are empty.
func (s *Sim) lowest(f *function) int32 {
	words := (f.buckets + 63) >> 6
	for w := range words {
		if m := s.masks[f.mask+w]; m != 0 {
			return w<<6 + int32(bits.TrailingZeros64(m))
		}
	}
	return none
}

func (s *Sim) highest(f *function) int32 {
	for w := (f.buckets+63)>>6 - 1; w >= 0; w-- {
		if m := s.masks[f.mask+w]; m != 0 {
			return w<<6 + int32(63-bits.LeadingZeros64(m))
		}
	}
	return none
}

var emptyLink = link{none, none}
