package sim

// function checks one function: its lists, counts, levels and timers.
func (k *checker) function(fi int32) {
	s := k.s
	f, c := &s.fns[fi], &s.plan.cfg.Functions[fi]
	k.that(f.min >= 0 && f.max >= f.min && f.keepAlive >= 0 && f.keepAlive <= MaxSpan,
		"function %d has limits %d, %d and keep-alive %d", fi, f.min, f.max, f.keepAlive)
	z := &s.revs[f.revision].Sizing
	k.that(z.Min == f.min && z.Max == f.max,
		"function %d has limits %d, %d, its sizing %d, %d", fi, f.min, f.max, z.Min, z.Max)
	queued := k.list("a queue", f.queue, k.req, inQueue, func(i int32) link { return s.reqs[i].link })
	ages := k.list("a list by age", f.ages, k.req, inAges, func(i int32) link { return s.reqs[i].age })
	k.list("a list of instances", f.all, k.inst, inAll, func(i int32) link { return s.insts[i].all })
	k.list("a list of idle instances", f.idle, k.inst, inIdle, func(i int32) link { return s.insts[i].idle })
	k.list("a list of pending instances", f.pending, k.inst, inPending, func(i int32) link { return s.insts[i].idle })
	if k.err != nil {
		return
	}
	k.that(queued == f.queued, "function %d has %d waiting, counts %d", fi, queued, f.queued)
	for l := range f.buckets {
		k.bucket(fi, l)
	}
	if over := f.buckets & 63; over > 0 {
		last := s.masks[f.mask+f.buckets>>6]
		k.that(last>>over == 0, "function %d has bits for buckets beyond its %d", fi, f.buckets)
	}
	k.row(fi)
	if k.err == nil {
		k.levels(fi, int64(ages))
	}
	if k.err == nil {
		k.order(fi)
	}
	k.timers(f, c, fi)
}

// bucket checks one bucket of function fi and its bit.
func (k *checker) bucket(fi, l int32) {
	s := k.s
	f := &s.fns[fi]
	k.list("a bucket", s.buckets[f.bucket+l], k.inst, inBucket, func(i int32) link { return s.insts[i].avail })
	if k.err != nil {
		return
	}
	for i := s.buckets[f.bucket+l].head; i != none; i = s.insts[i].avail.next {
		k.that(s.insts[i].fn == fi && s.insts[i].level == l, "instance %d is in bucket %d of function %d", i, l, fi)
	}
	set := s.masks[f.mask+l>>6]>>(l&63)&1 == 1
	k.that(set == (s.buckets[f.bucket+l].head != none), "bucket %d of function %d has its bit %v", l, fi, set)
}

// row checks the ready instances of function fi where they are drawn from.
func (k *checker) row(fi int32) {
	s := k.s
	f := &s.fns[fi]
	if f.row == none || k.err != nil || !k.that(f.rowUsed >= 0 && f.rowUsed <= f.rowLen,
		"function %d uses %d of %d places of its row", fi, f.rowUsed, f.rowLen) {
		return
	}
	for at, i := range s.rows[f.row : f.row+f.rowUsed] {
		if k.that(within(i, len(s.insts)) && s.insts[i].fn == fi && s.insts[i].avail.prev == int32(at) &&
			s.insts[i].level == 0,
			"place %d of the row of function %d has instance %d", at, fi, i) {
			k.inst[i] |= inBucket
		}
	}
}

