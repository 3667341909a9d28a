package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/envs/placement"
	"github.com/stoker-rl/stoker/envs/pricing"
	"github.com/stoker-rl/stoker/envs/sizing"
)

// ErrNoFace marks errors of a policy whose environment has no observer that this program can make.
var ErrNoFace = errors.New("measurements cannot be observed")

// Face is how a platform's measurements meet a policy. It may be used by several goroutines at once.
type Face interface {
	// Observe reads measurements from JSON and writes what the agents see of them.
	Observe(measured []byte, seen *envs.Observation) (Measured, error)
	// Example is measurements, to be written as JSON, that are observed about as seen is. The fields of its type may have
	// tags unit.
	Example(seen *envs.Observation) any
}

// Measured is measurements that were observed.
type Measured interface {
	// Done is what an action does on the platform, to be written as JSON.
	Done(act *envs.Action) (any, error)
	// Place says of a number that is seen which measurement it is made from, and gives it and its bounds in the platform's
	// unit; where there is no such measurement, the number stays, with the name of whom it is of.
	Place(w Where) Where
}

// buffers are those of one decision on measurements.
type buffers struct {
	seen *envs.Observation
	out  *envs.Action
}

// DecideMeasured is DecideFor on what a platform measured: the JSON of sizing.Meters, pricing.Meters,
// pricing.SlotMeters or placement.Cluster. It returns what is done, to be written as JSON: a list of [Sized], of
// pricing.TierPrice or of pricing.Switches, or a placement.Start. Seen, Out and Shadow of the request are not read.
// What is wrong with the JSON is [ErrInput].
func (p *Policy) DecideMeasured(ctx context.Context, measured []byte, r Request) (d Decision, done any, err error) {
	face, err := p.face()
	if err != nil {
		return d, nil, fmt.Errorf("policy: %w: %w", ErrNoFace, err)
	}
	b, ok := p.buffers.Get().(*buffers)
	if !ok {
		b = &buffers{p.NewObservation(), p.NewAction()}
	}
	defer p.buffers.Put(b)
	m, err := face.Observe(measured, b.seen)
	if err != nil {
		p.counts.refused.Add(1)
		return d, nil, fmt.Errorf("policy: %w: %w", ErrInput, err)
	}
	r.Seen, r.Out, r.Shadow = b.seen, b.out, nil
	d, err = p.DecideFor(ctx, r)
	if d.Where.Kind != "" && d.Where.Part != "action" {
		d.Where = m.Place(d.Where)
	}
	switch {
	case errors.Is(err, ErrGuarded) && (d.Reason == OutOfRange || d.Reason == NotFinite):
		return d, nil, guarded(d, nil) // with the place of now
	case err != nil:
		return d, nil, err
	}
	if done, err = m.Done(b.out); err != nil {
		return d, nil, fmt.Errorf("policy: %w", err)
	}
	return d, done, nil
}

// newFace makes the face of the bundle's environment.
func (p *Policy) newFace() (Face, error) {
	if p.row == nil || p.row.Face == nil {
		return nil, fmt.Errorf("there is no observer for %s", p.spec.ID)
	}
	return p.row.Face(p.file.Environment.Config, p.file.Environment.Workload)
}

// Sized is what is done for one function of a workflow.
type Sized struct {
	// Function is its name; where workflows are side by side, with its workflow's.
	Function string `json:"function"`
	sizing.Settings
}

// unmeasured is a number of the configuration, or one that several measurements make.
func unmeasured(w Where) Where {
	w.Name += ", which no single key gives,"
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
	} else if wrong, ok := errors.AsType[*envs.KeyError](err); ok {
		err = o.of(wrong.Key, err)
	}
	return sized{o.Observer, m}, err
}

