package pricing

import "fmt"

// check verifies every invariant of the world: what the random tests hold against every step, and against every state that
// was loaded. Before an episode there is nothing to verify.
func (w *world) check() error {
	if w.phase < unbegun || w.phase > over {
		return fmt.Errorf("phase %d of an episode, want %d to %d", w.phase, unbegun, over)
	}
	if err := w.checkHeads(); err != nil {
		return err
	}
	if w.phase == unbegun {
		return nil
	}
	slots := int64(w.cfg.Slots)
	if w.slot < 0 || w.slot > int64(w.cfg.Windows)*slots || w.window < -1 || w.window > w.slot/slots || w.first < 0 ||
		w.first >= int64(w.load.windows) || len(w.loads) != 0 && len(w.loads) != w.load.windows {
		return fmt.Errorf("slot %d, window %d of %d from window %d of the load's %d", w.slot, w.window, w.cfg.Windows,
			w.first, w.load.windows)
	}
	for _, f := range []func() error{w.checkLoads, w.checkItems, w.checkLists, w.checkPlaces, w.checkIdle,
		w.checkGPUs, w.checkCounts} {
		if err := f(); err != nil {
			return fmt.Errorf("slot %d: %w", w.slot, err)
		}
	}
	return nil
}

// checkLoads verifies the potential loads, which have a mean.
func (w *world) checkLoads() error {
	most := w.load.mean * float64(len(w.loads)) * 1.01 // rounding
	for i, x := range w.loads {
		if !(x >= 0 && x <= most) {
			return fmt.Errorf("window %d has a load of %g jobs per slot, want 0 to %g", i, x, most)
		}
	}
	return nil
}

// checkItems verifies vGPUs and jobs one by one.
func (w *world) checkItems() error {
	nf := int32(len(w.fn))
	for j := range w.vgpus {
		v := &w.vgpus[j]
		if v.host < none || v.host >= nf || v.last < none || v.last >= nf || v.state < vgpuOff || v.state > vgpuDown ||
			v.role < transient || v.role > keepAlive || v.patient < 0 || v.patient > 1 ||
			(v.state == vgpuOff || v.state == vgpuDown) != (v.host == none) {
			return fmt.Errorf("vGPU %d is %+v with %d functions", j, *v, nf)
		}
	}
	n := len(w.jobs)
	if len(w.jobLinks.places) != int(w.jobLinks.heads)+n || len(w.jobRing.after) != len(w.jobRing.tail)+n {
		return fmt.Errorf("%d jobs with %d links and %d places in the calendar", n, len(w.jobLinks.places),
			len(w.jobRing.after))
	}
	for k := range w.jobs {
		j := &w.jobs[k]
		if j.fn < 0 || j.fn >= nf || j.n < 0 || j.state < jobFree || j.state > jobBegun || j.state != jobFree &&
			j.length < 1 {
			return fmt.Errorf("jobs %d are %+v with %d functions", k, *j, nf)
		}
	}
	free := 0
	for k := w.freeJob; k != none; k = w.jobs[k].arrived {
		if free++; k < 0 || int(k) >= n || w.jobs[k].state != jobFree || free > n {
			return fmt.Errorf("the list of free jobs is broken at %d", k)
		}
	}
	return nil
}

// checkLists verifies that lists and calendars hold together.
func (w *world) checkLists() error {
	nf := len(w.fn)
	for _, l := range []struct {
		what  string
		arena *arena
		lists []list
	}{
		{"idle vGPUs", &w.link, w.idle}, {"vGPUs off by function", &w.link, w.off[:nf+1]}, {"vGPUs off", &w.allLink,
			w.off[nf+1:]},
		{"jobs", &w.jobLinks, w.queues}, {"GPUs with room", &w.roomLink, w.roomList}, {"GPUs by room", &w.gpuLink, w.byOff},
	} {
		for i := range l.lists {
			if err := l.arena.check(&l.lists[i]); err != nil {
				return fmt.Errorf("list %d of %s %w", i, l.what, err)
			}
		}
	}
	if err := w.vgpuRing.check(); err != nil {
		return fmt.Errorf("calendar of vGPUs: %w", err)
	}
	if err := w.jobRing.check(); err != nil {
		return fmt.Errorf("calendar of jobs: %w", err)
	}
	return nil
}