// levels recomputes function fi's counts and levels from its instances.
func (k *checker) levels(fi int32, ages int64) {
	s := k.s
	f, c := &s.fns[fi], &s.plan.cfg.Functions[fi]
	var g [levels]int64
	var states [instanceStates]int32
	var live, old int32
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		if !k.that(in.fn == fi && in.state > Gone && in.state < instanceStates && in.n >= 0,
			"instance %d in state %d is listed by function %d", i, in.state, fi) {
			return
		}
		states[in.state]++
		z := &s.revs[in.rev]
		cpu, mem, gpu := int64(z.CPU), int64(z.Memory), int64(z.GPU)
		if in.state != Draining && in.rev == f.revision {
			live++
		} else if in.state == Idle || in.state == Busy {
			old++
		}
		if in.state == Starting {
			g[lvWaiting] += int64(b2i(in.root != none))
		}
		if in.state == Pending {
			continue
		}
		g[lvPlaced]++
		g[lvCPU] += cpu
		g[lvMemory] += mem
		g[lvGPU] += gpu
		if in.state == Starting {
			g[lvStarting]++
			continue
		}
		g[lvReady]++
		if in.n > 0 {
			g[lvBusy]++
			g[lvBusyCPU] += cpu
			g[lvBusyMem] += mem
			g[lvBusyGPU] += gpu
		}
		want := int64(in.n) * int64(c.RequestCPU)
		g[lvRunning] += int64(in.n)
		g[lvUsedCPU] += min(want, cpu)
		g[lvThrottled] += want - min(want, cpu)
	}
	g[lvWaiting] += int64(f.queued)
	k.that(g == f.gauge.now, "function %d has the levels %v, says %v", fi, g, f.gauge.now)
	k.that(f.gauge.since >= s.from && f.gauge.since <= s.cal.now,
		"function %d was last looked at at %d", fi, f.gauge.since)
	k.that(c.Timeout == 0 && ages == 0 || c.Timeout > 0 && ages == g[lvWaiting]+g[lvRunning],
		"function %d has %d requests by age", fi, ages)
	says := [instanceStates]int32{Pending: f.nPending, Starting: f.nStarting, Idle: f.nIdle, Busy: f.nBusy,
		Draining: f.nDraining}
	k.that(states == says && live == f.live && old == f.old,
		"function %d has instances %v, live %d, old %d; says %v, %d, %d", fi, states, live, old, says, f.live, f.old)
	k.that(f.live >= f.min && f.live <= f.max,
		"function %d has %d instances outside its limits %d to %d", fi, f.live, f.min, f.max)
}

// order checks that lists by time are in order of time and that nothing waits beside a free slot.
func (k *checker) order(fi int32) {
	s := k.s
	f := &s.fns[fi]
	var last Time
	for i := f.idle.head; i != none; i = s.insts[i].idle.next {
		k.that(s.insts[i].since >= last, "idle instances of function %d are out of order", fi)
		last = s.insts[i].since
	}
	var seq uint64
	for r := f.queue.head; r != none; r = s.reqs[r].link.next {
		k.that(s.reqs[r].seq > seq && s.reqs[r].fn == fi, "waiting requests of function %d are out of order", fi)
		seq = s.reqs[r].seq
	}
	seq = 0
	for r := f.ages.head; r != none; r = s.reqs[r].age.next {
		k.that(s.reqs[r].seq > seq && s.reqs[r].fn == fi, "requests of function %d are out of order by age", fi)
		seq = s.reqs[r].seq
	}
	if f.queued == 0 {
		return
	}
	for i := f.all.head; i != none; i = s.insts[i].all.next {
		in := &s.insts[i]
		free := (in.state == Idle || in.state == Busy) && in.n < s.revs[in.rev].Concurrency
		k.that(!free, "function %d has %d waiting beside a free slot of instance %d (%d running)", fi, f.queued, i, in.n)
	}
}

// timers checks that function f's three events are no later than what they are for.
func (k *checker) timers(f *function, c *Function, fi int32) {
	s := k.s
	soon := func(what string, h int32, need bool, due func() Time) {
		at, ok := k.when(h)
		k.that(!need || ok && at <= max(due(), s.cal.now), "function %d's %s is at %d (%v)", fi, what, at, ok)
	}
	if k.err != nil {
		return
	}
	soon("expiry", f.expire, s.mayExpire(f),
		func() Time { return s.insts[f.idle.head].since + f.keepAlive })
	soon("queue timeout", f.queueTimer, c.QueueTimeout > 0 && f.queue.head != none,
		func() Time { return s.reqs[f.queue.head].arrived + c.QueueTimeout })
	soon("timeout", f.ageTimer, c.Timeout > 0 && f.ages.head != none,
		func() Time { return s.reqs[f.ages.head].arrived + c.Timeout })
}
