package pricing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// Observer makes the observations of a pricing policy from what a provider measures in a window, and prices of what it
// decides. [Pricing] builds its own by it, so that a policy sees a platform as it saw the simulator. It simulates
// nothing and opens no workload. It may be used by several goroutines at once.
type Observer struct {
	cfg    *Config
	spec   *envs.Spec
	window []envs.Feature[Meters]
}

func newPriceObserver(c *Config) *Observer { return &Observer{c, c.newPriceSpec(), c.windowFeatures()} }

// NewObserver returns the observer of [ID] with a configuration.
func NewObserver(c Config) (*Observer, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", ID, err)
	}
	if c.Acts == ActsMoves {
		return nil, fmt.Errorf("%s: %w", ID, fieldError("acts", c.Acts, ActsCounts+": moves are for "+SlotsID))
	}
	return newPriceObserver(&c), nil
}

// OpenObserver is NewObserver from JSON, which is laid over the environment's defaults: the configuration that the
// section environment of an exported policy has.
func OpenObserver(config []byte) (*Observer, error) {
	c := Default()
	if err := envs.ParseJSON(config, &c); err != nil {
		return nil, fmt.Errorf("%s: configuration: %w", ID, err)
	}
	return NewObserver(c)
}

// Spec is the environment's.
func (o *Observer) Spec() *envs.Spec { return o.spec }

// Observe checks the meters and writes what the provider sees into an observation of the spec. It does not allocate.
func (o *Observer) Observe(m *Meters, out *envs.Observation) error {
	if len(m.Tiers) != len(o.cfg.Tiers) {
		return fmt.Errorf("%s: meters: %w", ID, bounds.Errorf("tiers", "are %d, want %d", len(m.Tiers), len(o.cfg.Tiers)))
	}
	if err := m.validate(); err != nil {
		return fmt.Errorf("%s: meters: %w", ID, err)
	}
	if err := m.validateMarket(&o.cfg.Market); err != nil {
		return fmt.Errorf("%s: meters: %w", ID, err)
	}
	if err := shaped(o.spec, out); err != nil {
		return err
	}
	o.write(m, &out.Kinds[0])
	return nil
}

// shaped reports whether an observation has the sizes of a spec.
func shaped(s *envs.Spec, out *envs.Observation) error {
	k := &s.Kinds[0]
	if len(out.Kinds) != 1 || len(out.Kinds[0].Values) != k.Agents*k.Observation.Width() ||
		len(out.Kinds[0].Active) != k.Agents {
		return fmt.Errorf("%s: the observation is not one of this environment's spec", s.ID)
	}
	return nil
}

// write writes the row of the provider.
func (o *Observer) write(m *Meters, k *envs.KindObservation) {
	row := k.Values
	for i := range m.Tiers {
		envs.WriteRow(tierFeatures, &m.Tiers[i], row)
		row = row[len(tierFeatures):]
	}
	envs.WriteRow(o.window, m, row)
	k.Active[0] = true
}

// SlotObserver is an [Observer] for scheduling policies: of what a provider measures in a slot.
type SlotObserver struct {
	cfg  *Config
	fn   []function
	spec *envs.Spec
}

// NewSlotObserver returns the observer of [SlotsID] with a configuration. Where service times are measured ones
// (work.service) it reads their files.
func NewSlotObserver(c Config) (*SlotObserver, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", SlotsID, err)
	}
	work, err := openWork(&c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", SlotsID, err)
	}
	fn, _ := c.functionsOf(work)
	return newSlotObserver(&c, fn, c.Acts), nil
}

func newSlotObserver(c *Config, fn []function, acts string) *SlotObserver {
	o := &SlotObserver{cfg: c, fn: fn, spec: c.newSlotSpec()}
	if acts == ActsMoves {
		o.spec = c.newMoveSpec()
	}
	return o
}

// OpenSlotObserver is NewSlotObserver from JSON, as [OpenObserver] is. It opens no file.
func OpenSlotObserver(config []byte) (*SlotObserver, error) {
	c := Default()
	if err := envs.ParseJSON(config, &c); err != nil {
		return nil, fmt.Errorf("%s: configuration: %w", SlotsID, err)
	}
	if c.Work.Service == MeasuredService {
		return nil, fmt.Errorf("%s: %w", SlotsID, fieldError("work.service", c.Work.Service, ProfileService+
			": measured service times are read from files, and none is opened here; use NewSlotObserver"))
	}
	c.Work.Width = SingleWidth // how many jobs a request is, is not seen
	return NewSlotObserver(c)
}

// Spec is the environment's.
func (o *SlotObserver) Spec() *envs.Spec { return o.spec }