// checkIdle verifies each list of idle vGPUs: the number of patient ones, and the first that is not patient.
func (w *world) checkIdle() error {
	for at := range w.idle {
		patient, first := int32(0), int32(none)
		for j := w.link.first(&w.idle[at]); j >= 0; j = w.link.next(j) {
			if w.vgpus[j].patient == 1 {
				patient++
			}
			if first < 0 && w.vgpus[j].patient == 0 {
				first = j
			}
		}
		if says := w.firstImpatient[at]; patient != w.patient[at] || first != says && (first >= 0 || says >= 0) {
			return fmt.Errorf("list %d has %d patient idle vGPUs and vGPU %d is the first other, says %d and %d", at, patient,
				first, w.patient[at], says)
		}
	}
	return nil
}

// checkGPUs verifies what shared GPUs are filed under.
func (w *world) checkGPUs() error {
	off := make([]int32, len(w.gpuOff))
	for j, f := range w.filed {
		if w.vgpus[j].state == vgpuOff {
			off[w.gpuOf(int32(j))]++
		}
		if f != none && (f != w.vgpus[j].host || f < 0) {
			return fmt.Errorf("vGPU %d of function %d is filed under function %d", j, w.vgpus[j].host, f)
		}
	}
	for g, n := range w.gpuOff {
		if n != off[g] {
			return fmt.Errorf("GPU %d has %d vGPUs off, counts %d", g, off[g], n)
		}
	}
	return w.checkGPULists()
}

// check walks a list forwards and back.
func (a *arena) check(l *list) error {
	n := int32(len(a.places))
	if l.at < 0 || l.at >= a.heads {
		return fmt.Errorf("has its head at %d of %d", l.at, a.heads)
	}
	for p, left := l.at, l.n; ; left-- {
		next := a.places[p].after
		if next < 0 || next >= n || a.places[next].before != p || left < 0 {
			return fmt.Errorf("of %d is broken at %d", l.n, p)
		}
		if p = next; p == l.at {
			if left != 0 {
				return fmt.Errorf("has %d fewer items than the %d that it counts", left, l.n)
			}
			return nil
		}
		if p < a.heads {
			return fmt.Errorf("runs into the head of another at %d", p)
		}
	}
}

// check walks every page of the calendar.
func (r *ring) check() error {
	pages, n := int32(len(r.tail)), int32(len(r.after))
	seen := make([]bool, n)
	for page, tail := range r.tail {
		if tail < 0 || tail >= n {
			return fmt.Errorf("page %d ends at %d of %d", page, tail, n)
		}
		for p := int32(page); p != tail; {
			if p = r.after[p]; p < pages || p >= n || seen[p] {
				return fmt.Errorf("page %d is broken at %d", page, p)
			}
			seen[p] = true
		}
	}
	return nil
}

