package pricing

import (
	"fmt"
	"math"
)

// restore makes a loaded state one that holds together: of what follows from the rest, such as numbers of items and where
// lists have their heads, it trusts nothing and counts anew; what contradicts itself is an error. Before an episode there
// is nothing to restore.
func (w *world) restore() error {
	nf, slots := len(w.fn), int64(w.cfg.Slots)
	w.link.claim(w.idle, w.off[:nf+1])
	w.allLink.claim(w.off[nf+1:])
	w.jobLinks.claim(w.queues)
	w.roomLink.claim(w.roomList)
	w.gpuLink.claim(w.byOff)
	if w.phase < unbegun || w.phase > over {
		return fmt.Errorf("phase %d of an episode, want %d to %d", w.phase, unbegun, over)
	}
	if w.phase == unbegun {
		return nil
	}
	if w.slot < 0 || w.slot > int64(w.cfg.Windows)*slots || w.window < -1 || w.window > w.slot/slots || w.first < 0 ||
		w.first >= int64(w.load.windows) || len(w.loads) != 0 && len(w.loads) != w.load.windows {
		return fmt.Errorf("slot %d, window %d of %d from window %d of the load's %d", w.slot, w.window, w.cfg.Windows,
			w.first, w.load.windows)
	}
	most := w.load.mean * float64(len(w.loads)) * 1.01 // rounding
	for i, x := range w.loads {
		if !(x >= 0 && x <= most) {
			return fmt.Errorf("window %d has a load of %g jobs per slot, want 0 to %g", i, x, most)
		}
	}
	for _, f := range []func() error{w.restoreMarket, w.restoreVGPUs, w.restoreIdle, w.restoreOff, w.restoreGPUs, w.restoreJobs, w.restoreTotals} {
		if err := f(); err != nil {
			return fmt.Errorf("slot %d: %w", w.slot, err)
		}
	}
	return nil
}

// restoreVGPUs checks the vGPUs one by one, and counts those of each function.
func (w *world) restoreVGPUs() error {
	nf := int32(len(w.fn))
	w.busy, w.transients = 0, 0
	clear(w.keep)
	clear(w.trans)
	clear(w.loading)
	busy, working := make([]int32, nf), 0
	for j := range w.vgpus {
		v := &w.vgpus[j]
		if v.host < none || v.host >= nf || v.last < none || v.last >= nf || v.state < vgpuOff || v.state > vgpuDown ||
			v.role < transient || v.role > keepAlive || v.patient < 0 || v.patient > 1 ||
			(v.state == vgpuOff || v.state == vgpuDown) != (v.host == none) ||
			v.state == vgpuIdle && v.patient == 1 && int32(w.slot)-v.since < int32(w.cfg.Patience) {
			return fmt.Errorf("vGPU %d is %+v with %d functions", j, *v, nf)
		}
		if failed := w.market.down == 1 && int32(j) >= w.firstFailing(); v.state == vgpuDown && !failed ||
			failed && v.state < vgpuLoading {
			return fmt.Errorf("vGPU %d is %+v, and has failed: %v", j, *v, failed)
		}
		switch v.state {
		case vgpuOff, vgpuDown:
			continue
		case vgpuLoading:
			w.loading[v.host]++
			working++
		case vgpuBusy:
			busy[v.host]++
			working++
		}
		if v.role == keepAlive {
			w.keep[v.host]++
		} else {
			w.trans[v.host]++
		}
	}
	for f, owed := range w.owed {
		if at := w.loading[f] + busy[f]; owed > at || owed < -at {
			return fmt.Errorf("function %d is owed %d keep-alive vGPUs by %d at work", f, owed, at)
		}
		w.keep[f], w.trans[f] = w.keep[f]-owed, w.trans[f]+owed
		w.busy, w.transients = w.busy+busy[f], w.transients+w.trans[f]
	}
	return w.vgpuRing.walk("vGPU", working, func(j int32) bool {
		return w.vgpus[j].state == vgpuLoading || w.vgpus[j].state == vgpuBusy
	})
}

// restoreIdle checks the lists of idle vGPUs, counts the patient ones of each, and finds the first that is not patient.
func (w *world) restoreIdle() error {
	clear(w.patient)
	left := w.in(vgpuIdle)
	for at := range w.idle {
		first := int32(none)
		err := w.link.walk("vGPU", &w.idle[at], &left, func(j int32) bool {
			v := &w.vgpus[j]
			w.patient[at] += int32(v.patient)
			if first < 0 && v.patient == 0 {
				first = j
			}
			return v.state == vgpuIdle && idleList(int(v.host), v.role) == at
		})
		if err != nil {
			return err
		}
		if first >= 0 || w.firstImpatient[at] >= 0 { // any negative number says that there is none
			w.firstImpatient[at] = first
		}
	}
	return placed("idle vGPUs", left)
}

// in is the number of vGPUs in a state.
func (w *world) in(s vgpuState) (n int) {
	for j := range w.vgpus {
		if w.vgpus[j].state == s {
			n++
		}
	}
	return n
}

// restoreOff checks the lists of vGPUs that are off: each is in one by the function that it hosted last, and in that of all.
func (w *world) restoreOff() error {
	left := 2 * w.in(vgpuOff)
	for i := range w.off {
		arena, all := &w.link, i == len(w.off)-1
		if all {
			arena = &w.allLink
		}
		err := arena.walk("vGPU", &w.off[i], &left, func(j int32) bool {
			return w.vgpus[j].state == vgpuOff && (all || w.lastList(w.vgpus[j].last) == i)
		})
		if err != nil {
			return err
		}
	}
	return placed("vGPUs that are off", left)
}

