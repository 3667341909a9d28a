package pricing

import "math"

// Accounts of a slot, of a window and of an episode. Money is in the paper's normalised unit.
const (
	accRevenue = iota
	accBase
	accGPU
	accSwitch
	accSLA
	accArrived
	accViolated
	accServed // jobs that began
	accDropped
	accSwitched   // charged changes of function
	accRedeployed // all changes of function on any vGPU
	accLoads
	accBusy     // vGPU-slots in service
	accDeployed // vGPU-slots on
	accSlots
	accounts
)

// Accounts of each tier, after the others.
const (
	tierArrived = iota
	tierViolated
	tierServed
	tierAccounts
)

// perTier is the index of a tier's account.
func (w *world) perTier(account, tier int) int { return accounts + tierAccounts*tier + account }

// profit is R - C (eqs. 2 and 3).
func profit(acc []float64) float64 {
	return acc[accRevenue] - acc[accBase] - acc[accGPU] - acc[accSwitch] - acc[accSLA]
}

// beginSlot does what precedes a slot's decisions: services and loads end, jobs arrive, and jobs that can no longer
// meet their SLA become late.
func (w *world) beginSlot() {
	clear(w.violated)
	if w.cfg.Load > 0 {
		clear(w.drawn)
	}
	w.free()
	w.updatePatient()
	w.arrive()
	w.age()
	if w.short > 0 {
		w.promoteAll()
	}
}

// endSlot does what follows the decisions: jobs begin, and the slot's costs are charged.
func (w *world) endSlot() {
	w.dispatch()
	a := w.slotAcc
	c := &w.cfg.Costs
	h := float64(w.cfg.Slots)
	for m := range w.tiers {
		t := &w.cfg.Tiers[m]
		jobs := w.rates[m]
		switch c.Revenue {
		case ArrivedRevenue:
			jobs = a[w.perTier(tierArrived, m)]
		case ServedRevenue:
			jobs = a[w.perTier(tierServed, m)]
		}
		a[accRevenue] += float64(w.prices[m] * jobs * t.Demand)
		if w.cfg.Pool == Reserved {
			kept := w.baseline[m]
			if w.cfg.Market.fails() {
				kept = w.tierKeep[m]
			}
			a[accBase] += float64(t.Rate * float64(kept) / h)
		}
	}
	charged, on := w.transients, w.transients
	for _, n := range w.tierKeep {
		on += n
	}
	if c.Deployed == CountAll {
		charged = on
	}
	if w.cfg.Pool == Fixed {
		charged, on = 0, w.transients+w.allOff().n // all that are there
		a[accBase] = float64(c.Fixed * float64(on) / h)
	}
	a[accGPU] += float64(c.GPU * float64(charged))
	a[accBusy] += float64(w.busy)
	a[accDeployed] += float64(on)
	a[accSlots]++
	if w.cfg.Market.fails() {
		a[len(a)-1] = w.capacity() // accPresent
	}
	copy(w.lastAcc, a)
	for i, x := range a {
		w.winAcc[i] += x
		w.total[i] += x
	}
	clear(a)
	w.slot++
	if w.cfg.Market.fails() {
		w.fail()
	}
}

// windowDone reports whether a window has just ended.
func (w *world) windowDone() bool { return w.slot%int64(w.cfg.Slots) == 0 }

// done reports whether the episode's windows are over.
func (w *world) done() bool { return w.slot == int64(w.cfg.Windows)*int64(w.cfg.Slots) }

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
	if w.cfg.Market.moves() {
		w.market.now = w.market.next
		w.moveMarket(w.window + 1)
	}
	w.rival = w.divide(w.shares, false)
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