// Observe checks the meters and writes what the scheduler sees into an observation of the spec. It does not allocate.
func (o *SlotObserver) Observe(m *SlotMeters, out *envs.Observation) error {
	if err := o.check(m); err != nil {
		return err
	}
	if err := shaped(o.spec, out); err != nil {
		return err
	}
	o.writeGiven(m.Tiers, &out.Kinds[0])
	o.writeSlot(m, &out.Kinds[0])
	return nil
}

// check reports what is wrong with the meters of a slot.
func (o *SlotObserver) check(m *SlotMeters) error {
	if len(m.Tiers) != len(o.cfg.Tiers) {
		return fmt.Errorf("%s: meters: %w", SlotsID, bounds.Errorf("tiers", "are %d, want %d", len(m.Tiers),
			len(o.cfg.Tiers)))
	}
	for _, c := range m.columns() {
		if len(*c.of) != len(o.fn) {
			return fmt.Errorf("%s: meters: %w", SlotsID, bounds.Errorf(c.key, "has %d entries, want one for each of the %d "+
				"functions", len(*c.of), len(o.fn)))
		}
	}
	if len(m.Estimate) != len(o.fn) {
		return fmt.Errorf("%s: meters: %w", SlotsID, bounds.Errorf("estimate", "has %d entries, want one for each of the %d "+
			"functions", len(m.Estimate), len(o.fn)))
	}
	if err := m.validate(); err != nil {
		return fmt.Errorf("%s: meters: %w", SlotsID, err)
	}
	return nil
}

// writeGiven writes what the scheduler sees that is the same in all slots of a window.
func (o *SlotObserver) writeGiven(tiers []TierPrice, k *envs.KindObservation) {
	for f := range o.fn {
		p := &o.fn[f]
		t, in := &o.cfg.Tiers[p.tier], &tiers[p.tier]
		row := (*[Sees]float32)(k.Values[f*Sees:])
		row[SeesPrice], row[SeesBaseline], row[SeesTier] = float32(in.Price), float32(in.KeepAlive), float32(p.tier)
		row[SeesSLA], row[SeesPenalty], row[SeesDemand] = float32(t.SLA), float32(t.Penalty), float32(t.Demand)
		row[SeesService] = float32(p.mean)
		k.Active[f] = true
	}
}

// writeSlot writes the rest.
func (o *SlotObserver) writeSlot(m *SlotMeters, k *envs.KindObservation) {
	for i := range k.Mask { // of moves: all may be asked for
		k.Mask[i] = true
	}
	off, slots := float32(m.Off), int64(o.cfg.Slots)
	left := float32(float64(slots-m.Slot%slots) / float64(slots))
	// Equal lengths spare bounds checks: a slot takes microseconds.
	n := len(o.fn)
	queue, late, arrived, violated, begun := m.Queue[:n], m.Late[:n], m.Arrived[:n], m.Violated[:n], m.Begun[:n]
	estimate, wait, keep, idleKeep, trans := m.Estimate[:n], m.Wait[:n], m.Keep[:n], m.IdleKeep[:n], m.Transient[:n]
	idle, patient, idleSince, loading, warm := m.Idle[:n], m.Patient[:n], m.IdleSince[:n], m.Loading[:n], m.Warm[:n]
	for f := range n {
		row := (*[Sees]float32)(k.Values[f*Sees:])
		row[SeesQueue], row[SeesLate] = float32(queue[f]), float32(late[f])
		row[SeesArrived], row[SeesEstimate] = float32(arrived[f]), float32(estimate[f])
		row[SeesViolated], row[SeesBegun], row[SeesWait] = float32(violated[f]), float32(begun[f]), float32(wait[f])
		row[SeesKeep], row[SeesTransient] = float32(keep[f]), float32(trans[f])
		row[SeesIdleKeep], row[SeesIdle] = float32(idleKeep[f]), float32(idle[f])
		row[SeesPatient], row[SeesIdleSince], row[SeesLoading] = float32(patient[f]), float32(idleSince[f]),
			float32(loading[f])
		row[SeesWarm], row[SeesOff] = float32(warm[f]), off
		row[SeesLeft] = left
	}
}

// Prices writes what an action asks for: to has one entry for each tier. Keep-alive vGPUs that exceed the vGPUs together
// are taken back from the largest tiers, as the environment does.
func (o *Observer) Prices(act *envs.Action, to []TierPrice) error {
	if err := envs.CheckAction(o.spec, nil, act); err != nil {
		return err
	}
	if len(to) != len(o.cfg.Tiers) {
		return fmt.Errorf("%s: room for %d prices, want %d, one for each tier", ID, len(to), len(o.cfg.Tiers))
	}
	decodePrices(act.Kinds[0], o.cfg.VGPUs, to)
	return nil
}

