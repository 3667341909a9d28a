package pricing

import "fmt"

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
		default:
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
