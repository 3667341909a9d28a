package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/checkpoints/bundle"
	"github.com/stoker-rl/stoker/envs"
)

// Record writes an observation and the action that came out of it as a self-test. All is copied.
func Record(seen *envs.Observation, act *envs.Action) bundle.Vector {
	var v bundle.Vector
	for i := range seen.Kinds {
		o := &seen.Kinds[i]
		k := bundle.KindVector{Values: slices.Clone(o.Values), Active: slices.Clone(o.Active), Legal: slices.Clone(o.Legal),
			Action: slices.Clone(act.Kinds[i])}
		if slices.Contains(o.Mask, false) {
			k.Mask = slices.Clone(o.Mask)
		}
		for _, g := range o.Graphs {
			var to bundle.GraphVector
			for j, n := range g.Nodes {
				to.Nodes = append(to.Nodes, bundle.NodeVector{Count: n.Len,
					Features: slices.Clone(n.Features[:n.Len*g.Space.Nodes[j].Width])})
			}
			for j, e := range g.Edges {
				to.Edges = append(to.Edges, bundle.EdgeVector{From: slices.Clone(e.From[:e.Len]), To: slices.Clone(e.To[:e.Len]),
					Features: slices.Clone(e.Features[:e.Len*g.Space.Edges[j].Width])})
			}
			k.Graphs = append(k.Graphs, to)
		}
		v.Kinds = append(v.Kinds, k)
	}
	return v
}

// Show writes a self-test's observation into seen. One of another shape is an error that names the place.
func Show(v *bundle.Vector, seen *envs.Observation) error {
	if len(v.Kinds) != len(seen.Kinds) {
		return fmt.Errorf("has %d kinds of agents, want %d", len(v.Kinds), len(seen.Kinds))
	}
	for i := range v.Kinds {
		if err := showKind(&v.Kinds[i], &seen.Kinds[i]); err != nil {
			return fmt.Errorf("kinds[%d].%w", i, err)
		}
	}
	return nil
}

func showKind(k *bundle.KindVector, o *envs.KindObservation) error {
	for j := range o.Mask {
		o.Mask[j] = true
	}
	for _, c := range []struct {
		key       string
		got, want int
	}{
		{"values", len(k.Values), len(o.Values)}, {"active", len(k.Active), len(o.Active)},
		{"legal", len(k.Legal), len(o.Legal)}, {"graphs", len(k.Graphs), len(o.Graphs)},
	} {
		if c.got != c.want {
			return fmt.Errorf("%s has %d entries, want %d", c.key, c.got, c.want)
		}
	}
	if len(k.Mask) != 0 && len(k.Mask) != len(o.Mask) {
		return fmt.Errorf("mask has %d entries, want %d or none", len(k.Mask), len(o.Mask))
	}
	copy(o.Values, k.Values)
	copy(o.Active, k.Active)
	copy(o.Legal, k.Legal)
	copy(o.Mask, k.Mask)
	for j := range k.Graphs {
		if err := showGraph(&k.Graphs[j], o.Graphs[j]); err != nil {
			return fmt.Errorf("graphs[%d].%w", j, err)
		}
	}
	return nil
}

func showGraph(from *bundle.GraphVector, g *envs.GraphValue) error {
	if len(from.Nodes) != len(g.Nodes) || len(from.Edges) != len(g.Edges) {
		return fmt.Errorf("nodes has %d kinds and edges %d, want %d and %d", len(from.Nodes), len(from.Edges), len(g.Nodes),
			len(g.Edges))
	}
	for i, n := range from.Nodes {
		s := g.Space.Nodes[i]
		if n.Count < 0 || n.Count > s.Capacity || len(n.Features) != n.Count*s.Width {
			return fmt.Errorf("nodes[%d] has %d nodes and %d numbers, want at most %d nodes of %d", i, n.Count, len(n.Features),
				s.Capacity, s.Width)
		}
		g.Nodes[i].Len = n.Count
		copy(g.Nodes[i].Features, n.Features)
	}
	for i, e := range from.Edges {
		s := g.Space.Edges[i]
		if n := len(e.From); n > s.Capacity || len(e.To) != n || len(e.Features) != n*s.Width {
			return fmt.Errorf("edges[%d] has %d starts, %d ends and %d numbers, want at most %d edges of %d", i, n, len(e.To),
				len(e.Features), s.Capacity, s.Width)
		}
		g.Edges[i].Len = len(e.From)
		copy(g.Edges[i].From, e.From)
		copy(g.Edges[i].To, e.To)
		copy(g.Edges[i].Features, e.Features)
	}
	return g.Space.Check(g)
}

// tolerance is how far a component of a self-test's action may be from the recorded one, relative to 1 or to its size:
// families of kernels round differently.
const tolerance = 1e-4

// selfTest shows the bundle's self-test to a policy made for it.
func (p *Policy) selfTest() error {
	w, err := p.newWorker()
	if err != nil {
		return err
	}
	learned := w.policy
	if learned == nil {
		if learned, err = p.newLearned(); err != nil {
			return err
		}
	}
	for i := range p.file.SelfTest {
		v := &p.file.SelfTest[i]
		if err := p.testVector(v, learned, w); err != nil {
			return fmt.Errorf("stoker.selftest: [%d]: %w", i, err)
		}
	}
	if p.rule != nil && p.rule.State { // a rule that cannot be made is found now
		if _, err := p.newRule(); err != nil {
			return err
		}
	}
	// The worker is ready for the first decision.
	<-p.free
	p.free <- w
	return nil
}

func (p *Policy) testVector(v *bundle.Vector, learned envs.Policy, w *worker) error {
	if err := Show(v, &w.seen); err != nil {
		return err
	}
	if err := p.checkSeen(&w.seen); err != nil {
		return err
	}
	if err := learned.Act(&w.seen, &w.other, true); err != nil {
		return err
	}
	for k := range v.Kinds {
		got, want := w.other.Kinds[k], v.Kinds[k].Action
		if len(got) != len(want) {
			return fmt.Errorf("kinds[%d].action has %d numbers, want %d", k, len(want), len(got))
		}
		for i := range got {
			if !(math.Abs(float64(got[i]-want[i])) <= tolerance*max(1, math.Abs(float64(want[i])))) {
				return fmt.Errorf("kinds[%d].action[%d]: the policy gives %g, recorded is %g: it is not the policy that was "+
					"exported",
					k, i, got[i], want[i])
			}
		}
	}
	return nil
}
