package policy

import (
	"encoding/json"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// Sized is what is done for one function of a workflow.
type Sized struct {
	// Function is its name; where workflows are side by side, with its workflow's.
	Function string `json:"function"`
	sizing.Settings
}

// unmeasured is a number that is of no measurement.
func unmeasured(w Where) Where {
	w.Name += ", which is of the configuration,"
	return w
}

type sizingFace struct{ *sizing.Observer }

func newSizingFace(id string) func(config, load json.RawMessage) (Face, error) {
	return func(config, load json.RawMessage) (Face, error) {
		o, err := sizing.OpenObserver(id, config, load)
		return sizingFace{o}, err
	}
}

func (o sizingFace) Observe(measured []byte, seen *envs.Observation) (Measured, error) {
	m, err := sizing.ParseMeters(measured)
	if err == nil {
		err = o.Observer.Observe(m, seen)
	}
	return sized{o.Observer, m}, err
}

func (o sizingFace) Example(seen *envs.Observation) any {
	all := o.Observer.Example(seen)
	if len(all) == 1 {
		return all[0]
	}
	return all
}

type sized struct {
	o *sizing.Observer
	m []sizing.Meters
}

func (s sized) Done(act *envs.Action) (any, error) {
	names := s.o.Spec().Kinds[0].Names
	settings, out := make([]sizing.Settings, len(names)), make([]Sized, len(names))
	if err := s.o.Settings(act, settings); err != nil {
		return nil, err
	}
	for i, x := range settings {
		out[i] = Sized{names[i], x}
	}
	return out, nil
}

func (s sized) Place(w Where) Where {
	r, low, high, ok := s.o.Reading(s.m, w.Row, w.Feature, w.Value, w.Low, w.High)
	if !ok {
		return unmeasured(w)
	}
	return Where{Row: w.Row, Feature: w.Feature, Name: r.Key, Of: r.Function, Unit: r.Unit, Value: r.Value,
		Low: max(0, min(low, high)), High: max(low, high)}
}

type pricingFace struct{ *pricing.Observer }

func newPricingFace(config, _ json.RawMessage) (Face, error) {
	o, err := pricing.OpenObserver(config)
	return pricingFace{o}, err
}

func (o pricingFace) Observe(measured []byte, seen *envs.Observation) (Measured, error) {
	m, err := pricing.ParseMeters(measured)
	if err == nil {
		err = o.Observer.Observe(m, seen)
	}
	return priced{o.Observer, m}, err
}

func (o pricingFace) Example(seen *envs.Observation) any { return o.Observer.Example(seen) }

type priced struct {
	o *pricing.Observer
	m *pricing.Meters
}

func (p priced) Done(act *envs.Action) (any, error) {
	out := make([]pricing.TierPrice, len(p.m.Tiers))
	return out, p.o.Prices(act, out)
}

func (p priced) Place(w Where) Where { return named(w, p.o.Key(w.Feature), p.o.Spec()) }

// named is a number that is seen as it was measured, under a key.
func named(w Where, key string, s *envs.Spec) Where {
	if key == "" {
		return unmeasured(w)
	}
	return Where{Row: w.Row, Feature: w.Feature, Name: key, Unit: s.Kinds[0].FeatureUnits[w.Feature], Value: w.Value,
		Low: max(0, w.Low), High: w.High}
}

type slotsFace struct{ *pricing.SlotObserver }

func newSlotsFace(config, _ json.RawMessage) (Face, error) {
	o, err := pricing.OpenSlotObserver(config)
	return slotsFace{o}, err
}

func (o slotsFace) Observe(measured []byte, seen *envs.Observation) (Measured, error) {
	m, err := pricing.ParseSlotMeters(measured)
	if err == nil {
		err = o.SlotObserver.Observe(m, seen)
	}
	return scheduled{o.SlotObserver, m}, err
}

func (o slotsFace) Example(seen *envs.Observation) any { return o.SlotObserver.Example(seen) }

type scheduled struct {
	o *pricing.SlotObserver
	m *pricing.SlotMeters
}

func (s scheduled) Done(act *envs.Action) (any, error) {
	out := make([]pricing.Switches, s.o.Spec().Kinds[0].Agents)
	return out, s.o.Switches(act, s.m, out)
}

func (s scheduled) Place(w Where) Where { return named(w, s.o.Key(w.Row, w.Feature), s.o.Spec()) }

type placementFace struct{ *placement.Observer }

func newPlacementFace(config, load json.RawMessage) (Face, error) {
	o, err := placement.OpenObserver(config, load)
	return placementFace{o}, err
}

func (o placementFace) Observe(measured []byte, seen *envs.Observation) (Measured, error) {
	c, err := placement.ParseCluster(measured)
	if err == nil {
		err = o.Observer.Observe(c, seen)
	}
	return placed{o.Observer, c, seen}, err
}

func (o placementFace) Example(*envs.Observation) any { return o.Observer.Example() }

type placed struct {
	o    *placement.Observer
	c    *placement.Cluster
	seen *envs.Observation
}

func (p placed) Done(act *envs.Action) (any, error) { return p.o.Start(p.c, p.seen, act) }

func (p placed) Place(w Where) Where {
	if w.Part == "" {
		return w
	}
	name, unit, x := p.o.Reading(p.c, w.Part, w.Row, w.Feature, w.Value, w.Low, w.High)
	return Where{Row: w.Row, Feature: w.Feature, Name: name, Unit: unit, Value: x[0], Low: x[1], High: x[2]}
}
