package envs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MaskMaker makes [Kind].MaskAfter for a kind of agents of a decoded spec: it is a function, and so not in the JSON.
type MaskMaker func(s *Spec, kind int) (func(obs *KindObservation, agent int, partial []float32, mask []bool) error, error)

// specJSON is a spec as JSON.
type specJSON struct {
	ID         string     `json:"id"`
	Doc        string     `json:"doc,omitempty"`
	Kinds      []kindJSON `json:"kinds"`
	Step       timingJSON `json:"step"`
	MaxSteps   int        `json:"max_steps,omitempty"`
	Info       []Quantity `json:"info,omitempty"`
	Samples    []Quantity `json:"samples,omitempty"`
	Objective  string     `json:"objective,omitempty"`
	Constraint string     `json:"constraint,omitempty"`
	Levels     []Level    `json:"levels,omitempty"`
}

// timingJSON is a [Timing] as JSON.
type timingJSON struct {
	Unit string `json:"unit"`
	// Microseconds is the length, left out where steps differ.
	Microseconds int64 `json:"microseconds,omitempty"`
}

// kindJSON is a kind of agents as JSON.
type kindJSON struct {
	Name         string    `json:"name"`
	Doc          string    `json:"doc,omitempty"`
	Agents       int       `json:"agents"`
	Names        []string  `json:"names,omitempty"`
	Observation  spaceJSON `json:"observation"`
	Action       spaceJSON `json:"action"`
	Features     []string  `json:"features,omitempty"`
	FeatureUnits []string  `json:"feature_units,omitempty"`
	FeatureDocs  []string  `json:"feature_docs,omitempty"`
	Actions      []string  `json:"actions,omitempty"`
	ActionUnits  []string  `json:"action_units,omitempty"`
	ActionDocs   []string  `json:"action_docs,omitempty"`
	Neighbours   [][]int   `json:"neighbours,omitempty"`
	Next         [][]int   `json:"next,omitempty"`
	Points       []int     `json:"points,omitempty"`
	// Dependent says that the legal choices of a component depend on those before it: [Kind].MaskAfter is set.
	Dependent bool `json:"dependent,omitempty"`
	Legal     int  `json:"legal,omitempty"`
}

// EncodeSpec writes a spec as JSON, from which [DecodeSpec] makes an equal one. Of MaskAfter it says only that it is
// there. A space of a type that this package does not have is an error.
func EncodeSpec(s *Spec) ([]byte, error) {
	out := specJSON{ID: s.ID, Doc: s.Doc, Step: timingJSON{s.Step.Unit, s.Step.Fixed}, MaxSteps: s.MaxSteps, Info: s.Info,
		Samples: s.Samples, Objective: s.Objective, Constraint: s.Constraint, Levels: s.Levels}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		j := kindJSON{Name: k.Name, Doc: k.Doc, Agents: k.Agents, Names: k.Names, Features: k.Features,
			FeatureUnits: k.FeatureUnits, FeatureDocs: k.FeatureDocs, Actions: k.Actions, ActionUnits: k.ActionUnits,
			ActionDocs: k.ActionDocs, Neighbours: k.Neighbours, Next: k.Next, Points: k.Points,
			Dependent: k.MaskAfter != nil, Legal: k.Legal}
		var err error
		if j.Observation, err = encodeSpace(k.Observation); err == nil {
			j.Action, err = encodeSpace(k.Action)
		}
		if err != nil {
			return nil, fmt.Errorf("envs: spec of %s: kinds[%d]: %w", s.ID, i, err)
		}
		out.Kinds = append(out.Kinds, j)
	}
	return json.Marshal(out)
}

// DecodeSpec reads what [EncodeSpec] writes. masks makes the functions of dependent masks; where it is nil a spec that
// has any is an error. The text may come from an untrusted source: unknown keys, sizes that do not fit together, and
// observations of more than 2²⁴ numbers are errors that name the place.
func DecodeSpec(text []byte, masks MaskMaker) (*Spec, error) {
	s, err := decodeSpec(text, masks)
	if err != nil {
		return nil, fmt.Errorf("spec: %w", err)
	}
	return s, nil
}

