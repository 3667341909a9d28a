package sim

import (
	"fmt"
	"math"
)

// Submit schedules a request's arrival at r.At, which is now or later. The request ends by exactly one call of
// Handler.Finished.
func (s *Sim) Submit(r Request) error {
	switch {
	case r.Function < 0 || int(r.Function) >= len(s.fns):
		return fmt.Errorf("sim: request %d: Function is %d, want 0 to %d", r.ID, r.Function, len(s.fns)-1)
	case r.At < s.cal.now || r.At >= maxClock:
		return fmt.Errorf("sim: request %d: At is %d µs, want now (%d) or later, below %d", r.ID, r.At, s.cal.now, maxClock)
	case r.Demand < 0 || r.Demand > MaxSpan:
		return fmt.Errorf("sim: request %d: Demand is %d µs, want 0 to %d", r.ID, r.Demand, MaxSpan)
	case r.SLO < 0:
		return fmt.Errorf("sim: request %d: SLO is %d µs, want 0 (the function's) or more", r.ID, r.SLO)
	}
	i := s.freeReq
	if i != none {
		s.freeReq = s.reqs[i].link.next
	} else {
		if len(s.reqs) >= maxPool {
			return fmt.Errorf("sim: request %d: %d requests are in the system already, its limit", r.ID, maxPool)
		}
		i = int32(len(s.reqs))
		s.reqs = append(s.reqs, request{h: s.cal.handle(evRequest, i)})
	}
	slo := r.SLO
	if slo == 0 {
		slo = s.plan.cfg.Functions[r.Function].SLO
	}
	s.reqs[i] = request{
		id: r.ID, tag: r.Tag, arrived: r.At, started: -1, demand: r.Demand, given: r.Demand > 0, slo: slo,
		h: s.reqs[i].h, fn: r.Function, inst: none, child: none, link: emptyLink, age: emptyLink, node: none,
		state: reqComing,
	}
	s.cal.schedule(s.reqs[i].h, r.At)
	return nil
}

// arrive takes request r in: onto an instance, into the queue, or out.
func (s *Sim) arrive(r int32) {
	q := &s.reqs[r]
	f, c := &s.fns[q.fn], &s.plan.cfg.Functions[q.fn]
	f.gauge.touch(s.cal.now)
	f.tally.Arrived++
	s.arrivals++
	q.seq = s.arrivals
	if c.MaxInflight > 0 && f.gauge.now[lvWaiting]+f.gauge.now[lvRunning] >= int64(c.MaxInflight) {
		s.end(r, Rejected)
		return
	}
	i, full := s.pick(f, c, r)
	if full {
		s.end(r, Rejected)
		return
	}
	if i != none {
		s.enter(f, c, r)
		s.begin(i, r, false)
		s.settle(i)
		return
	}
	grow := f.live+f.old < f.max
	if grow && c.BindCold {
		if k := s.findNode(&s.revs[f.revision].Sizing); k != none || len(s.nodes) == 0 {
			s.enter(f, c, r)
			f.gauge.now[lvWaiting]++
			i := s.launch(q.fn, k)
			s.insts[i].root = r
			q.inst, q.state = i, reqBound
			return
		}
	}
	if f.queued >= c.Queue {
		s.end(r, Rejected)
		return
	}
	s.enter(f, c, r)
	f.gauge.now[lvWaiting]++
	s.queuePush(f, r)
	if c.QueueTimeout > 0 && f.queue.head == r {
		s.armQueue(f, c)
	}
	if grow {
		s.reconcile(q.fn)
	}
}

// enter notes request r as in the system, for its function's timeout.
func (s *Sim) enter(f *function, c *Function, r int32) {
	if c.Timeout == 0 {
		return
	}
	s.agePush(f, r)
	if f.ages.head == r {
		s.armAge(f, c)
	}
}

