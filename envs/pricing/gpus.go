package pricing

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
