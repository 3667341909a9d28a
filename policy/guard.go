package policy

import (
	"fmt"
	"math"
	"strconv"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
)

// Reason is why a policy did not decide.
type Reason string

// Reasons.
const (
	// OutOfRange: a feature is beyond the range met in the evaluation by more than half of that range.
	OutOfRange Reason = "out-of-range"
	// NotFinite: a feature is NaN or infinite.
	NotFinite Reason = "not-finite"
	// Stale: the observation is older than Options.MaxAge.
	Stale Reason = "stale"
	// Illegal: the action is not one of its space, or is forbidden by the masks.
	Illegal Reason = "illegal"
	// BeyondMachines: the action needs more than the machines have.
	BeyondMachines Reason = "beyond-machines"
	// Failed: the policy returned an error.
	Failed Reason = "failed"
)

// Reasons are all of them.
func Reasons() []Reason {
	return []Reason{OutOfRange, NotFinite, Stale, Illegal, BeyondMachines, Failed}
}

// Where is the place of a number that gave a reason.
type Where struct {
	// Kind and Part are as in bundle.Seen; of an action Part is "action".
	Kind, Part string
	// Row is the agent, node or edge, Feature the number of the feature or component, Name its name.
	Row, Feature int
	Name         string
	// Of is the name of the agent, such as a function, "" where agents have none. Unit is that of a number in the platform's unit, as
	// [Policy.DecideMeasured] gives them; Kind is then empty.
	Of, Unit string
	// Value is the number; Low and High bound the numbers that the guard accepts.
	Value, Low, High float64
}

// String describes a decision in a line.
func (d Decision) String() string {
	if d.Reason == "" {
		return string(d.By)
	}
	if d.Where == (Where{}) {
		return string(d.Reason)
	}
	w := d.Where
	name := w.Name
	switch {
	case w.Kind == "" && w.Of != "":
		name += " of " + strconv.Quote(w.Of)
	case w.Kind != "":
		place := w.Kind
		if w.Part != "" {
			place += " " + w.Part
		}
		place += fmt.Sprintf(" %d", w.Row)
		if w.Of != "" {
			place += fmt.Sprintf(" %q", w.Of)
		}
		name = place + ": " + name
	}
	// What is seen is in float32: more digits than these would be of the conversion.
	value := fmt.Sprintf("%.6g", w.Value)
	if w.Unit != "" {
		value += " " + w.Unit
	}
	return fmt.Sprintf("%s: %s is %s, want %s", d.Reason, name, value, w.wanted())
}

// wanted says in which range a number should be.
func (w *Where) wanted() string {
	switch low, high := !math.IsInf(w.Low, -1), !math.IsInf(w.High, 1); {
	case low && high:
		return fmt.Sprintf("%.6g to %.6g", w.Low, w.High)
	case low:
		return fmt.Sprintf("at least %.6g", w.Low)
	case high:
		return fmt.Sprintf("at most %.6g", w.High)
	}
	return "a finite number"
}

// guard knows what is within range.
type guard struct {
	kinds []guardedKind
}

// guardedKind are the limits for the agents of a kind, and for the nodes and edges of their graphs.
type guardedKind struct {
	rows         limits
	nodes, edges []limits
}

// newGuard makes the guard of a spec from what was seen. An entry that fits nothing in the spec is an error.
func newGuard(s *envs.Spec, seen []bundle.Seen) (*guard, error) {
	g := &guard{kinds: make([]guardedKind, len(s.Kinds))}
	known := map[[2]string]*limits{}
	for i := range s.Kinds {
		k, to := &s.Kinds[i], &g.kinds[i]
		to.rows.kind, to.rows.names, to.rows.width = k.Name, k.Features, k.Observation.Width()
		to.rows.agents = k.Names
		known[[2]string{k.Name, ""}] = &to.rows
		graph, ok := k.Observation.(envs.Graph)
		if !ok {
			continue
		}
		to.nodes, to.edges = make([]limits, len(graph.Nodes)), make([]limits, len(graph.Edges))
		for j, n := range graph.Nodes {
			l := &to.nodes[j]
			l.kind, l.part, l.width = k.Name, "node."+n.Name, n.Width
			l.names, _, _ = envs.Columns(n.Features)
			known[[2]string{k.Name, l.part}] = l
		}
		for j, e := range graph.Edges {
			l := &to.edges[j]
			l.kind, l.part, l.width = k.Name, "edge."+e.Name, e.Width
			l.names, _, _ = envs.Columns(e.Features)
			known[[2]string{k.Name, l.part}] = l
		}
	}
	for i, from := range seen {
		l := known[[2]string{from.Kind, from.Part}]
		switch {
		case l == nil:
			return nil, fmt.Errorf("[%d]: kind %q, part %q is not in the spec", i, from.Kind, from.Part)
		case l.low != nil:
			return nil, fmt.Errorf("[%d]: kind %q, part %q is there twice", i, from.Kind, from.Part)
		case len(from.Features) != l.width:
			return nil, fmt.Errorf("[%d].features has %d entries, want %d", i, len(from.Features), l.width)
		}
		for j, r := range from.Features {
			if r.Name != "" && len(l.names) > 0 && r.Name != l.names[j] {
				return nil, fmt.Errorf("[%d].features[%d].name is %q, the spec has %q", i, j, r.Name, l.names[j])
			}
		}
		l.set(from.Features)
	}
	return g, nil
}

// look looks at an observation.
func (g *guard) look(seen *envs.Observation) (Reason, Where) {
	for i := range g.kinds {
		k, o := &g.kinds[i], &seen.Kinds[i]
		if reason, where := k.rows.look(o.Values, o.Active); reason != "" {
			return reason, where
		}
		for j, v := range o.Graphs {
			if !o.Active[j] {
				continue
			}
			for n := range k.nodes {
				if reason, where := k.nodes[n].look(v.Nodes[n].Features[:v.Nodes[n].Len*k.nodes[n].width], nil); reason != "" {
					return reason, where
				}
			}
			for e := range k.edges {
				if reason, where := k.edges[e].look(v.Edges[e].Features[:v.Edges[e].Len*k.edges[e].width], nil); reason != "" {
					return reason, where
				}
			}
		}
	}
	return "", Where{}
}

// tame writes to out what is seen, brought back into the range that was met.
func (g *guard) tame(seen, out *envs.Observation) {
	out.CopyFrom(seen)
	for i := range g.kinds {
		k, o := &g.kinds[i], &out.Kinds[i]
		k.rows.tame(o.Values, o.Active)
		for _, v := range o.Graphs {
			for n := range k.nodes {
				k.nodes[n].tame(v.Nodes[n].Features[:v.Nodes[n].Len*k.nodes[n].width], nil)
			}
			for e := range k.edges {
				k.edges[e].tame(v.Edges[e].Features[:v.Edges[e].Len*k.edges[e].width], nil)
			}
		}
	}
}
