package pricing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
)

// What the scheduler of a slot sees of a function, by place.
const (
	SeesQueue     = iota // jobs that wait and can still meet their SLA
	SeesLate             // jobs that wait and can no longer meet it
	SeesArrived          // jobs that arrived in this slot
	SeesEstimate         // forecast of arrivals per slot
	SeesViolated         // jobs found too late in this slot
	SeesBegun            // jobs that began in the last slot
	SeesWait             // slots that the first job of the queue has waited
	SeesKeep             // keep-alive vGPUs
	SeesTransient        // transient vGPUs
	SeesIdleKeep         // keep-alive vGPUs that are loaded and idle
	SeesIdle             // transient vGPUs that are loaded and idle
	SeesPatient          // of these, idle for the configured patience at least
	SeesIdleSince        // slots for which the longest idle of these has been so
	SeesLoading          // vGPUs that load the function
	SeesWarm             // vGPUs that are off and could serve it without a load
	SeesOff              // vGPUs that are off, whatever they hosted
	SeesPrice            // the tier's price
	SeesBaseline         // the tier's baseline of keep-alive vGPUs
	SeesTier             // the tier's number
	SeesSLA              // the tier's SLA in slots
	SeesPenalty          // what a violation costs
	SeesDemand           // billing units of a job
	SeesService          // mean service length in slots
	SeesLeft             // share of the window that is left
	Sees                 // how many these are
)

var slotFeatures = []string{
	"queue", "late", "arrived", "estimate", "violated", "begun", "wait", "keep-alive", "transient", "idle keep-alive",
	"idle", "patient",
	"idle since", "loading", "warm", "off", "price", "baseline", "tier", "sla", "penalty", "demand", "service", "left",
}

// What the scheduler of a slot does for a function, by place: numbers of vGPUs, granted as far as there are.
const (
	ActWarm    = iota // switch on vGPUs that need no load
	ActCold           // switch on any that are off
	ActRelease        // switch idle transient ones off, longest idle first
	ActGive           // offer idle keep-alive ones to functions of the same tier, longest idle first
	ActTake           // take such offers
	Acts              // how many these are
)

var slotActions = []string{"warm", "cold", "release", "give", "take"}

// newSlotSpec describes the scheduling environment.
func (w *world) newSlotSpec() *envs.Spec {
	units := []string{
		"jobs", "jobs", "jobs", "jobs/slot", "jobs", "jobs", "slots", "vGPUs", "vGPUs", "vGPUs", "vGPUs", "vGPUs", "slots",
		"vGPUs", "vGPUs", "vGPUs",
		"per billing unit", "vGPUs", "", "slots", "per job", "billing units", "slots", "of the window",
	}
	box := envs.NewBox(Acts, 0, float32(w.cfg.VGPUs))
	box.Integer = []bool{true, true, true, true, true}
	return &envs.Spec{
		ID: SlotsID,
		Doc: "A scheduler switches vGPUs on and off for functions of priced service tiers in each slot; prices and " +
			"baselines of the window are given.",
		Kinds: []envs.Kind{{
			Name: "function", Agents: len(w.fn), Observation: envs.Unbounded(Sees), Action: box,
			Features: slotFeatures, Actions: slotActions, FeatureUnits: units, ActionUnits: []string{"vGPUs", "vGPUs", "vGPUs",
				"vGPUs", "vGPUs"},
		}},
		Step: envs.Timing{Unit: "slot", Fixed: w.slotMicros()}, MaxSteps: w.cfg.Windows * w.cfg.Slots,
		Info: w.quantities(), Constraint: "violation_rate", Objective: "profit",
	}
}

// newMoveSpec describes the scheduling environment where a function's decision is one move.
func (w *world) newMoveSpec() *envs.Spec {
	s := w.newSlotSpec()
	k := &s.Kinds[0]
	k.Action, k.Actions, k.ActionUnits = envs.Discrete{N: Moves}, []string{"move"}, []string{""}
	return s
}

