package pricing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng/portable"
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

var slotFeatures = []envs.Component{
	SeesQueue:     {Name: "queue", Unit: "jobs", Doc: "jobs that wait and can still meet their SLA"},
	SeesLate:      {Name: "late", Unit: "jobs", Doc: "jobs that wait and can no longer meet it"},
	SeesArrived:   {Name: "arrived", Unit: "jobs", Doc: "jobs that arrived in this slot"},
	SeesEstimate:  {Name: "estimate", Unit: "jobs/slot", Doc: "forecast of arrivals"},
	SeesViolated:  {Name: "violated", Unit: "jobs", Doc: "jobs found too late in this slot"},
	SeesBegun:     {Name: "begun", Unit: "jobs", Doc: "jobs that began in the last slot"},
	SeesWait:      {Name: "wait", Unit: "slots", Doc: "how long the first job of the queue has waited"},
	SeesKeep:      {Name: "keep-alive", Unit: "vGPUs", Doc: "keep-alive vGPUs of the function"},
	SeesTransient: {Name: "transient", Unit: "vGPUs", Doc: "transient vGPUs of the function"},
	SeesIdleKeep:  {Name: "idle keep-alive", Unit: "vGPUs", Doc: "keep-alive ones that are loaded and idle"},
	SeesIdle:      {Name: "idle", Unit: "vGPUs", Doc: "transient ones that are loaded and idle"},
	SeesPatient:   {Name: "patient", Unit: "vGPUs", Doc: "of these, idle for the configured patience at least"},
	SeesIdleSince: {Name: "idle since", Unit: "slots", Doc: "how long the longest idle of these has been so"},
	SeesLoading:   {Name: "loading", Unit: "vGPUs", Doc: "vGPUs that load the function"},
	SeesWarm:      {Name: "warm", Unit: "vGPUs", Doc: "vGPUs that are off and could serve it without a load"},
	SeesOff:       {Name: "off", Unit: "vGPUs", Doc: "vGPUs that are off, whatever they hosted"},
	SeesPrice:     {Name: "price", Unit: "per billing unit", Doc: "the tier's price"},
	SeesBaseline:  {Name: "baseline", Unit: "vGPUs", Doc: "the tier's baseline of keep-alive vGPUs"},
	SeesTier:      {Name: "tier", Doc: "the tier's number, from 0"},
	SeesSLA:       {Name: "sla", Unit: "slots", Doc: "slots within which a job of the tier must be done"},
	SeesPenalty:   {Name: "penalty", Unit: "per job", Doc: "what a violation costs"},
	SeesDemand:    {Name: "demand", Unit: "billing units", Doc: "billing units of a job"},
	SeesService:   {Name: "service", Unit: "slots", Doc: "mean length of a job"},
	SeesLeft:      {Name: "left", Unit: "of the window", Doc: "share of the window that is left"},
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

var slotActions = []envs.Component{
	ActWarm:    {Name: "warm", Unit: "vGPUs", Doc: "how many to switch on that need no load"},
	ActCold:    {Name: "cold", Unit: "vGPUs", Doc: "how many to switch on of any that are off"},
	ActRelease: {Name: "release", Unit: "vGPUs", Doc: "how many idle transient ones to switch off, longest idle first"},
	ActGive:    {Name: "give", Unit: "vGPUs", Doc: "how many idle keep-alive ones to offer to functions of the same tier"},
	ActTake:    {Name: "take", Unit: "vGPUs", Doc: "how many of such offers to take"},
}

// newSlotSpec describes the scheduling environment.
func (c *Config) newSlotSpec() *envs.Spec {
	features, units, seen := envs.Columns(slotFeatures)
	actions, actionUnits, decided := envs.Columns(slotActions)
	box := envs.NewBox(Acts, 0, float32(c.VGPUs))
	box.Integer = []bool{true, true, true, true, true}
	return &envs.Spec{
		ID: SlotsID,
		Doc: "A scheduler switches vGPUs on and off for functions of priced service tiers in each slot; prices and " +
			"baselines of the window are given.",
		Kinds: []envs.Kind{{
			Name: "function", Agents: c.functions(), Observation: envs.Unbounded(Sees), Action: box,
			Doc:      "One function, in this slot. Numbers are not scaled; decisions are granted as far as there are vGPUs.",
			Features: features, FeatureUnits: units, FeatureDocs: seen,
			Actions: actions, ActionUnits: actionUnits, ActionDocs: decided,
		}},
		Step: envs.Timing{Unit: "slot", Fixed: c.slotMicros()}, MaxSteps: c.Windows * c.Slots,
		Info: c.quantities(), Constraint: "violation_rate", Objective: "profit",
	}
}

// newMoveSpec describes the scheduling environment where a function's decision is one move.
func (c *Config) newMoveSpec() *envs.Spec {
	s := c.newSlotSpec()
	k := &s.Kinds[0]
	k.Action = envs.Discrete{N: Moves}
	k.Actions, k.ActionUnits, k.ActionDocs = envs.Columns([]envs.Component{{Name: "move", Doc: fmt.Sprintf(
		"by how many vGPUs the function's deployment changes: 0 is %d fewer, %d no change, %d is %d more", MostOff, MostOff,
		Moves-1, MostOn)}})
	return s
}

// tierFeatures are what the provider sees of a tier.
var tierFeatures = []envs.Feature[TierMeters]{
	envs.NewFeature("price", "per billing unit", "price of the tier in the last window",
		func(t *TierMeters) float32 { return float32(t.Price) }),
	envs.NewFeature("baseline", "vGPUs", "keep-alive vGPUs of the tier in the last window",
		func(t *TierMeters) float32 { return float32(t.KeepAlive) }),
	envs.NewFeature("rate", "jobs/slot", "expected arrivals: the tier's share of the potential load",
		func(t *TierMeters) float32 { return float32(t.Rate) }),
	envs.NewFeature("arrived", "jobs", "jobs of the tier that arrived", func(t *TierMeters) float32 { return float32(t.Arrived) }),
	envs.NewFeature("violated", "jobs", "of these, found too late", func(t *TierMeters) float32 { return float32(t.Violated) }),
	envs.NewFeature("begun", "jobs", "jobs that began", func(t *TierMeters) float32 { return float32(t.Begun) }),
	envs.NewFeature("waiting", "jobs", "jobs that wait now", func(t *TierMeters) float32 { return float32(t.Waiting) }),
}

// windowFeatures are what it sees beside the tiers.
func (c *Config) windowFeatures() []envs.Feature[Meters] {
	period := c.Demand.Period
	day := func(m *Meters) (sin, cos float64) {
		return portable.Sincos(2 * math.Pi * float64(m.Next%int64(period)) / float64(period))
	}
	out := []envs.Feature[Meters]{
		envs.NewFeature("potential", "jobs/slot", "load of which each tier draws its share",
			func(m *Meters) float32 { return float32(m.Potential) }),
		envs.NewFeature("sine of day", "", "−1 to 1: the time of day on a circle", func(m *Meters) float32 {
			sin, _ := day(m)
			return float32(sin)
		}),
		envs.NewFeature("cosine of day", "", "−1 to 1: the time of day on a circle", func(m *Meters) float32 {
			_, cos := day(m)
			return float32(cos)
		}),
		envs.NewFeature("revenue", "money", "revenue of the last window", func(m *Meters) float32 { return float32(m.Revenue) }),
		envs.NewFeature("base", "money", "what keep-alive vGPUs cost in it", func(m *Meters) float32 { return float32(m.Base) }),
		envs.NewFeature("gpu", "money", "what transient vGPUs cost in it", func(m *Meters) float32 { return float32(m.GPU) }),
		envs.NewFeature("switch", "money", "what switches cost in it", func(m *Meters) float32 { return float32(m.Switch) }),
		envs.NewFeature("sla", "money", "penalties of violated jobs in it", func(m *Meters) float32 { return float32(m.SLA) }),
		envs.NewFeature("utilisation", "of vGPUs", "0 to 1: vGPUs in service",
			func(m *Meters) float32 { return float32(m.Utilisation) }),
	}
	return append(out, c.marketFeatures()...)
}

// newPriceSpec describes the pricing environment.
func (c *Config) newPriceSpec() *envs.Spec {
	n := len(c.Tiers)
	box := envs.NewBox(2*n, float32(c.PriceMin), float32(c.PriceMax))
	box.Integer = make([]bool, 2*n)
	var prices, baselines, sees []envs.Component
	for m := range n {
		box.Low[n+m], box.High[n+m], box.Integer[n+m] = 0, float32(c.baselineMax()), true
		of := func(name, unit, doc string) envs.Component {
			return envs.Component{Name: fmt.Sprintf("%s %d", name, m+1), Unit: unit, Doc: doc}
		}
		prices = append(prices, of("price", "per billing unit", "price of the tier in the next window"))
		baselines = append(baselines, of("baseline", "vGPUs", "keep-alive vGPUs of the tier in the next window; baselines "+
			"that exceed the vGPUs together are projected onto them"))
		for _, f := range tierFeatures {
			sees = append(sees, of(f.Name, f.Unit, f.Doc))
		}
	}
	sees = append(sees, envs.Components(c.windowFeatures())...)
	features, units, seen := envs.Columns(sees)
	actions, actionUnits, decided := envs.Columns(append(prices, baselines...))
	return &envs.Spec{
		ID:  ID,
		Doc: "A provider of serverless GPU functions sets prices and keep-alive vGPUs of its service tiers for each window.",
		Kinds: []envs.Kind{{
			Name: "provider", Agents: 1, Observation: envs.Unbounded(len(features)), Action: box,
			Doc:      "Numbers are of the last window and are not scaled.",
			Features: features, FeatureUnits: units, FeatureDocs: seen,
			Actions: actions, ActionUnits: actionUnits, ActionDocs: decided,
		}},
		Step: envs.Timing{Unit: "window", Fixed: int64(c.Slots) * c.slotMicros()}, MaxSteps: c.Windows,
		Info: c.quantities(), Constraint: "violation_rate", Objective: "profit",
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
	w.reportMarket(info, acc)
}

func (c *Config) slotMicros() int64 { return int64(math.Round(c.SlotSeconds * 1e6)) }

// seeWindow writes what the provider sees at a window's beginning: it fills the meters of the last one and has the
// observer read them, as a platform does.
func (w *world) seeWindow(obs *envs.Observation) {
	m := &w.meters
	for i, t := range w.tiers {
		waiting := int32(0)
		for f := t.from; f < t.to; f++ {
			waiting += w.waiting[f] + w.waiting[len(w.fn)+f]
		}
		m.Tiers[i] = TierMeters{
			TierPrice: TierPrice{w.prices[i], int(w.baseline[i])}, Rate: w.rates[i], Arrived: w.winAcc[w.perTier(tierArrived, i)],
			Violated: w.winAcc[w.perTier(tierViolated, i)], Begun: w.winAcc[w.perTier(tierServed, i)], Waiting: int(waiting),
		}
	}
	w.meterMarket(m)
	m.Potential = 0
	if w.window >= 0 {
		m.Potential = w.potential(int(w.window))
	}
	m.Next = w.first + w.window + 1
	m.Revenue, m.Base, m.GPU = w.winAcc[accRevenue], w.winAcc[accBase], w.winAcc[accGPU]
	m.Switch, m.SLA = w.winAcc[accSwitch], w.winAcc[accSLA]
	m.Utilisation = w.winAcc[accBusy] / (float64(w.cfg.VGPUs) * max(w.winAcc[accSlots], 1))
	w.observer.write(m, &obs.Kinds[0])
}

// seeGiven writes what the scheduler sees that is the same in all slots of a window.
func (w *world) seeGiven(obs *envs.Observation) {
	for m := range w.tiers {
		w.slotMeters.Tiers[m] = TierPrice{w.prices[m], int(w.baseline[m])}
	}
	w.slotObserver.writeGiven(w.slotMeters.Tiers, &obs.Kinds[0])
}

// seeSlot writes the rest.
func (w *world) seeSlot(obs *envs.Observation) {
	w.measureSlot()
	w.measured = true
	w.slotObserver.writeSlot(&w.slotMeters, &obs.Kinds[0])
}

// measureSlot fills the meters of a slot, but for the prices of its window.
func (w *world) measureSlot() {
	m, n := &w.slotMeters, len(w.fn)
	m.Slot, m.Off = w.slot, w.allOff().n
	wait, since, patient, warm := m.Wait[:n], m.IdleSince[:n], m.Patient[:n], m.Warm[:n]
	keep, idle := m.IdleKeep[:n], m.Idle[:n]
	for f := range n {
		queue, free := &w.queues[f], w.idleTransient(f)
		wait[f], since[f] = 0, 0
		if queue.n > 0 {
			wait[f] = int32(w.slot) - w.jobs[w.jobLinks.first(queue)].arrived
		}
		if free.n > 0 {
			since[f] = int32(w.slot) - w.vgpus[w.link.first(free)].since
		}
		keep[f], idle[f], patient[f] = w.idleKeep(f).n, free.n, w.patient[idleList(f, transient)]
		warm[f] = w.warmRoom(f)
	}
}

// meter makes the meters. Most columns of those of a slot are the simulation's own numbers.
func (w *world) meter() {
	nt, nf := len(w.tiers), len(w.fn)
	w.meters.Tiers, w.asked, w.slotMeters = make([]TierMeters, nt), make([]TierPrice, nt), *NewSlotMeters(nt, nf)
	m := &w.slotMeters
	m.Queue, m.Late = w.waiting[:nf:nf], w.waiting[nf:]
	m.Arrived, m.Violated, m.Begun, m.Estimate = w.arrived, w.violated, w.begun, w.estimate
	m.Keep, m.Transient, m.Loading = w.keep, w.trans, w.loading
}

// quantities lists what both environments report, in the order in which report writes it.
func (c *Config) quantities() []envs.Quantity {
	some, share := envs.AtLeast(0), envs.Share()
	q := []envs.Quantity{
		{Name: "profit", Unit: "money", Better: envs.Higher, Reduce: envs.Sum, AssumesService: true,
			Doc: "revenue less all costs (eq. 3)"},
		{Name: "revenue", Unit: "money", Better: envs.Higher, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "price × billing units of the jobs, as costs.revenue counts them"},
		{Name: "base", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cost of keep-alive vGPUs, or of the fixed pool"},
		{Name: "gpu", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cost of transient vGPUs"},
		{Name: "switch", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cost of the charged switches"},
		{Name: "sla", Unit: "money", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, Doc: "penalties of violated jobs"},
		{Name: "arrived", Unit: "jobs", Better: envs.Neither, Reduce: envs.Sum, Bounds: some, Doc: "jobs that arrived"},
		{Name: "violated", Unit: "jobs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some,
			Doc: "jobs that could not be done in time any more"},
		{Name: "served", Unit: "jobs", Better: envs.Higher, Reduce: envs.Sum, Bounds: some, Doc: "jobs that began"},
		{Name: "dropped", Unit: "jobs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some,
			Doc: "late jobs that were given up"},
		{Name: "switches", Unit: "vGPUs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "changes of function that are charged"},
		{Name: "redeployments", Unit: "vGPUs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "changes of function on any vGPU: the like-for-like count"},
		{Name: "loads", Unit: "vGPUs", Better: envs.Lower, Reduce: envs.Sum, Bounds: some, AssumesService: true,
			Doc: "cold loads"},
		{Name: "utilisation", Unit: "of vGPUs", Better: envs.Neither, Reduce: envs.PerTime, Bounds: share,
			Doc: "vGPUs in service"},
		{Name: "deployed", Unit: "of vGPUs", Better: envs.Neither, Reduce: envs.PerTime, Bounds: share,
			Doc: "vGPUs that are on"},
		{Name: "violation_rate", Unit: "of jobs", Better: envs.Lower, Reduce: envs.Last, Bounds: share,
			Doc: "violated over arrived, since the episode began"},
	}
	for m := range c.Tiers {
		q = append(q,
			envs.Quantity{Name: fmt.Sprintf("price_%d", m+1), Unit: "per billing unit", Reduce: envs.Mean, Bounds: some,
				Doc: "the tier's price"},
			envs.Quantity{Name: fmt.Sprintf("share_%d", m+1), Unit: "of the potential load", Reduce: envs.Mean,
				Bounds: share, Doc: "the tier's share (eq. 1)"},
			envs.Quantity{Name: fmt.Sprintf("baseline_%d", m+1), Unit: "vGPUs", Reduce: envs.Mean, Bounds: some,
				Doc: "the tier's keep-alive vGPUs"},
			envs.Quantity{Name: fmt.Sprintf("arrived_%d", m+1), Unit: "jobs", Reduce: envs.Sum, Bounds: some,
				Doc: "the tier's jobs that arrived"},
			envs.Quantity{Name: fmt.Sprintf("violated_%d", m+1), Unit: "jobs", Better: envs.Lower, Reduce: envs.Sum,
				Bounds: some, Doc: "the tier's violations"},
		)
	}
	return append(q, c.marketQuantities()...)
}
