package pricing

import "github.com/stoker-rl/stoker/rng"

// job is one request. It stands in its function's queue, or in that of late jobs, until it begins; and where that is not in the slot in which it
// arrived, in the calendar until it can be forgotten.
type job struct {
	arrived int32 // slot; of a free place the next free one
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
	sure := len(p.law) == 1
	var key rng.Key
	if !sure {
		key = p.serviceKey.With(uint64(w.slot))
	}
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
		// One that is too late when it comes is found out in this slot; the others can wait for the calendar until it is known that they wait.
		if length > p.sla {
			w.jobRing.put(k, now)
		} else {
			w.unfiled[f]++
		}
	}
}

// file puts the jobs of function f that arrived in this slot and wait on into the calendar. They come the last one first: on one page they are alike.
func (w *world) file(f int) {
	k := w.jobLinks.last(&w.queues[f])
	for range min(w.unfiled[f], w.queues[f].n) {
		// A job is on time if it begins in slot a + s - length at the latest: its SLA bounds completion (H5: a deadline from its arrival).
		w.jobRing.put(k, w.jobs[k].arrived+w.fn[f].sla-w.jobs[k].length+1)
		k = w.jobLinks.before(k)
	}
	w.unfiled[f] = 0
}

// newJob takes a free place in the arena.
func (w *world) newJob() int32 {
	if k := w.freeJob; k != none {
		w.freeJob = w.jobs[k].arrived
		return k
	}
	k := int32(len(w.jobs))
	w.jobs = append(w.jobs, job{})
	w.jobLinks.places = append(w.jobLinks.places, place{})
	w.jobRing.after = append(w.jobRing.after, 0)
	return k
}

func (w *world) dropJob(k int32) {
	w.jobs[k] = job{arrived: w.freeJob, state: jobFree}
	w.freeJob = k
}

// age makes up the calendar's page of this slot: waiting jobs that can no longer be done in time are violations, counted once, and
// wait on in the late queue; late ones that have waited too long are dropped.
func (w *world) age() {
	now := int32(w.slot)
	for k := w.jobRing.take(now); k >= 0; {
		after := w.jobRing.next(k)
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
		idle := w.idleKeep(f).n + w.idleTransient(f).n
		for n := min(idle, queue.n); begun < n; begun++ {
			k := w.jobLinks.first(queue)
			w.jobLinks.remove(queue, k)
			w.serve(f, w.jobs[k].length)
			if queue.n < w.unfiled[f] {
				w.dropJob(k)
			} else {
				w.jobs[k].state = jobBegun
			}
		}
		for n := min(idle, begun+late.n); begun < n; begun++ {
			k := w.jobLinks.first(late)
			w.jobLinks.remove(late, k)
			w.serve(f, w.jobs[k].length)
			w.jobs[k].state = jobBegun
		}
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