// checkCounts compares the world's counters with what its vGPUs and jobs say one by one.
func (w *world) checkCounts() error {
	counts := make([]struct{ keep, trans, idle, loading, busy, patient int32 }, len(w.fn))
	off := int32(0)
	for j := range w.vgpus {
		v := &w.vgpus[j]
		failed := w.market.down == 1 && int32(j) >= w.firstFailing()
		if v.state == vgpuDown && !failed || failed && (v.state == vgpuOff || v.state == vgpuIdle) {
			return fmt.Errorf("vGPU %d is %+v, and has failed: %v", j, *v, failed)
		}
		switch v.state {
		case vgpuOff:
			off++
			continue
		case vgpuDown:
			continue
		}
		s := &counts[v.host]
		if v.role == keepAlive {
			s.keep++
		} else {
			s.trans++
		}
		switch v.state {
		case vgpuIdle:
			s.idle++
			if v.role == transient {
				s.patient += int32(v.patient)
			}
			if v.patient == 1 && !w.patientSince(v) {
				return fmt.Errorf("vGPU %d counts as patient, but is idle since slot %d", j, v.since)
			}
		case vgpuLoading:
			s.loading++
		case vgpuBusy:
			s.busy++
		}
	}
	var busy, transients, tierKeep, baseline, waiting int32
	for f := range w.fn {
		s := &counts[f]
		busy, transients = busy+s.busy, transients+w.trans[f]
		if s.keep-w.owed[f] != w.keep[f] || s.trans+w.owed[f] != w.trans[f] || s.loading != w.loading[f] ||
			s.patient != w.patient[idleList(f, transient)] || s.idle != w.idleKeep(f).n+w.idleTransient(f).n ||
			w.owed[f] > s.loading+s.busy || w.owed[f] < -s.loading-s.busy {
			return fmt.Errorf("function %d counts keep-alive %d, transient %d, owed %d, loading %d, patient %d; its "+
				"vGPUs are %+v", f, w.keep[f], w.trans[f], w.owed[f], w.loading[f], w.patient[idleList(f, transient)], *s)
		}
		for _, q := range [...]int{f, len(w.fn) + f} {
			in := int32(0)
			for k := w.jobLinks.first(&w.queues[q]); k >= 0; k = w.jobLinks.next(k) {
				in += w.jobs[k].n
			}
			if in != w.waiting[q] {
				return fmt.Errorf("queue %d has %d jobs, counts %d", q, in, w.waiting[q])
			}
			waiting += in
		}
		if err := w.checkRoom(f); err != nil {
			return err
		}
	}
	for m := range w.tiers {
		tierKeep, baseline = tierKeep+w.tierKeep[m], baseline+w.baseline[m]
	}
	if off != w.allOff().n || busy != w.busy || transients != w.transients {
		return fmt.Errorf("%d off, %d busy, %d transient; counted %d, %d, %d", off, busy, transients, w.allOff().n, w.busy,
			w.transients)
	}
	if w.cfg.Pool == Reserved && w.window >= 0 && tierKeep+w.short != baseline {
		return fmt.Errorf("%d keep-alive vGPUs and %d lacking, baselines %d (eq. 10)", tierKeep, w.short, baseline)
	}
	arrived := w.total[accArrived] + w.slotAcc[accArrived]
	if got := w.total[accServed] + w.total[accDropped] + w.slotAcc[accDropped] + float64(waiting); got != arrived {
		return fmt.Errorf("of %g jobs %g are served, dropped or waiting", arrived, got)
	}
	return nil
}

// patientSince reports whether a vGPU has been idle for so long that it is patient.
func (w *world) patientSince(v *vgpu) bool { return int32(w.slot)-v.since >= int32(w.cfg.Patience) }

// checkRoom verifies what a function's share of shared GPUs is.
func (w *world) checkRoom(f int) error {
	if !w.shared {
		return nil
	}
	room := int32(0)
	for j := range w.vgpus {
		if w.vgpus[j].state == vgpuOff && w.hosts(w.gpuOf(int32(j)), f) {
			room++
		}
	}
	if room != w.room[f] {
		return fmt.Errorf("function %d has room for %d, counts %d", f, room, w.room[f])
	}
	return nil
}

// checkHeads verifies where the heads of the lists are, which no episode changes.
func (w *world) checkHeads() error {
	nf := len(w.fn)
	for _, arena := range [...][][]list{{w.idle, w.off[:nf+1]}, {w.off[nf+1:]}, {w.queues}, {w.roomList}, {w.byOff}} {
		head := int32(0)
		for _, lists := range arena {
			for i := range lists {
				if lists[i].at != head {
					return fmt.Errorf("a list has its head at %d, want %d", lists[i].at, head)
				}
				head++
			}
		}
	}
	return nil
}

// checkPlaces verifies that vGPUs and jobs are in the lists and calendars that their states say, and in no others.
func (w *world) checkPlaces() error {
	if err := w.checkVGPUPlaces(); err != nil {
		return err
	}
	return w.checkJobPlaces()
}

