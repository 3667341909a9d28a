package pricing

// vgpu is one vGPU.
type vgpu struct {
	host    int32 // the function that it serves or loads, none while it is off
	last    int32 // the function that it hosted last, none at the beginning
	since   int32 // the slot since which it is idle or off
	state   vgpuState
	role    role
	patient int8 // 1 if it counts as patient, see [Config.Patience]
}

// vgpuState is what a vGPU does.
type vgpuState int8

const (
	vgpuOff vgpuState = iota
	vgpuIdle
	vgpuLoading
	vgpuBusy
	vgpuDown // failed
)

// role is why a vGPU is on.
type role int8

const (
	transient role = iota
	keepAlive
)

// A vGPU that is off is in the list of those that hosted the same function last (index F: none yet), and in the list of
// all that are off, in the order in which they were switched off; with shared GPUs it counts in its GPU's number
// instead. An idle vGPU is in its function's list for its role, longest idle first.

func (w *world) idleKeep(f int) *list      { return &w.idle[2*f] }
func (w *world) idleTransient(f int) *list { return &w.idle[2*f+1] }

// lastList is the index of the list of vGPUs that are off and hosted this function last.
func (w *world) lastList(f int32) int {
	if f == none {
		return len(w.fn)
	}
	return int(f)
}

// goOff files vGPU j, which serves nothing, under those that are off.
func (w *world) goOff(j int32) {
	v := &w.vgpus[j]
	v.state, v.since, v.host = vgpuOff, int32(w.slot), none
	w.link.push(&w.off[w.lastList(v.last)], j)
	w.allLink.push(w.allOff(), j)
	w.gpuFree(j)
}

// goOn takes vGPU j out of those that are off.
func (w *world) goOn(j int32) {
	w.link.remove(&w.off[w.lastList(w.vgpus[j].last)], j)
	w.allLink.remove(w.allOff(), j)
}

// idleList is the index of the idle vGPUs of function f in a role, as idleKeep and idleTransient have them.
func idleList(f int, r role) int { return 2*f + int(keepAlive-r) }

// goIdle adds vGPU j to function f's idle ones. It runs with every job and avoids branches that the processor would
// mispredict.
func (w *world) goIdle(j int32, f int) {
	v := &w.vgpus[j]
	v.state, v.since, v.patient = vgpuIdle, int32(w.slot), 0
	at := idleList(f, v.role)
	w.link.push(&w.idle[at], j)
	first := w.firstImpatient[at]
	if first < 0 {
		first = j
	}
	w.firstImpatient[at] = first
}

// leaveIdle takes vGPU j out of its function's idle ones.
func (w *world) leaveIdle(j int32, f int) {
	v := &w.vgpus[j]
	at := idleList(f, v.role)
	w.patient[at] -= int32(v.patient)
	first, next := w.firstImpatient[at], w.link.next(j)
	if first == j {
		first = next
	}
	w.firstImpatient[at] = first
	w.link.remove(&w.idle[at], j)
}

// updatePatient counts the transient vGPUs that are patient in this slot. firstImpatient holds each list's first vGPU
// that is not patient yet.
func (w *world) updatePatient() {
	line := int32(w.slot) - int32(w.cfg.Patience)
	for f := range w.fn {
		at := idleList(f, transient)
		for j := w.firstImpatient[at]; j >= 0 && w.vgpus[j].since <= line; j = w.firstImpatient[at] {
			w.vgpus[j].patient = 1
			w.patient[at]++
			w.firstImpatient[at] = w.link.next(j)
		}
	}
}

// serve starts jobs of one length on n idle vGPUs of function f: keep-alive ones first, and the last used first.
func (w *world) serve(f int, length, n int32) {
	end := int32(w.slot) + length
	w.busy += n
	for at := 2 * f; at < 2*f+2; at++ {
		l := &w.idle[at]
		k := min(n, l.n)
		if k == 0 {
			continue
		}
		n -= k
		j, first, patient := w.link.last(l), w.firstImpatient[at], int32(0)
		for range k {
			v := &w.vgpus[j]
			v.state = vgpuBusy
			patient += int32(v.patient)
			if first == j {
				first = none
			}
			w.vgpuRing.put(j, end)
			j = w.link.before(j)
		}
		w.firstImpatient[at] = first
		w.patient[at] -= patient
		w.link.cut(l, j, k)
	}
}