// Fits returns an error where the keep-alive vGPUs that an action asks for exceed the vGPUs together. The environment
// then takes some back.
func (o *Observer) Fits(act *envs.Action) error {
	if err := envs.CheckAction(o.spec, nil, act); err != nil {
		return err
	}
	sum := 0
	for _, x := range act.Kinds[0][len(o.cfg.Tiers):] {
		sum += int(x)
	}
	if sum > o.cfg.VGPUs {
		return fmt.Errorf("%s: the tiers ask for %d keep-alive vGPUs, there are %d", ID, sum, o.cfg.VGPUs)
	}
	return nil
}

// Switches is what a provider does for one function in a slot: numbers of vGPUs, granted as far as there are.
type Switches struct {
	// Warm is how many to switch on that need no load, Cold of any that are off.
	Warm int32 `json:"warm"`
	Cold int32 `json:"cold"`
	// Release is how many idle transient ones to switch off, longest idle first.
	Release int32 `json:"release"`
	// Give is how many idle keep-alive ones to offer to functions of the same tier, Take how many of such offers to take.
	Give int32 `json:"give"`
	Take int32 `json:"take"`
}

// Switches writes what an action asks for: to has one entry for each function. Where an action is a choice of moves, how
// these are carried out depends on the meters from which the observation was made.
func (o *SlotObserver) Switches(act *envs.Action, m *SlotMeters, to []Switches) error {
	if err := envs.CheckAction(o.spec, nil, act); err != nil {
		return err
	}
	if len(to) != len(o.fn) {
		return fmt.Errorf("%s: room for the switches of %d functions, want %d", SlotsID, len(to), len(o.fn))
	}
	a := act.Kinds[0]
	if o.cfg.Acts == ActsMoves {
		if err := o.check(m); err != nil {
			return err
		}
		o.moves(a, m, to)
		return nil
	}
	for f := range to {
		row := a[f*Acts : (f+1)*Acts : (f+1)*Acts]
		to[f] = Switches{
			int32(row[ActWarm]), int32(row[ActCold]), int32(row[ActRelease]), int32(row[ActGive]), int32(row[ActTake]),
		}
	}
	return nil
}

// moves translates moves into numbers of vGPUs, as far as there are enough vGPUs.
func (o *SlotObserver) moves(moves []float32, m *SlotMeters, to []Switches) {
	clear(to)
	var offered [maxTiers]int32
	off, n := m.Off, len(o.fn)
	for f := range o.fn {
		less := MostOff - int32(moves[f])
		if less <= 0 {
			continue
		}
		r := min(less, m.Idle[f])
		g := min(less-r, m.IdleKeep[f])
		to[f].Release, to[f].Give = r, g
		off += r
		offered[o.fn[f].tier] += g
	}
	start := int(m.Slot % int64(n))
	for i := range n {
		f := (start + i) % n
		more := int32(moves[f]) - MostOff
		if more <= 0 {
			continue
		}
		on := min(more, off)
		warm := min(on, m.Warm[f])
		tier := &offered[o.fn[f].tier]
		take := min(more-on, *tier)
		to[f].Warm, to[f].Cold, to[f].Take = warm, on-warm, take
		off -= on
		*tier -= take
	}
}

// tierKeys are the keys of what is seen of each tier, and meterKeys those of the rest, in the order of the observation. The
// time of day is next's sine and cosine, neither of which is a reading.
var (
	tierKeys  = []string{"price", "keep_alive", "rate", "arrived", "violated", "begun", "waiting"}
	meterKeys = []string{"potential", "", "", "revenue", "base", "gpu", "switch", "sla", "utilisation"}
)

// Key is the key of the reading that a feature shows, as in tiers[0].rate; "" where it is made of others.
func (o *Observer) Key(feature int) string {
	if n := len(tierKeys); feature < n*len(o.cfg.Tiers) {
		return fmt.Sprintf("tiers[%d].%s", feature/n, tierKeys[feature%n])
	}
	feature -= len(tierKeys) * len(o.cfg.Tiers)
	if feature < len(meterKeys) {
		return meterKeys[feature]
	}
	return o.cfg.marketKeys()[feature-len(meterKeys)]
}

