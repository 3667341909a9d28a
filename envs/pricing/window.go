package pricing

import "math"

// setWindow takes the prices and baselines of the coming window.
func (w *world) setWindow(a []float32) {
	decodePrices(a, w.cfg.VGPUs, w.asked)
	for m, t := range w.asked {
		w.prices[m], w.baseline[m] = t.Price, int32(t.KeepAlive)
	}
}

// beginWindow starts the next window: demand answers the prices, and the keep-alive vGPUs become those of the baselines
// (Algorithm 2, line 1).
func (w *world) beginWindow() {
	w.window++
	clear(w.winAcc)
	w.cfg.Shares(w.prices, w.shares)
	potential := w.potential(int(w.window))
	for m := range w.rates {
		w.rates[m] = float64(potential * w.shares[m])
	}
	w.setRates()
	if w.window == 0 {
		for f := range w.fn {
			w.estimate[f] = float64(w.rates[w.fn[f].tier] * w.fn[f].share)
		}
	}
	if w.cfg.Pool != Reserved {
		return
	}
	w.updatePatient() // a slot has begun since the last count
	w.eachTarget(func(f int, target int32) {
		for w.keep[f] > target {
			w.demote(f)
		}
	})
	w.promoteAll()
}

// eachTarget splits each tier's baseline over its functions by their shares: the running sum of shares, rounded.
func (w *world) eachTarget(do func(f int, target int32)) {
	for m, t := range w.tiers {
		var share float64
		before := int32(0)
		for f := t.from; f < t.to; f++ {
			share += w.fn[f].share
			upTo := int32(math.Floor(float64(share*float64(w.baseline[m])) + 0.5))
			if f == t.to-1 {
				upTo = w.baseline[m]
			}
			do(f, upTo-before)
			before = upTo
		}
	}
}

// promoteAll gives functions the keep-alive vGPUs that they lack: their own transient ones, else vGPUs that are off,
// else idle transient ones of others. If all are busy, the rest follows in later slots.
func (w *world) promoteAll() {
	victim := 0
	w.eachTarget(func(f int, target int32) {
		m := w.fn[f].tier
		for w.keep[f] < target && w.tierKeep[m] < w.baseline[m] { // other functions may have more than their targets
			if w.trans[f] > 0 {
				w.promote(f)
				continue
			}
			j := w.pickWarm(f)
			if j < 0 {
				j = w.pickCold()
			}
			for ; j < 0 && victim < len(w.fn); victim++ {
				w.release(victim, 1)
				if j = w.pickCold(); j >= 0 {
					break
				}
			}
			if j < 0 {
				return
			}
			// No charge: the paper charges switches between slots of a window.
			w.deploy(j, f, keepAlive, w.cfg.Preload)
		}
	})
	w.short = 0
	for m, n := range w.baseline {
		w.short += n - w.tierKeep[m]
	}
}

// demote makes a keep-alive vGPU of function f transient: an idle one now, else the next that is done.
func (w *world) demote(f int) {
	w.count(f, keepAlive, -1)
	w.count(f, transient, 1)
	if j := w.link.first(w.idleKeep(f)); w.owed[f] >= 0 && j >= 0 {
		w.leaveIdle(j, f)
		w.vgpus[j].role = transient
		w.goIdle(j, f)
		return
	}
	w.owed[f]++
}

// promote makes a transient vGPU of function f keep-alive.
func (w *world) promote(f int) {
	w.count(f, transient, -1)
	w.count(f, keepAlive, 1)
	if j := w.link.last(w.idleTransient(f)); w.owed[f] <= 0 && j >= 0 {
		w.leaveIdle(j, f)
		w.vgpus[j].role = keepAlive
		w.goIdle(j, f)
		return
	}
	w.owed[f]--
}
