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

// shelve puts instance i on a shelf of available instances: in front, or at the back where they take turns.
func (s *Sim) shelve(f *function, i, level int32, back bool) {
	sh := &s.shelf[f.shelf+level]
	in := &s.insts[i]
	in.level = level
	if f.seat != none {
		s.sit(f, i)
		return
	}
	if sh.head == none {
		in.avail = emptyLink
		sh.head, sh.tail = i, i
		s.masks[f.mask+level>>6] |= 1 << (level & 63)
	} else if back {
		in.avail = link{sh.tail, none}
		s.insts[sh.tail].avail.next = i
		sh.tail = i
	} else {
		in.avail = link{none, sh.head}
		s.insts[sh.head].avail.prev = i
		sh.head = i
	}
}

// unshelve takes instance i off its shelf.
func (s *Sim) unshelve(f *function, i int32) {
	in := &s.insts[i]
	sh := &s.shelf[f.shelf+in.level]
	l := in.avail
	if f.seat != none {
		s.rise(f, i)
		return
	}
	if l.prev == none {
		sh.head = l.next
	} else {
		s.insts[l.prev].avail.next = l.next
	}
	if l.next == none {
		sh.tail = l.prev
	} else {
		s.insts[l.next].avail.prev = l.prev
	}
	if sh.head == none {
		s.masks[f.mask+in.level>>6] &^= 1 << (in.level & 63)
	}
	in.level = none
}

// sit adds instance i to the ready instances of a function whose Dispatch is Random: a dense row, so that one of
// them can be drawn. instance.avail.prev is the place in the row. rise takes it out; the last takes its place.
func (s *Sim) sit(f *function, i int32) {
	if f.seated == f.seats {
		from := f.seat
		f.seat, f.seats = int32(len(s.seats)), 2*f.seats
		for range f.seats {
			s.seats = append(s.seats, none)
		}
		copy(s.seats[f.seat:], s.seats[from:from+f.seated])
	}
	s.seats[f.seat+f.seated] = i
	s.insts[i].avail = link{f.seated, none}
	f.seated++
}

func (s *Sim) rise(f *function, i int32) {
	f.seated--
	at, last := s.insts[i].avail.prev, s.seats[f.seat+f.seated]
	s.seats[f.seat+at] = last
	s.insts[last].avail.prev = at
	s.insts[i].avail, s.insts[i].level = emptyLink, none
}

// lowest and highest are the first and last shelf in use, none if all are empty.
func (s *Sim) lowest(f *function) int32 {
	words := (f.shelves + 63) >> 6
	for w := range words {
		if m := s.masks[f.mask+w]; m != 0 {
			return w<<6 + int32(bits.TrailingZeros64(m))
		}
	}
	return none
}

func (s *Sim) highest(f *function) int32 {
	for w := (f.shelves+63)>>6 - 1; w >= 0; w-- {
		if m := s.masks[f.mask+w]; m != 0 {
			return w<<6 + int32(63-bits.LeadingZeros64(m))
		}
	}
	return none
}

var emptyLink = link{none, none}