// of says of which function an error is, where its key is one's, as in functions[1].p95 or [0].functions[1].p95.
func (o sizingFace) of(key string, err error) error {
	flow, function := 0, 0
	if _, no := fmt.Sscanf(key, "functions[%d]", &function); no != nil {
		if _, no = fmt.Sscanf(key, "[%d].functions[%d]", &flow, &function); no != nil {
			return err
		}
	}
	if flow >= o.Workflows() || function >= len(o.Functions(flow)) {
		return err
	}
	return fmt.Errorf("%w, of %q", err, o.Functions(flow)[function])
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

func (p priced) Place(w Where) Where {
	of, scale := p.o.Shares(p.m, w.Feature)
	if scale == 0 {
		return unmeasured(w)
	}
	r := w
	r.Feature, r.Value, r.Low, r.High = of, w.Value*scale, w.Low*scale, w.High*scale
	return named(r, p.o.Key(of), p.o.Spec())
}

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

// Example is what there is to measure for a policy.
type Example struct {
	// Body is measurements that [Policy.DecideMeasured] takes as they are: about those of an observation of the bundle's
	// evaluation.
	Body json.RawMessage
	// Units are all keys of such measurements, with their units.
	Units []envs.Unit
	// Readings are the numbers of Body that the guard bounds.
	Readings []Reading
}

// Reading is a number of an example, and the range that the guard takes where all other numbers are the example's.
type Reading struct {
	// Key is the number's in Body, Of the name of the function that it is of.
	Key   string  `json:"key"`
	Of    string  `json:"of,omitempty"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
	// Low and High are the range; nil is no bound.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
}

// Example returns measurements to begin with. Policies whose environment has no observer give an error that is
// [ErrNoFace].
func (p *Policy) Example() (*Example, error) {
	face, err := p.face()
	if err != nil {
		return nil, fmt.Errorf("policy: %w: %w", ErrNoFace, err)
	}
	g, err := newGuard(p.spec, p.file.Seen)
	if err != nil {
		return nil, fmt.Errorf("policy: stoker.seen: %w", err)
	}
	seen, all := p.NewObservation(), p.file.SelfTest
	for i := 0; ; i++ {
		if len(all) > 0 {
			err = Show(&all[(len(all)/2+i)%len(all)], seen)
		} else {
			p.usual(seen)
		}
		if err != nil {
			return nil, fmt.Errorf("policy: stoker.selftest: %w", err)
		}
		out, m, err := exampleOf(face, seen)
		if err != nil {
			return nil, err
		}
		// Rounding may leave the range that the guard takes: then another observation is tried.
		if reason, _ := g.look(seen); reason == "" || i+1 >= len(all) {
			out.Readings = g.readings(m, seen)
			return out, nil
		}
	}
}

// exampleOf makes an example of what is seen, and leaves in seen what is observed of it.
func exampleOf(face Face, seen *envs.Observation) (*Example, Measured, error) {
	v := face.Example(seen)
	body, err := json.Marshal(v)
	if err != nil {
		return nil, nil, fmt.Errorf("policy: the bundle's observations are of no measurements: %w", err)
	}
	m, err := face.Observe(body, seen)
	if err != nil {
		return nil, nil, fmt.Errorf("policy: the bundle's observations are of no measurements: %w", err)
	}
	return &Example{Body: body, Units: envs.Units(reflect.TypeOf(v))}, m, nil
}

// usual writes the median of every feature.
func (p *Policy) usual(out *envs.Observation) {
	for i := range p.spec.Kinds {
		k, o := &p.spec.Kinds[i], &out.Kinds[i]
		for _, s := range p.file.Seen {
			if w := k.Observation.Width(); s.Kind == k.Name && s.Part == "" && len(s.Features) == w {
				for at := range o.Values {
					o.Values[at] = float32(s.Features[at%w].Median)
				}
			}
		}
	}
}

// readings lists what the guard bounds of measurements that were observed as seen.
func (g *guard) readings(m Measured, seen *envs.Observation) []Reading {
	var out []Reading
	at := map[string]int{} // by key
	add := func(l *limits, rows []float32) {
		for i := range rows {
			if l.low == nil {
				return
			}
			w := m.Place(l.where(rows, i))
			if w.Kind != "" || math.IsInf(w.Value, 0) { // it is of no single measurement
				continue
			}
			if _, ok := at[w.Name]; !ok {
				at[w.Name] = len(out)
				out = append(out, Reading{Key: w.Name, Of: w.Of, Unit: w.Unit, Value: digits(w.Value)})
			}
			out[at[w.Name]].within(w.Low, w.High)
		}
	}
	for i := range g.kinds {
		k, o := &g.kinds[i], &seen.Kinds[i]
		add(&k.rows, o.Values)
		for _, v := range o.Graphs {
			for n := range k.nodes {
				add(&k.nodes[n], v.Nodes[n].Features[:v.Nodes[n].Len*k.nodes[n].width])
			}
		}
	}
	return out
}

// within takes bounds in: several features may be made of one reading.
func (r *Reading) within(low, high float64) {
	low, high = digits(low), digits(high)
	if !math.IsInf(low, 0) && (r.Low == nil || low > *r.Low) {
		r.Low = &low
	}
	if !math.IsInf(high, 0) && (r.High == nil || high < *r.High) {
		r.High = &high
	}
}

// digits is x with six digits, as many as a float32 has.
func digits(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 6, 64), 64) // what is written is read
	return y
}