// free ends the services and loads that end with the last slot.
func (w *world) free() {
	for j := w.vgpuRing.take(int32(w.slot)); j >= 0; {
		after := w.vgpuRing.next(j)
		v := &w.vgpus[j]
		f := int(v.host)
		if v.state == vgpuBusy {
			w.busy--
		} else {
			w.loading[f]--
		}
		// A change of role that was decided while it worked; see demote and promote.
		switch {
		case w.owed[f] > 0 && v.role == keepAlive:
			w.owed[f]--
			v.role = transient
		case w.owed[f] < 0 && v.role == transient:
			w.owed[f]++
			v.role = keepAlive
		}
		w.goIdle(j, f)
		if w.market.down == 1 && j >= w.firstFailing() {
			w.goDown(j)
		}
		j = after
	}
}

// deploy puts function f on vGPU j, which is off, and returns whether that changes the function that it hosts.
func (w *world) deploy(j int32, f int, r role, loaded bool) (changed bool) {
	warm := loaded || w.isWarm(j, f)
	w.goOn(j)
	v := &w.vgpus[j]
	changed = v.last != none && v.last != int32(f)
	v.host, v.last, v.role = int32(f), int32(f), r
	w.count(f, r, 1)
	w.gpuTaken(j)
	w.ready(j, f, warm)
	if changed {
		w.slotAcc[accRedeployed]++
	}
	return changed
}

// ready has vGPU j serve function f now, or after a load.
func (w *world) ready(j int32, f int, warm bool) {
	slots := int32(0)
	if !warm {
		slots = w.loadSlots(f)
	}
	if slots == 0 {
		w.goIdle(j, f)
		return
	}
	w.vgpus[j].state = vgpuLoading
	w.loading[f]++
	w.slotAcc[accLoads]++
	w.vgpuRing.put(j, int32(w.slot)+slots)
}

// loadSlots is how many slots a load of function f takes; loads of a function in a slot are numbered.
func (w *world) loadSlots(f int) int32 {
	whole := int32(w.cfg.Load)
	if part := w.cfg.Load - float64(whole); part > 0 {
		n := uint64(w.drawn[f])
		w.drawn[f]++
		u := w.fn[f].loadKey.With(uint64(w.slot)).With(n).Float64()
		w.traced("load", uint64(f), uint64(w.slot), n, u)
		if u < part {
			whole++
		}
	}
	return whole
}

// count changes the number of a function's vGPUs of a role.
func (w *world) count(f int, r role, by int32) {
	if r == keepAlive {
		w.keep[f] += by
		w.tierKeep[w.fn[f].tier] += by
	} else {
		w.trans[f] += by
		w.transients += by
	}
}

// switchCost charges a change to function f: on keep-alive vGPUs only, or where there are none, or all are counted, on
// every one (H4).
func (w *world) switchCost(f int, r role) {
	if r == keepAlive || w.cfg.Pool != Reserved || w.cfg.Costs.Switches == CountAll {
		w.switched[f]++
		w.slotAcc[accSwitched]++
		w.slotAcc[accSwitch] += w.cfg.Costs.Switch
	}
}

// release switches up to n idle transient vGPUs of function f off, longest idle first.
func (w *world) release(f int, n int32) {
	for ; n > 0 && w.idleTransient(f).n > 0; n-- {
		j := w.link.first(w.idleTransient(f))
		w.leaveIdle(j, f)
		w.count(f, transient, -1)
		w.goOff(j)
	}
}

// activate switches up to n vGPUs on for function f, warm ones or any.
func (w *world) activate(f int, n int32, warm bool) {
	for ; n > 0; n-- {
		j := w.pickCold()
		if warm {
			j = w.pickWarm(f)
		}
		if j < 0 {
			return
		}
		if w.deploy(j, f, transient, false) {
			w.switchCost(f, transient)
		}
	}
}

// reassign moves up to n idle keep-alive vGPUs from function g to function f.
func (w *world) reassign(g, f int, n int32) {
	for ; n > 0 && w.idleKeep(g).n > 0; n-- {
		j := w.link.first(w.idleKeep(g))
		w.leaveIdle(j, g)
		w.count(g, keepAlive, -1)
		w.count(f, keepAlive, 1)
		v := &w.vgpus[j]
		v.host, v.last = int32(f), int32(f)
		w.refile(j, 0)
		w.slotAcc[accRedeployed]++
		w.switchCost(f, keepAlive)
		w.ready(j, f, false)
	}
}

