package pricing

import "github.com/stoker-rl/stoker/rng"

// jobs are consecutive requests of a function that arrived in one slot and have the same length. They are in their
// function's queue, or in its queue of late jobs, until they begin. Those that do not begin in the slot of their
// arrival are also in the calendar, until nothing more can happen to them.
type jobs struct {
	arrived int32 // slot; in a free entry, the next free one
	fn      int32
	length  int32
	n       int32 // that wait
	state   jobState
}

// jobState is where jobs are.
type jobState int32

const (
	jobFree  jobState = iota
	jobWaits          // can still meet their SLA
	jobLate           // wait, their SLA violated
	jobBegun          // in service or done; in the calendar by their old entry
)

// admit puts n jobs into a function's queue.
func (w *world) admit(f int, n int32) {
	p := &w.fn[f]
	now := int32(w.slot)
	sure := len(p.law) == 1
	var key rng.Key
	if !sure {
		key = p.serviceKey.With(uint64(w.slot))
	}
	k := int32(none)
	for i := range n {
		length := int32(1)
		if !sure {
			u := key.With(uint64(i)).Float64()
			w.traced("service", uint64(f), uint64(w.slot), uint64(i), u)
			length = p.law.length(u)
		}
		if k >= 0 && w.jobs[k].length == length {
			w.jobs[k].n++
			continue
		}
		k = w.newJobs()
		w.jobs[k] = jobs{arrived: now, fn: int32(f), length: length, n: 1, state: jobWaits}
		w.jobLinks.push(&w.queues[f], k)
		// Jobs longer than the SLA are late at once and must be in this slot's page; the others are filed later, if they have
		// to wait at all.
		if length > p.sla {
			w.jobRing.put(k, now)
		} else {
			w.unfiled[f]++
		}
	}
	w.waiting[f] += n
}

// file puts the jobs of function f that arrived in this slot and still wait into the calendar, the last one first: the
// order within a page does not matter.
func (w *world) file(f int) {
	k := w.jobLinks.last(&w.queues[f])
	for range min(w.unfiled[f], w.queues[f].n) {
		// They are on time if they begin in slot a + s - length at the latest: the SLA bounds completion (H5: a deadline from
		// arrival).
		w.jobRing.put(k, w.jobs[k].arrived+w.fn[f].sla-w.jobs[k].length+1)
		k = w.jobLinks.before(k)
	}
	w.unfiled[f] = 0
}

// newJobs returns a free entry.
func (w *world) newJobs() int32 {
	if k := w.freeJob; k != none {
		w.freeJob = w.jobs[k].arrived
		return k
	}
	k := int32(len(w.jobs))
	w.jobs = append(w.jobs, jobs{})
	w.jobLinks.places = append(w.jobLinks.places, place{})
	w.jobRing.after = append(w.jobRing.after, 0)
	return k
}

func (w *world) forget(k int32) {
	w.jobs[k] = jobs{arrived: w.freeJob, state: jobFree}
	w.freeJob = k
}

// age processes the calendar's page of this slot. Waiting jobs that can no longer meet their SLA are violations,
// counted once, and move to the late queue; late jobs that have waited too long are dropped.
func (w *world) age() {
	now := int32(w.slot)
	for k := w.jobRing.take(now); k >= 0; {
		after := w.jobRing.next(k)
		j := &w.jobs[k]
		f := int(j.fn)
		p := &w.fn[f]
		switch j.state {
		case jobBegun:
			w.forget(k)
		case jobWaits:
			w.jobLinks.remove(&w.queues[f], k)
			w.jobLinks.push(&w.queues[len(w.fn)+f], k)
			j.state = jobLate
			w.waiting[f] -= j.n
			w.waiting[len(w.fn)+f] += j.n
			w.violated[f] += j.n
			n := float64(j.n)
			w.slotAcc[accViolated] += n
			w.slotAcc[w.perTier(tierViolated, p.tier)] += n
			w.slotAcc[accSLA] += float64(n * w.cfg.Tiers[p.tier].Penalty)
			// Until now they have waited less than the limit, which is at least their SLA.
			w.jobRing.put(k, max(now+1, j.arrived+p.patience+1))
		case jobLate:
			w.jobLinks.remove(&w.queues[len(w.fn)+f], k)
			w.waiting[len(w.fn)+f] -= j.n
			w.slotAcc[accDropped] += float64(j.n)
			w.forget(k)
		}
		k = after
	}
}

// dispatch gives the idle vGPUs of every function the heads of its queue, then of its late queue. Within a function all
// jobs have one tier's SLA, so that eq. 15's order is that of arrival.
func (w *world) dispatch() {
	for f := range w.fn {
		idle := w.idleKeep(f).n + w.idleTransient(f).n
		begun := w.beginFrom(f, f, idle)
		begun += w.beginFrom(f, len(w.fn)+f, idle-begun)
		if w.unfiled[f] > 0 {
			w.file(f)
		}
		w.begun[f] = begun
		if begun > 0 {
			w.slotAcc[accServed] += float64(begun)
			w.slotAcc[w.perTier(tierServed, w.fn[f].tier)] += float64(begun)
		}
	}
}

// beginFrom starts jobs of one of function f's queues on its idle vGPUs, and returns how many.
func (w *world) beginFrom(f, queue int, idle int32) (begun int32) {
	q := &w.queues[queue]
	for begun < idle && q.n > 0 {
		k := w.jobLinks.first(q)
		j := &w.jobs[k]
		n := min(idle-begun, j.n)
		w.serve(f, j.length, n)
		begun += n
		if j.n -= n; j.n > 0 {
			break
		}
		w.jobLinks.remove(q, k)
		if queue == f && q.n < w.unfiled[f] {
			w.forget(k)
		} else {
			j.state = jobBegun
		}
	}
	w.waiting[queue] -= begun
	return begun
}
