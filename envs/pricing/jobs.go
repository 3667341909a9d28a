package pricing

// job is one request. It stands in its function's queue, or in that of late jobs, until it begins; and in the calendar until it can be
// forgotten.
type job struct {
	arrived int32 // slot
	fn      int32
	length  int32
	state   jobState
}

// jobState is where a job is.
type jobState int32

const (
	jobFree  jobState = iota
	jobWaits          // can still meet its SLA
	jobLate           // waits, its SLA violated
	jobBegun          // in service or done; in the calendar by its old entry
)

// admit puts n jobs into a function's queue.
func (w *world) admit(f int, n int32) {
	p := &w.fn[f]
	now := int32(w.slot)
	key := p.serviceKey.With(uint64(w.slot))
	sure := len(p.law) == 1
	for i := range n {
		length := int32(1)
		if !sure {
			u := key.With(uint64(i)).Float64()
			w.traced("service", uint64(f), uint64(w.slot), uint64(i), u)
			length = p.law.length(u)
		}
		k := w.newJob()
		w.jobs[k] = job{arrived: now, fn: int32(f), length: length, state: jobWaits}
		w.jobLinks.push(&w.queues[f], k)
		// It is on time if it begins in slot a + s - length at the latest: its SLA bounds completion (H5: a deadline from its arrival).
		w.jobRing.put(k, max(now, now+p.sla-length+1))
	}
}

// newJob takes a free place in the arena.
func (w *world) newJob() int32 {
	if k := w.freeJob; k != none {
		w.freeJob = w.jobRing.after[k]
		return k
	}
	k := int32(len(w.jobs))
	w.jobs = append(w.jobs, job{})
	w.jobLinks = append(w.jobLinks, none, none)
	w.jobRing.after = append(w.jobRing.after, none)
	return k
}

func (w *world) dropJob(k int32) {
	w.jobs[k].state = jobFree
	w.jobRing.after[k] = w.freeJob
	w.freeJob = k
}

// age makes up the calendar's page of this slot: waiting jobs that can no longer be done in time are violations, counted once, and
// wait on in the late queue; late ones that have waited too long are dropped.
func (w *world) age() {
	now := int32(w.slot)
	for k := w.jobRing.take(now); k != none; {
		after := w.jobRing.after[k]
		j := &w.jobs[k]
		f := int(j.fn)
		p := &w.fn[f]
		switch j.state {
		case jobBegun:
			w.dropJob(k)
		case jobWaits:
			w.jobLinks.remove(&w.queues[f], k)
			w.jobLinks.push(&w.queues[len(w.fn)+f], k)
			j.state = jobLate
			w.violated[f]++
			w.slotAcc[accViolated]++
			w.slotAcc[w.perTier(tierViolated, p.tier)]++
			w.slotAcc[accSLA] += w.cfg.Tiers[p.tier].Penalty
			// Until now it has waited less than the limit, which is at least its SLA.
			w.jobRing.put(k, max(now+1, j.arrived+p.patience+1))
		case jobLate:
			w.jobLinks.remove(&w.queues[len(w.fn)+f], k)
			w.slotAcc[accDropped]++
			w.dropJob(k)
		}
		k = after
	}
}

// dispatch gives the idle vGPUs of every function the heads of its queue, then of its late queue. Within a function all jobs have one
// tier's SLA, so that eq. 15's order is that of arrival.
func (w *world) dispatch() {
	for f := range w.fn {
		begun := int32(0)
		queue, late := &w.queues[f], &w.queues[len(w.fn)+f]
		for n := min(w.idleKeep(f).n+w.idleTransient(f).n, queue.n+late.n); begun < n; begun++ {
			q := queue
			if q.n == 0 {
				q = late
			}
			j := &w.jobs[w.jobLinks.pop(q)]
			j.state = jobBegun
			w.serve(f, j.length)
		}
		w.begun[f] = begun
		if begun > 0 {
			w.slotAcc[accServed] += float64(begun)
			w.slotAcc[w.perTier(tierServed, w.fn[f].tier)] += float64(begun)
		}
	}
}
