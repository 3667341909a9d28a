package pricing

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
			a[accBase] += float64(t.Rate * float64(w.baseline[m]) / h)
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
		charged, on = 0, int32(w.cfg.VGPUs)
		a[accBase] = float64(c.Fixed * float64(w.cfg.VGPUs) / h)
	}
	a[accGPU] += float64(c.GPU * float64(charged))
	a[accBusy] += float64(w.busy)
	a[accDeployed] += float64(on)
	a[accSlots]++
	copy(w.lastAcc, a)
	for i, x := range a {
		w.winAcc[i] += x
		w.total[i] += x
	}
	clear(a)
	w.slot++
}

// windowDone reports whether a window has just ended.
func (w *world) windowDone() bool { return w.slot%int64(w.cfg.Slots) == 0 }

// done reports whether the episode's windows are over.
func (w *world) done() bool { return w.slot == int64(w.cfg.Windows)*int64(w.cfg.Slots) }