// With [WarmLast], vGPUs that are off are listed by the function that they hosted last. With [WarmShared], a function
// that runs on a GPU can use more vGPUs of it without a load, and other GPUs are taken least occupied first; among
// equals, the one that has been so for the longest time. Each GPU is then in a list by its number of vGPUs that are off
// and, while it has any, in one list for each function that it hosts.

// gpuOf is the GPU of vGPU j.
func (w *world) gpuOf(j int32) int32 { return j / int32(w.cfg.Layout.GPU) }

// isWarm reports whether vGPU j, which is off, can serve function f without a load.
func (w *world) isWarm(j int32, f int) bool {
	if !w.shared {
		return w.vgpus[j].last == int32(f)
	}
	return w.hosts(w.gpuOf(j), f)
}

// hosts reports whether a vGPU of GPU g hosts function f.
func (w *world) hosts(g int32, f int) bool {
	for j := g * int32(w.cfg.Layout.GPU); j < min((g+1)*int32(w.cfg.Layout.GPU), int32(len(w.vgpus))); j++ {
		if w.vgpus[j].host == int32(f) {
			return true
		}
	}
	return false
}

// pickWarm is a vGPU that can serve function f without a load: the one that has been off longest, or with shared GPUs
// the first that is off on the least occupied of the GPUs that host the function.
func (w *world) pickWarm(f int) int32 {
	if !w.shared {
		return w.link.first(&w.off[f])
	}
	best, most := int32(none), int32(0)
	for j := w.roomLink.first(&w.roomList[f]); j >= 0; j = w.roomLink.next(j) {
		if g := w.gpuOf(j); w.gpuOff[g] > most {
			best, most = g, w.gpuOff[g]
		}
	}
	return w.firstOff(best)
}

// pickCold is any vGPU that is off: the one that has been off longest, or with shared GPUs one of the least occupied
// GPU.
func (w *world) pickCold() int32 {
	if !w.shared {
		return w.allLink.first(w.allOff())
	}
	for n := w.cfg.Layout.GPU; n > 0; n-- {
		if g := w.gpuLink.first(&w.byOff[n]); g >= 0 {
			return w.firstOff(g)
		}
	}
	return none
}

// firstOff is the lowest vGPU of GPU g that is off.
func (w *world) firstOff(g int32) int32 {
	if g < 0 {
		return none
	}
	for j := g * int32(w.cfg.Layout.GPU); j < min((g+1)*int32(w.cfg.Layout.GPU), int32(len(w.vgpus))); j++ {
		if w.vgpus[j].state == vgpuOff {
			return j
		}
	}
	return none
}

// warmRoom is how many vGPUs are off that could serve function f without a load.
func (w *world) warmRoom(f int) int32 {
	if !w.shared {
		return w.off[f].n
	}
	return w.room[f]
}

// gpuFree and gpuTaken update the GPU's lists when one of its vGPUs is switched off or on.
func (w *world) gpuFree(j int32)  { w.refile(j, 1) }
func (w *world) gpuTaken(j int32) { w.refile(j, -1) }

func (w *world) refile(j, by int32) {
	if !w.shared {
		return
	}
	g := w.gpuOf(j)
	w.unfile(g)
	w.gpuLink.remove(&w.byOff[w.gpuOff[g]], g)
	w.gpuOff[g] += by
	w.gpuLink.push(&w.byOff[w.gpuOff[g]], g)
	// Each function on the GPU is represented by its lowest vGPU there.
	from := g * int32(w.cfg.Layout.GPU)
	to := min(from+int32(w.cfg.Layout.GPU), int32(len(w.vgpus)))
	for j := from; j < to && w.gpuOff[g] > 0; j++ {
		f := w.vgpus[j].host
		if f == none || w.represented(from, j, f) {
			continue
		}
		w.roomLink.push(&w.roomList[f], j)
		w.room[f] += w.gpuOff[g]
		w.filed[j] = f
	}
}

// represented reports whether a vGPU before j hosts function f.
func (w *world) represented(from, j, f int32) bool {
	for i := from; i < j; i++ {
		if w.vgpus[i].host == f {
			return true
		}
	}
	return false
}

// unfile takes GPU g out of the functions' lists.
func (w *world) unfile(g int32) {
	from := g * int32(w.cfg.Layout.GPU)
	for j := from; j < min(from+int32(w.cfg.Layout.GPU), int32(len(w.vgpus))); j++ {
		if f := w.filed[j]; f != none {
			w.roomLink.remove(&w.roomList[f], j)
			w.room[f] -= w.gpuOff[g]
			w.filed[j] = none
		}
	}
}
