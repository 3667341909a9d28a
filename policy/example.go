package policy

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/stoker-rl/stoker/envs"
)

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
