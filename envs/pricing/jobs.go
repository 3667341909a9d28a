package pricing

import (
	"math"

	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// chunk is the largest mean of one Poisson draw: a greater one is the sum of several, so that e^-mean stays well above
// 0 and the work is proportional to what arrives.
const chunk = 30

// rate is a function's arrivals per slot made ready to draw from: n Poisson draws of one mean each.
type rate struct {
	n    uint64
	mean float64
	// below holds the cumulative probabilities of 0, 1, … as far as draws have needed them, in units of 2^-53 and rounded
	// up. sum is the last cumulative probability, last the probability of that number alone.
	below     []int64
	sum, last float64
}

// tabled is how many probabilities a rate stores. A draw beyond them, which happens one time in 10^7 at the largest
// mean, is summed each time.
const tabled = 64

func newRates(n int) []rate {
	r, all := make([]rate, n), make([]int64, n*tabled)
	for i := range r {
		r[i].below = all[i*tabled : i*tabled : (i+1)*tabled]
	}
	return r
}

// draws is a probability in units of a draw.
func draws(p float64) int64 { return int64(math.Ceil(p * 0x1p53)) }

// set changes the mean.
func (r *rate) set(mean float64) {
	n := max(1, math.Ceil(mean/chunk))
	r.n, r.mean = uint64(n), mean/n
	r.last = portable.Exp(-r.mean)
	r.sum, r.below = r.last, append(r.below[:0], draws(r.last))
}

// next extends the sum to the probability of at most m.
func (r *rate) next(m int) int64 {
	r.last = float64(r.last*r.mean) / float64(m)
	r.sum += r.last
	return draws(r.sum)
}

// count returns one draw by inversion: the smallest number whose cumulative probability exceeds u, a draw of 53 bits.
func (r *rate) count(u int64) int32 {
	from := 0
	if k := int(r.mean); k > 8 && k < len(r.below) && u >= r.below[k] {
		from = k + 1 // for large means the search begins at the mean
	}
	for m := from; m < len(r.below); m++ {
		if u < r.below[m] {
			return int32(m)
		}
	}
	return r.beyond(u)
}

// beyond continues the search where the table ends.
func (r *rate) beyond(u int64) int32 {
	m := len(r.below)
	for ; m < tabled; m++ {
		if r.below = append(r.below, r.next(m)); u < r.below[m] || r.last == 0 {
			return int32(m)
		}
	}
	for c := *r; ; m++ { // a copy: these probabilities are not stored
		if p := c.next(m); u < p || c.last == 0 {
			return int32(m)
		}
	}
}

// setRates makes the functions' rates of a window from the tiers' (jobs per slot).
func (w *world) setRates() {
	for f := range w.fn {
		p := &w.fn[f]
		mean := float64(float64(w.rates[p.tier]*p.share)*w.calm) / w.work.mean
		w.perSlot[2*f].set(mean)
		w.perSlot[2*f+1].set(float64(mean * w.cfg.Burst.Factor))
	}
}

// calmShare is the factor on the rate outside bursts that keeps the mean: a slot is in a burst if one began in it or in
// the slots before.
func calmShare(b *Burst) float64 {
	quiet := 1.0
	for range b.Slots {
		quiet = float64(quiet * (1 - b.Start))
	}
	return 1 / (1 + float64((b.Factor-1)*(1-quiet)))
}

// arrive draws the slot's arrivals of every function and puts them in its queue. Draws are named by function, slot and
// number, and counts rise with the rate for the same draw: worlds that differ in price alone see nearly the same jobs.
func (w *world) arrive() {
	now := uint64(w.slot)
	// All first draws at once: they are independent, so the processor can overlap them.
	for f := range w.uniform {
		w.uniform[f] = draw(w.fn[f].arrivalKey.With(now))
	}
	for f := range w.fn {
		p := &w.fn[f]
		burst := 0
		if int32(w.slot) >= w.nextBurst[f] {
			w.bursts[f]++
			w.burstEnd[f] = int32(w.slot) + int32(w.cfg.Burst.Slots)
			w.drawBurst(f)
		}
		if int32(w.slot) < w.burstEnd[f] {
			burst = 1
		}
		n := w.poisson(f, &w.perSlot[2*f+burst], now, w.uniform[f])
		if n > 0 && w.work.width != nil {
			n = w.widen(f, n, now)
		}
		w.arrived[f] = n
		w.estimate[f] += float64(w.cfg.Forecast * (float64(n) - w.estimate[f]))
		if n > 0 {
			w.slotAcc[accArrived] += float64(n)
			w.slotAcc[w.perTier(tierArrived, p.tier)] += float64(n)
			w.admit(f, n)
		}
	}
}

// widen draws how many jobs n requests are: one for each vGPU that they ask for.
func (w *world) widen(f int, n int32, now uint64) (jobs int32) {
	key := w.fn[f].widthKey.With(now)
	for i := range n {
		u := key.With(uint64(i)).Float64()
		w.traced("width", uint64(f), now, uint64(i), u)
		jobs += w.work.width.length(u)
	}
	return jobs
}

// drawBurst draws when a function's next burst begins: a burst begins in each slot with one probability, so that gaps
// are geometric. Bursts are numbered.
func (w *world) drawBurst(f int) {
	p := w.cfg.Burst.Start
	gap := float64(math.MaxInt32)
	if p > 0 {
		n := uint64(w.bursts[f])
		u := w.fn[f].burstKey.With(n).Open()
		w.traced("burst", uint64(f), n, 0, u)
		if gap = 1; p < 1 {
			gap += math.Floor(portable.Log(u) / portable.Log1p(-p))
		}
	}
	w.nextBurst[f] = int32(min(float64(w.slot)+gap, math.MaxInt32))
}

// draw is a key's Float64 in units of 2^-53.
func draw(k rng.Key) int64 { return int64(k.Uint64() >> 11) }

// poisson draws a function's number of arrivals; u is the first draw.
func (w *world) poisson(f int, r *rate, now uint64, u int64) int32 {
	w.traced("arrivals", uint64(f), now, 0, float64(u)*0x1p-53)
	n := r.count(u)
	if r.n == 1 {
		return n
	}
	key := w.fn[f].arrivalKey.With(now)
	for i := uint64(1); i < r.n; i++ {
		u := draw(key.With(i))
		w.traced("arrivals", uint64(f), now, i, float64(u)*0x1p-53)
		n += r.count(u)
	}
	return n
}

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