// Shares tells what a feature is a share of: the feature that shows the same reading as it was measured, and the whole. A tier's
// realised share shows what arrived over the potential load of a window. Any other feature is its own, and the whole is 1.
func (o *Observer) Shares(m *Meters, feature int) (of int, scale float64) {
	tier := feature - len(tierKeys)*len(o.cfg.Tiers) - len(meterKeys)
	if tier < 0 || tier >= len(o.cfg.Tiers) || !o.cfg.Market.demands() {
		return feature, 1
	}
	return tier*len(tierKeys) + slices.Index(tierKeys, "arrived"), float64(m.Potential * float64(o.cfg.Slots))
}

// Example returns meters that are observed as seen is, but for rounding.
func (o *Observer) Example(seen *envs.Observation) *Meters {
	row := seen.Kinds[0].Values
	m := &Meters{Tiers: make([]TierMeters, len(o.cfg.Tiers))}
	at := func(i int) float64 { return rounded(row[i]) }
	for i := range m.Tiers {
		from := i * len(tierKeys)
		m.Tiers[i] = TierMeters{TierPrice: TierPrice{Price: at(from), KeepAlive: int(at(from + 1))}, Rate: at(from + 2),
			Arrived: at(from + 3), Violated: at(from + 4), Begun: at(from + 5), Waiting: int(at(from + 6))}
	}
	from := len(m.Tiers) * len(tierKeys)
	day := math.Atan2(float64(row[from+1]), float64(row[from+2])) / (2 * math.Pi)
	m.Next = int64(math.Round((day-math.Floor(day))*float64(o.cfg.Demand.Period))) % int64(o.cfg.Demand.Period)
	m.Potential, m.Revenue, m.Base, m.GPU = at(from), at(from+3), at(from+4), at(from+5)
	m.Switch, m.SLA, m.Utilisation = at(from+6), at(from+7), min(1, at(from+8))
	for i, key := range o.cfg.marketKeys() {
		switch x := at(from + len(meterKeys) + i); key {
		case "capacity":
			m.Capacity = min(1, x)
		case "rival_price":
			m.RivalPrice = x
		}
	}
	return m
}

// slotKeys are the keys of what a scheduler sees, by its place: those of functions end in [], those of tiers begin with
// tiers. What has none is of the configuration, or made of others.
var slotKeys = [Sees]string{
	SeesQueue: "queue[]", SeesLate: "late[]", SeesArrived: "arrived[]", SeesEstimate: "estimate[]",
	SeesViolated: "violated[]", SeesBegun: "begun[]", SeesWait: "wait[]", SeesKeep: "keep[]",
	SeesTransient: "transient[]", SeesIdleKeep: "idle_keep[]", SeesIdle: "idle[]", SeesPatient: "patient[]",
	SeesIdleSince: "idle_since[]", SeesLoading: "loading[]", SeesWarm: "warm[]", SeesOff: "off",
	SeesPrice: "tiers[].price", SeesBaseline: "tiers[].keep_alive",
}

// Key is the key of the reading that a feature of a function shows, as in queue[3]; "" where it is configured.
func (o *SlotObserver) Key(function, feature int) string {
	of := function
	if feature == SeesPrice || feature == SeesBaseline {
		of = o.fn[function].tier
	}
	return strings.Replace(slotKeys[feature], "[]", fmt.Sprintf("[%d]", of), 1)
}

// Example returns meters that are observed as seen is, but for rounding.
func (o *SlotObserver) Example(seen *envs.Observation) *SlotMeters {
	m := NewSlotMeters(len(o.cfg.Tiers), len(o.fn))
	whole := func(x float32) int32 { return int32(max(0, math.Round(float64(x)))) }
	for f := range o.fn {
		row := seen.Kinds[0].Values[f*Sees : (f+1)*Sees]
		m.Tiers[o.fn[f].tier] = TierPrice{rounded(row[SeesPrice]), int(whole(row[SeesBaseline]))}
		m.Estimate[f], m.Off = rounded(row[SeesEstimate]), whole(row[SeesOff])
		m.Slot = int64(math.Round((1-float64(row[SeesLeft]))*float64(o.cfg.Slots))) % int64(o.cfg.Slots)
		for place, to := range map[int][]int32{SeesQueue: m.Queue, SeesLate: m.Late, SeesArrived: m.Arrived,
			SeesViolated: m.Violated, SeesBegun: m.Begun, SeesWait: m.Wait, SeesKeep: m.Keep, SeesTransient: m.Transient,
			SeesIdleKeep: m.IdleKeep, SeesIdle: m.Idle, SeesPatient: m.Patient, SeesIdleSince: m.IdleSince,
			SeesLoading: m.Loading, SeesWarm: m.Warm} {
			to[f] = whole(row[place])
		}
	}
	return m
}

// rounded is x with five digits, 0 where it is negative.
func rounded(x float32) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(max(0, float64(x)), 'g', 5, 64), 64) // what is written is read
	return y
}