// begin starts request r, in no list, on instance i, which has a free slot. It leaves i to be settled.
func (s *Sim) begin(i, r int32, cold bool) {
	in, q := &s.insts[i], &s.reqs[r]
	f := &s.fns[in.fn]
	v := &s.revs[in.rev]
	now := s.cal.now
	s.sync(in)
	if !q.given {
		q.demand = s.plan.fn[in.fn].demand.draw(f.demandKey.With(q.id).With(uint64(q.attempt)))
	}
	q.finish = in.v + uint64(q.demand)<<rateBits
	q.started, q.inst, q.state, q.cold = now, i, reqRunning, cold
	q.servedBy, q.node = in.id(i), in.node
	q.link = emptyLink
	in.root = s.meld(in.root, r)
	s.load(f, in, v, in.n+1)
	f.tally.Started++
	if cold {
		f.tally.Cold++
	}
	wait := now - q.arrived
	if wait > 0 {
		f.tally.Waited++
	}
	f.wait.add(wait)
}

// load changes the number of requests running in an instance to n, with the levels that follow from it. The
// function's gauge must have been touched.
func (s *Sim) load(f *function, in *instance, v *revision, n int32) {
	g := &f.gauge.now
	c := &s.plan.cfg.Functions[in.fn]
	cpu, each := int64(v.CPU), int64(c.RequestCPU)
	before, after := int64(in.n)*each, int64(n)*each
	g[lvRunning] += int64(n - in.n)
	used := min(after, cpu) - min(before, cpu)
	g[lvUsedCPU] += used
	g[lvThrottled] += after - before - used
	if d := int64(b2i(n > 0) - b2i(in.n > 0)); d != 0 {
		g[lvBusy] += d
		g[lvBusyCPU] += d * cpu
		g[lvBusyMem] += d * int64(v.Memory)
		g[lvBusyGPU] += d * int64(v.GPU)
	}
	in.n = n
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// leave takes running request r out of its instance, which is left to be settled.
func (s *Sim) leave(r int32) {
	in := &s.insts[s.reqs[r].inst]
	f := &s.fns[in.fn]
	f.gauge.touch(s.cal.now)
	s.sync(in)
	in.root = s.extract(in.root, r)
	s.load(f, in, &s.revs[in.rev], in.n-1)
}

// advance handles instance i's event: it gets ready, or its next request completes.
func (s *Sim) advance(i int32) {
	in := &s.insts[i]
	if in.state == Starting {
		s.ready(i, true)
		return
	}
	r := in.root
	s.leave(r)
	s.settle(i)
	s.end(r, Completed)
}

// end takes request r, now in no list but the list by age, out of the system and reports it.
func (s *Sim) end(r int32, o Outcome) {
	s.count(r, o)
	s.report(r)
}

// count meters the end of request r.
func (s *Sim) count(r int32, o Outcome) {
	q := &s.reqs[r]
	f, c := &s.fns[q.fn], &s.plan.cfg.Functions[q.fn]
	if c.Timeout > 0 && q.inSystem() {
		s.ageRemove(f, r)
	}
	q.outcome = o
	latency := s.cal.now - q.arrived
	switch o {
	case Completed:
		f.tally.Completed++
		f.latency.add(latency)
		if s.sketches != nil {
			s.sketches[q.fn].Add(latency)
		}
		if q.slo > 0 && latency > q.slo {
			f.tally.Late++
		}
	case Rejected:
		f.tally.Rejected++
	case TimedOut:
		f.tally.TimedOut++
	case Killed:
		f.tally.Killed++
	}
	q.state = reqEnding
}

func (q *request) inSystem() bool {
	return q.state == reqQueued || q.state == reqBound || q.state == reqRunning
}

// abort ends request r outside its own event: the report comes in the event loop, at this moment.
func (s *Sim) abort(r int32, o Outcome) {
	s.count(r, o)
	s.cal.schedule(s.reqs[r].h, s.cal.now)
}

// report frees request r and tells the handler of its end. It is the last thing that an event does.
func (s *Sim) report(r int32) {
	q := &s.reqs[r]
	resp := Response{
		Function: q.fn, Outcome: q.outcome, Cold: q.cold, Attempt: q.attempt, ID: q.id, Tag: q.tag,
		Arrived: q.arrived, Started: q.started, Ended: s.cal.now, Instance: q.servedBy, Node: q.node,
	}
	resp.Late = q.outcome == Completed && q.slo > 0 && resp.Ended-q.arrived > q.slo
	if q.started >= 0 {
		resp.Demand = q.demand
	}
	q.state = reqFree
	q.link.next = s.freeReq
	s.freeReq = r
	s.handler.Finished(s, resp)
}

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