func decodeSpec(text []byte, masks MaskMaker) (*Spec, error) {
	var in specJSON
	if err := ParseJSON(text, &in); err != nil {
		return nil, err
	}
	s := &Spec{ID: in.ID, Doc: in.Doc, Step: Timing{in.Step.Unit, in.Step.Microseconds}, MaxSteps: in.MaxSteps,
		Info: in.Info, Samples: in.Samples, Objective: in.Objective, Constraint: in.Constraint, Levels: in.Levels}
	if s.ID == "" || len(in.Kinds) == 0 {
		return nil, errors.New("id or kinds is empty, want an environment's id and at least one kind of agents")
	}
	if s.MaxSteps < 0 || s.Step.Fixed < 0 {
		return nil, fmt.Errorf("max_steps is %d and step.microseconds %d, want none below 0", s.MaxSteps, s.Step.Fixed)
	}
	room := maxCells
	for i := range in.Kinds {
		k, err := in.Kinds[i].kind(&room)
		if err != nil {
			return nil, fmt.Errorf("kinds[%d]%w", i, err)
		}
		s.Kinds = append(s.Kinds, k)
	}
	for i := range in.Kinds {
		if !in.Kinds[i].Dependent {
			continue
		}
		if masks == nil {
			return nil, fmt.Errorf("kinds[%d].dependent: legal choices of %s depend on choices before them, and nothing "+
				"here says how", i, s.ID)
		}
		var err error
		if s.Kinds[i].MaskAfter, err = masks(s, i); err != nil {
			return nil, fmt.Errorf("kinds[%d].dependent: %w", i, err)
		}
	}
	return s, nil
}

// kind makes a kind of agents. room is how many cells observations and actions may still take.
func (j *kindJSON) kind(room *int) (Kind, error) {
	k := Kind{Name: j.Name, Doc: j.Doc, Agents: j.Agents, Names: j.Names, Features: j.Features,
		FeatureUnits: j.FeatureUnits, FeatureDocs: j.FeatureDocs, Actions: j.Actions, ActionUnits: j.ActionUnits,
		ActionDocs: j.ActionDocs, Neighbours: j.Neighbours, Next: j.Next, Points: j.Points, Legal: j.Legal}
	if k.Agents < 1 || k.Agents > maxCells {
		return k, fmt.Errorf(".agents is %d, want 1 to %d", k.Agents, maxCells)
	}
	if k.Legal < 0 || k.Legal > maxCells {
		return k, fmt.Errorf(".legal is %d, want 0 to %d", k.Legal, maxCells)
	}
	cells := 1 + k.Legal
	var err error
	if k.Observation, err = j.Observation.space(&cells, true); err != nil {
		return k, fmt.Errorf(".observation%w", err)
	}
	if k.Action, err = j.Action.space(&cells, false); err != nil {
		return k, fmt.Errorf(".action%w", err)
	}
	if *room -= k.Agents * min(cells, maxCells+1); *room < 0 {
		return k, fmt.Errorf(": what is seen and done takes more than %d numbers", maxCells)
	}
	return k, j.fits(&k)
}

// fits checks that lists have an entry for each agent, feature or component, and name agents that there are.
func (j *kindJSON) fits(k *Kind) error {
	seen, done := k.Observation.Width(), k.Action.Width()
	graph, isGraph := k.Observation.(Graph)
	for _, l := range []struct {
		key    string
		has, n int
	}{
		{"names", len(k.Names), k.Agents},
		{"features", len(k.Features), seen}, {"feature_units", len(k.FeatureUnits), seen},
		{"feature_docs", len(k.FeatureDocs), seen},
		{"actions", len(k.Actions), done}, {"action_units", len(k.ActionUnits), done},
		{"action_docs", len(k.ActionDocs), done},
		{"neighbours", len(k.Neighbours), k.Agents}, {"next", len(k.Next), k.Agents},
		{"points", len(k.Points), done},
	} {
		if l.has != l.n && l.has != 0 {
			return fmt.Errorf(".%s has %d entries, want %d", l.key, l.has, l.n)
		}
	}
	for key, lists := range map[string][][]int{"neighbours": k.Neighbours, "next": k.Next} {
		for i, list := range lists {
			if x := slices.IndexFunc(list, func(a int) bool { return a < 0 || a >= k.Agents }); x >= 0 {
				return fmt.Errorf(".%s[%d][%d] is %d, want an agent from 0 to %d", key, i, x, list[x], k.Agents-1)
			}
		}
	}
	choices := Choices(k.Action)
	for c, p := range k.Points {
		switch {
		case p == -1:
		case !isGraph || p < 0 || p >= len(graph.Nodes):
			return fmt.Errorf(".points[%d] is %d, want a kind of nodes of the observed graph, or -1", c, p)
		case choices[c] < graph.Nodes[p].Capacity:
			return fmt.Errorf(".points[%d]: component %d has %d choices, want at least the %d nodes of kind %q", c, c, choices[c],
				graph.Nodes[p].Capacity, graph.Nodes[p].Name)
		}
	}
	return nil
}