// newPriceSpec describes the pricing environment.
func (w *world) newPriceSpec() *envs.Spec {
	n := len(w.tiers)
	box := envs.NewBox(2*n, float32(w.cfg.PriceMin), float32(w.cfg.PriceMax))
	box.Integer = make([]bool, 2*n)
	var actions, actionUnits, features, units []string
	for m := range n {
		actions, actionUnits = append(actions, fmt.Sprintf("price %d", m+1)), append(actionUnits, "per billing unit")
		box.Low[n+m], box.High[n+m], box.Integer[n+m] = 0, float32(w.cfg.baselineMax()), true
	}
	for m := range n {
		actions, actionUnits = append(actions, fmt.Sprintf("baseline %d", m+1)), append(actionUnits, "vGPUs")
		for _, x := range [...][2]string{
			{"price", "per billing unit"}, {"baseline", "vGPUs"}, {"rate", "jobs/slot"}, {"arrived", "jobs"}, {"violated",
				"jobs"}, {"begun", "jobs"},
			{"waiting", "jobs"},
		} {
			features, units = append(features, fmt.Sprintf("%s %d", x[0], m+1)), append(units, x[1])
		}
	}
	features = append(features, "potential", "sine of day", "cosine of day", "revenue", "base", "gpu", "switch", "sla",
		"utilisation")
	units = append(units, "jobs/slot", "", "", "money", "money", "money", "money", "money", "of vGPUs")
	return &envs.Spec{
		ID:  ID,
		Doc: "A provider of serverless GPU functions sets prices and keep-alive vGPUs of its service tiers for each window.",
		Kinds: []envs.Kind{{
			Name: "provider", Agents: 1, Observation: envs.Unbounded(len(features)), Action: box,
			Features: features, Actions: actions, FeatureUnits: units, ActionUnits: actionUnits,
		}},
		Step: envs.Timing{Unit: "window", Fixed: int64(w.cfg.Slots) * w.slotMicros()}, MaxSteps: w.cfg.Windows,
		Info: w.quantities(), Constraint: "violation_rate", Objective: "profit",
	}
}

// report writes the quantities of an account.
func (w *world) report(info, acc []float64) {
	all := float64(w.cfg.VGPUs) * max(acc[accSlots], 1)
	rate := 0.0
	if n := w.total[accArrived]; n > 0 {
		rate = w.total[accViolated] / n
	}
	info = append(info[:0], profit(acc), acc[accRevenue], acc[accBase], acc[accGPU], acc[accSwitch], acc[accSLA],
		acc[accArrived], acc[accViolated],
		acc[accServed], acc[accDropped], acc[accSwitched], acc[accRedeployed], acc[accLoads], acc[accBusy]/all,
		acc[accDeployed]/all, rate)
	for m := range w.tiers {
		info = append(info, w.prices[m], w.shares[m], float64(w.baseline[m]), acc[w.perTier(tierArrived, m)],
			acc[w.perTier(tierViolated, m)])
	}
}

func (w *world) slotMicros() int64 { return int64(math.Round(w.cfg.SlotSeconds * 1e6)) }

// seeGiven writes what the scheduler sees that is the same in all slots of a window.
func (w *world) seeGiven(obs *envs.Observation) {
	k := &obs.Kinds[0]
	for f := range w.fn {
		p := &w.fn[f]
		t := &w.cfg.Tiers[p.tier]
		o := k.Values[f*Sees : (f+1)*Sees : (f+1)*Sees]
		o[SeesPrice], o[SeesBaseline], o[SeesTier] = float32(w.prices[p.tier]), float32(w.baseline[p.tier]), float32(p.tier)
		o[SeesSLA], o[SeesPenalty], o[SeesDemand] = float32(t.SLA), float32(t.Penalty), float32(t.Demand)
		o[SeesService] = float32(p.mean)
		k.Active[f] = true
	}
}

// seeSlot writes the rest.
func (w *world) seeSlot(obs *envs.Observation) {
	k := &obs.Kinds[0]
	for i := range k.Mask { // of moves: all may be asked for
		k.Mask[i] = true
	}
	off := float32(w.allOff().n)
	in := w.slot % int64(w.cfg.Slots)
	left := float32(float64(int64(w.cfg.Slots)-in) / float64(w.cfg.Slots))
	for f := range w.fn {
		o := k.Values[f*Sees : (f+1)*Sees : (f+1)*Sees]
		queue := &w.queues[f]
		wait, idle := float32(0), float32(0)
		if queue.n > 0 {
			wait = float32(w.slot - int64(w.jobs[w.jobLinks.first(queue)].arrived))
		}
		free := w.idleTransient(f)
		if free.n > 0 {
			idle = float32(w.slot - int64(w.vgpus[w.link.first(free)].since))
		}
		o[SeesQueue], o[SeesLate] = float32(w.waiting[f]), float32(w.waiting[len(w.fn)+f])
		o[SeesArrived], o[SeesEstimate] = float32(w.arrived[f]), float32(w.estimate[f])
		o[SeesViolated], o[SeesBegun], o[SeesWait] = float32(w.violated[f]), float32(w.begun[f]), wait
		o[SeesKeep], o[SeesTransient] = float32(w.keep[f]), float32(w.trans[f])
		o[SeesIdleKeep], o[SeesIdle] = float32(w.idleKeep(f).n), float32(free.n)
		o[SeesPatient], o[SeesIdleSince], o[SeesLoading] = float32(w.patient[idleList(f,
			transient)]), idle, float32(w.loading[f])
		o[SeesWarm], o[SeesOff] = float32(w.warmRoom(f)), off
		o[SeesLeft] = left
	}
}