// restoreGPUs counts what is off on shared GPUs, and checks their lists.
func (w *world) restoreGPUs() error {
	if !w.shared {
		return nil
	}
	clear(w.gpuOff)
	clear(w.room)
	for j := range w.vgpus {
		w.filed[j] = none
		if g := w.gpuOf(int32(j)); w.vgpus[j].state == vgpuOff {
			w.gpuOff[g]++
			for f := range w.fn {
				if w.hosts(g, f) {
					w.room[f]++
				}
			}
		}
	}
	left := len(w.gpuOff)
	for n := range w.byOff {
		err := w.gpuLink.walk("GPU", &w.byOff[n], &left, func(g int32) bool { return int(w.gpuOff[g]) == n })
		if err != nil {
			return err
		}
	}
	filed := len(w.filed) // as many as there may be
	for f := range w.roomList {
		err := w.roomLink.walk("vGPU with room", &w.roomList[f], &filed, func(j int32) bool {
			w.filed[j] = int32(f)
			return w.vgpus[j].host == int32(f)
		})
		if err != nil {
			return err
		}
	}
	return placed("GPUs", left)
}

// restoreJobs checks jobs, their queues and their calendar, and counts what waits.
func (w *world) restoreJobs() error {
	nf, n := len(w.fn), len(w.jobs)
	if len(w.jobLinks.places) != int(w.jobLinks.heads)+n || len(w.jobRing.after) != len(w.jobRing.tail)+n {
		return fmt.Errorf("%d jobs with %d links and %d places in the calendar", n, len(w.jobLinks.places),
			len(w.jobRing.after))
	}
	left := 0
	for k := range w.jobs {
		j := &w.jobs[k]
		if j.fn < 0 || int(j.fn) >= nf || j.n < 0 || j.state < jobFree || j.state > jobBegun ||
			j.state != jobFree && j.length < 1 {
			return fmt.Errorf("jobs %d are %+v with %d functions", k, *j, nf)
		}
		if j.state == jobWaits || j.state == jobLate {
			left++
		}
	}
	free := 0
	for k := w.freeJob; k != none; k = w.jobs[k].arrived {
		if free++; k < 0 || int(k) >= n || w.jobs[k].state != jobFree || free > n {
			return fmt.Errorf("the list of free jobs is broken at %d", k)
		}
	}
	clear(w.waiting)
	for q := range w.queues {
		want := jobWaits
		if q >= nf {
			want = jobLate
		}
		err := w.jobLinks.walk("job", &w.queues[q], &left, func(k int32) bool {
			w.waiting[q] += w.jobs[k].n
			return int(w.jobs[k].fn) == q%nf && w.jobs[k].state == want
		})
		if err != nil {
			return err
		}
	}
	if err := placed("waiting jobs", left); err != nil {
		return err
	}
	filed := make([]bool, n)
	err := w.jobRing.walk("job", -1, func(k int32) bool { filed[k] = true; return w.jobs[k].state != jobFree })
	if err != nil {
		return err
	}
	for f, last := range w.unfiled {
		if last < 0 {
			return fmt.Errorf("%d jobs of function %d are in no page yet", last, f)
		}
		k := w.jobLinks.last(&w.queues[f])
		for range min(last, w.queues[f].n) {
			if filed[k] {
				return fmt.Errorf("jobs %d are in the calendar, but count as not yet", k)
			}
			k = w.jobLinks.before(k)
		}
	}
	return nil
}

// restoreTotals checks that no vGPU and no job is lost.
func (w *world) restoreTotals() error {
	var tierKeep, baseline, waiting int32
	for m := range w.tiers {
		tierKeep, baseline = tierKeep+w.tierKeep[m], baseline+w.baseline[m]
	}
	if w.cfg.Pool == Reserved && w.window >= 0 && tierKeep+w.short != baseline {
		return fmt.Errorf("%d keep-alive vGPUs and %d lacking, baselines %d (eq. 10)", tierKeep, w.short, baseline)
	}
	for _, n := range w.waiting {
		waiting += n
	}
	arrived := w.total[accArrived] + w.slotAcc[accArrived]
	if got := w.total[accServed] + w.total[accDropped] + w.slotAcc[accDropped] + float64(waiting); got != arrived {
		return fmt.Errorf("of %g jobs %g are served, dropped or waiting", arrived, got)
	}
	return nil
}

// placed says that some items are in no list.
func placed(what string, left int) error {
	if left == 0 {
		return nil
	}
	return fmt.Errorf("lists lack %d %s", left, what)
}

// checkRates verifies that tiers bring the jobs that their prices bring. It needs what follows from the episode.
func (w *world) checkRates() error {
	if w.phase == unbegun {
		return nil
	}
	potential := 0.0
	if w.window >= 0 {
		potential = w.potential(int(w.window))
	}
	for m, x := range w.rates {
		if want := float64(potential * w.shares[m]); x != want {
			return fmt.Errorf("tier %d brings %g jobs per slot, want %g", m, x, want)
		}
	}
	return nil
}

// restoreMarket checks where the market stands.
func (w *world) restoreMarket() error {
	m := &w.market
	for _, s := range [...]*standing{&m.now, &m.next} {
		if !(s.place >= 0 && s.place <= 1) || !(math.Abs(s.rival) < 100) {
			return fmt.Errorf("the market stands at %+v, want a place from 0 to 1 and a rival within 100", *s)
		}
	}
	now := float64(w.slot) / float64(w.cfg.Slots)
	if fails := w.cfg.Market.fails(); m.turns < 0 || m.down < 0 || m.down > 1 || fails && !(m.turn > now && m.turn < 1e12) ||
		!fails && (m.down != 0 || m.turns != 0) {
		return fmt.Errorf("vGPUs have failed: %d, and turn in window %g after %d times", m.down, m.turn, m.turns)
	}
	return nil
}
