package pricing

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng/portable"
)

// Observer makes the observations of a pricing policy from what a provider measures in a window, and prices of what it
// decides. [Pricing] builds its own by it, so that a policy sees a platform as it saw the simulator. It simulates
// nothing and opens no workload. It may be used by several goroutines at once.
type Observer struct {
	cfg  *Config
	spec *envs.Spec
}

// NewObserver returns the observer of [ID] with a configuration.
func NewObserver(c Config) (*Observer, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", ID, err)
	}
	if c.Acts == ActsMoves {
		return nil, fmt.Errorf("%s: %w", ID, fieldError("acts", c.Acts, ActsCounts+": moves are for "+SlotsID))
	}
	return &Observer{&c, c.newPriceSpec()}, nil
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
	row := k.Values[:0]
	for i := range m.Tiers {
		t := &m.Tiers[i]
		row = append(row, float32(t.Price), float32(t.KeepAlive), float32(t.Rate), float32(t.Arrived), float32(t.Violated),
			float32(t.Begun), float32(t.Waiting))
	}
	period := o.cfg.Demand.Period
	day := 2 * math.Pi * float64(m.Next%int64(period)) / float64(period)
	sin, cos := portable.Sincos(day)
	copy(k.Values[len(row):], []float32{
		float32(m.Potential), float32(sin), float32(cos), float32(m.Revenue), float32(m.Base), float32(m.GPU),
		float32(m.Switch), float32(m.SLA), float32(m.Utilisation),
	})
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
