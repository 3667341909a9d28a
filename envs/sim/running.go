package sim

import "math"

// Service inside an instance is processor sharing in virtual time: v is the service that every running request has
// attained since it stood at v₀, so a request that starts at v with demand d completes when v reaches v+d, and a
// change of the number running changes only how fast v grows. v is an integer in units of 2^-rateBits µs and grows
// by an integer rate a microsecond, so progress is exact whatever happens on the way; a completion falls on the
// next whole microsecond. v wraps round; only differences, which MaxSpan bounds, are compared.
const rateBits = 24

// rateTable is how many rates a revision keeps computed.
const rateTable = 17

// rate is the growth of v per µs with n running.
func (z *Sizing) rate(n int32) uint64 {
	x := float64(n)
	slow := 1 + float64(z.Contention.Alpha*(x-1))
	if z.Contention.Cores > 0 && x > z.Contention.Cores {
		slow *= x / z.Contention.Cores
	}
	return uint64(max(1, math.Round(z.Speed/slow*(1<<rateBits))))
}

func (v *revision) fillRates() {
	for n := int32(1); n < rateTable; n++ {
		v.rates[n] = v.rate(n)
	}
}

func (v *revision) rateOf(n int32) uint64 {
	if n < rateTable {
		return v.rates[n]
	}
	return v.rate(n)
}

// sync brings instance in's v up to date.
func (s *Sim) sync(in *instance) {
	in.v += uint64(s.cal.now-in.vAt) * in.rate
	in.vAt = s.cal.now
}

// pace sets the rate of instance in for the number now running and schedules its next completion.
func (s *Sim) pace(in *instance) {
	if in.n == 0 {
		in.rate = 0
		s.cal.cancel(in.h)
		return
	}
	in.rate = s.revs[in.rev].rateOf(in.n)
	at := s.cal.now
	if left := int64(s.reqs[in.root].finish - in.v); left > 0 {
		at += Time((uint64(left) + in.rate - 1) / in.rate)
	}
	s.cal.schedule(in.h, min(at, maxClock))
}

// The running requests of an instance form a pairing heap (Fredman, Sedgewick, Sleator and Tarjan, 1986) by
// finish, then by arrival. A request's link holds its left sibling or parent and its right sibling.

func (a *request) sooner(b *request) bool {
	if d := int64(a.finish - b.finish); d != 0 {
		return d < 0
	}
	return a.seq < b.seq
}

// meld joins two heaps and returns the root; either may be none. Their roots must have no siblings.
func (s *Sim) meld(a, b int32) int32 {
	if a == none {
		return b
	}
	if b == none {
		return a
	}
	if s.reqs[b].sooner(&s.reqs[a]) {
		a, b = b, a
	}
	p, q := &s.reqs[a], &s.reqs[b]
	q.link = link{a, p.child}
	if p.child != none {
		s.reqs[p.child].link.prev = b
	}
	p.child = b
	return a
}

// combine melds a row of siblings into one heap: pairs from left to right, then the pairs from right to left.
func (s *Sim) combine(first int32) int32 {
	pairs := int32(none) // a stack through link.next
	for first != none {
		a := first
		b := s.reqs[a].link.next
		s.reqs[a].link = emptyLink
		first = none
		if b != none {
			first = s.reqs[b].link.next
			s.reqs[b].link = emptyLink
		}
		a = s.meld(a, b)
		s.reqs[a].link = link{none, pairs}
		pairs = a
	}
	root := int32(none)
	for pairs != none {
		a := pairs
		pairs = s.reqs[a].link.next
		s.reqs[a].link = emptyLink
		root = s.meld(root, a)
	}
	return root
}

// extract takes request r out of the heap at root and returns the new root.
func (s *Sim) extract(root, r int32) int32 {
	q := &s.reqs[r]
	below := q.child
	q.child = none
	if r == root {
		if below == none {
			return none
		}
		return s.combine(below)
	}
	if p := &s.reqs[q.link.prev]; p.child == r {
		p.child = q.link.next
	} else {
		p.link.next = q.link.next
	}
	if q.link.next != none {
		s.reqs[q.link.next].link.prev = q.link.prev
	}
	q.link = emptyLink
	return s.meld(root, s.combine(below))
}
