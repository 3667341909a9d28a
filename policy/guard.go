package policy

import (
	"fmt"
	"math"

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
	// Value is what it is; Low and High are what is taken.
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
	place := w.Kind
	if w.Part != "" {
		place += " " + w.Part
	}
	return fmt.Sprintf("%s: %s %d: %s is %g, want %g to %g", d.Reason, place, w.Row, w.Name, w.Value, w.Low, w.High)
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

// limits are the limits of the features of one kind of rows. They are empty where nothing is known: then only numbers
// that are not finite are refused.
type limits struct {
	kind, part string
	names      []string
	width      int
	low, high  []float32 // what is taken
	usual      []bundle.Range
	drift      []drifting
}

// newGuard makes the guard of a spec from what was seen. An entry that fits nothing in the spec is an error.
func newGuard(s *envs.Spec, seen []bundle.Seen) (*guard, error) {
	g := &guard{kinds: make([]guardedKind, len(s.Kinds))}
	known := map[[2]string]*limits{}
	for i := range s.Kinds {
		k, to := &s.Kinds[i], &g.kinds[i]
		to.rows = limits{kind: k.Name, names: k.Features, width: k.Observation.Width()}
		known[[2]string{k.Name, ""}] = &to.rows
		graph, ok := k.Observation.(envs.Graph)
		if !ok {
			continue
		}
		to.nodes, to.edges = make([]limits, len(graph.Nodes)), make([]limits, len(graph.Edges))
		for j, n := range graph.Nodes {
			names, _, _ := envs.Columns(n.Features)
			to.nodes[j] = limits{kind: k.Name, part: "node." + n.Name, names: names, width: n.Width}
			known[[2]string{k.Name, "node." + n.Name}] = &to.nodes[j]
		}
		for j, e := range graph.Edges {
			names, _, _ := envs.Columns(e.Features)
			to.edges[j] = limits{kind: k.Name, part: "edge." + e.Name, names: names, width: e.Width}
			known[[2]string{k.Name, "edge." + e.Name}] = &to.edges[j]
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
		l.set(from.Features)
	}
	return g, nil
}

// set takes ranges: a feature may leave its range by half of it.
func (l *limits) set(ranges []bundle.Range) {
	l.usual, l.drift = ranges, make([]drifting, len(ranges))
	for _, r := range ranges {
		// Rounding to float32 must not make a constant feature leave its range.
		slack := float64(0.5*(r.Greatest-r.Least)) + 1e-6*max(math.Abs(r.Least), math.Abs(r.Greatest))
		l.low = append(l.low, float32(r.Least-slack))
		l.high = append(l.high, float32(r.Greatest+slack))
	}
}

// look looks at rows, and says which number must not be seen.
func (l *limits) look(rows []float32, active []bool) (Reason, Where) {
	if l.low == nil {
		if i := envs.NotFinite(rows); i >= 0 {
			return NotFinite, l.where(rows, i)
		}
		return "", Where{}
	}
	n := l.width
	for i := range len(rows) / max(1, n) {
		if active != nil && !active[i] {
			continue
		}
		row := rows[i*n : (i+1)*n]
		for j, x := range row {
			if x >= l.low[j] && x <= l.high[j] {
				continue
			}
			if x-x != 0 {
				return NotFinite, l.where(rows, i*n+j)
			}
			return OutOfRange, l.where(rows, i*n+j)
		}
	}
	return "", Where{}
}

// where describes a number of some rows.
func (l *limits) where(rows []float32, at int) Where {
	w := Where{Kind: l.kind, Part: l.part, Row: at / l.width, Feature: at % l.width, Value: float64(rows[at]),
		Low: math.Inf(-1), High: math.Inf(1)}
	if w.Name = "feature"; len(l.names) > 0 {
		w.Name = l.names[w.Feature]
	}
	if l.low != nil {
		w.Low, w.High = float64(l.low[w.Feature]), float64(l.high[w.Feature])
	}
	return w
}

// tame brings numbers back into the range that was met, and replaces those that are not finite by the median.
func (l *limits) tame(rows []float32) {
	for i, x := range rows {
		if l.low == nil {
			if x-x != 0 {
				rows[i] = 0
			}
			continue
		}
		r := &l.usual[i%l.width]
		if x-x != 0 {
			rows[i] = float32(r.Median)
		} else {
			rows[i] = min(max(x, float32(r.Least)), float32(r.Greatest))
		}
	}
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
		k.rows.tame(o.Values)
		for _, v := range o.Graphs {
			for n := range k.nodes {
				k.nodes[n].tame(v.Nodes[n].Features[:v.Nodes[n].Len*k.nodes[n].width])
			}
			for e := range k.edges {
				k.edges[e].tame(v.Edges[e].Features[:v.Edges[e].Len*k.edges[e].width])
			}
		}
	}
}