func (w *world) checkVGPUPlaces() error {
	idle, off, working := 0, 0, 0 // vGPUs less places
	for j := range w.vgpus {
		switch w.vgpus[j].state {
		case vgpuIdle:
			idle++
		case vgpuOff:
			off += 2 // by function, and among all
		case vgpuLoading, vgpuBusy:
			working++
		}
	}
	for at := range w.idle {
		for j := w.link.first(&w.idle[at]); j >= 0; j = w.link.next(j) {
			if v := &w.vgpus[j]; v.state != vgpuIdle || idleList(int(v.host), v.role) != at {
				return fmt.Errorf("vGPU %d is %+v, but in list %d of idle ones", j, *v, at)
			}
			idle--
		}
	}
	for i := range w.off {
		arena, all := &w.link, i == len(w.off)-1
		if all {
			arena = &w.allLink
		}
		for j := arena.first(&w.off[i]); j >= 0; j = arena.next(j) {
			if v := &w.vgpus[j]; v.state != vgpuOff || !all && w.lastList(v.last) != i {
				return fmt.Errorf("vGPU %d is %+v, but in list %d of those that are off", j, *v, i)
			}
			off--
		}
	}
	var err error
	w.vgpuRing.each(func(j int32) {
		if v := &w.vgpus[j]; v.state != vgpuLoading && v.state != vgpuBusy {
			err = fmt.Errorf("vGPU %d is %+v, but in the calendar", j, *v)
		}
		working--
	})
	if err == nil && (idle != 0 || off != 0 || working != 0) {
		err = fmt.Errorf("lists lack %d idle vGPUs and %d that are off, the calendar %d that work", idle, off, working)
	}
	return err
}

func (w *world) checkJobPlaces() error {
	var err error
	filed := make([]bool, len(w.jobs))
	w.jobRing.each(func(k int32) {
		if filed[k] = true; w.jobs[k].state == jobFree {
			err = fmt.Errorf("jobs %d are free, but in the calendar", k)
		}
	})
	if err != nil {
		return err
	}
	waiting := 0 // jobs less places
	for k := range w.jobs {
		if s := w.jobs[k].state; s == jobWaits || s == jobLate {
			waiting++
		}
	}
	nf := len(w.fn)
	for q := range w.queues {
		f, want := q, jobWaits
		if q >= nf {
			f, want = q-nf, jobLate
		}
		for k := w.jobLinks.first(&w.queues[q]); k >= 0; k = w.jobLinks.next(k) {
			if j := &w.jobs[k]; int(j.fn) != f || j.state != want {
				return fmt.Errorf("jobs %d are %+v, but in queue %d", k, *j, q)
			}
			waiting--
		}
	}
	if waiting != 0 {
		return fmt.Errorf("%d waiting jobs are in no queue", waiting)
	}
	for f, n := range w.unfiled {
		if n < 0 {
			return fmt.Errorf("%d jobs of function %d are in no page yet", n, f)
		}
		k := w.jobLinks.last(&w.queues[f])
		for range min(n, w.queues[f].n) {
			if filed[k] {
				return fmt.Errorf("jobs %d are in the calendar, but count as not yet", k)
			}
			k = w.jobLinks.before(k)
		}
	}
	return nil
}

// checkGPULists verifies the lists of shared GPUs.
func (w *world) checkGPULists() error {
	gpus, filed := len(w.gpuOff), 0 // less places
	for n := range w.byOff {
		for g := w.gpuLink.first(&w.byOff[n]); g >= 0; g = w.gpuLink.next(g) {
			if int(w.gpuOff[g]) != n {
				return fmt.Errorf("GPU %d has %d vGPUs off, but is listed with %d", g, w.gpuOff[g], n)
			}
			gpus--
		}
	}
	for _, f := range w.filed {
		if f != none {
			filed++
		}
	}
	for f := range w.roomList {
		for j := w.roomLink.first(&w.roomList[f]); j >= 0; j = w.roomLink.next(j) {
			if int(w.filed[j]) != f {
				return fmt.Errorf("vGPU %d is filed under function %d, but listed under %d", j, w.filed[j], f)
			}
			filed--
		}
	}
	if gpus != 0 || filed != 0 {
		return fmt.Errorf("lists lack %d GPUs and %d vGPUs with room", gpus, filed)
	}
	return nil
}

// each calls do with the indices on all pages.
func (r *ring) each(do func(i int32)) {
	pages := int32(len(r.tail))
	for page, tail := range r.tail {
		for p := int32(page); p != tail; {
			p = r.after[p]
			do(p - pages)
		}
	}
}
