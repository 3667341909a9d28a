package pricing

// offers is working memory of apply: what each function offers, and the next function of each tier that may take.
type offers struct{ offered, cursor []int32 }

func (w *world) makeOffers() {
	w.offers = offers{make([]int32, len(w.fn)), make([]int32, len(w.tiers))}
}

// apply does what a slot's action asks for, as far as there are vGPUs to do it with: first all releases, then exchanges
// of keep-alive vGPUs, then warm and then cold activations. Functions come in turn, beginning with another one in each
// slot, so that none is always first.
//
// Exchanges stay within a tier: a tier has exactly as many keep-alive vGPUs as its baseline (eq. 10), so it has none to
// give away.
func (w *world) apply(a []float32) {
	n := len(w.fn)
	start := int(w.slot % int64(n))
	exchange, activate := false, [2]bool{} // warm ones, cold ones
	for f := range w.fn {
		row := a[f*Acts : (f+1)*Acts : (f+1)*Acts]
		if x := row[ActRelease]; x > 0 {
			w.release(f, int32(x))
		}
		activate[0] = activate[0] || row[ActWarm] > 0
		activate[1] = activate[1] || row[ActCold] > 0
		w.offered[f] = min(int32(row[ActGive]), w.idleKeep(f).n)
		exchange = exchange || w.offered[f] > 0
	}
	if exchange {
		for m := range w.tiers {
			w.cursor[m] = int32(w.tiers[m].from)
		}
		for i := range n {
			f := (start + i) % n
			w.take(f, int32(a[f*Acts+ActTake]))
		}
	}
	for kind, what := range [...]int{ActWarm, ActCold} {
		if !activate[kind] {
			continue
		}
		for i := range n {
			f := start + i
			if f >= n {
				f -= n
			}
			if x := int32(a[f*Acts+what]); x > 0 {
				w.activate(f, x, what == ActWarm)
			}
		}
	}
}

// take moves up to n vGPUs that others of its tier offer to function f.
func (w *world) take(f int, n int32) {
	m := w.fn[f].tier
	for n > 0 && int(w.cursor[m]) < w.tiers[m].to {
		g := int(w.cursor[m])
		k := min(n, w.offered[g])
		if g != f && k > 0 {
			w.reassign(g, f, k)
			w.offered[g] -= k
			n -= k
		}
		if n > 0 {
			w.cursor[m]++
		}
	}
}
