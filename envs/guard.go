package envs

import (
	"fmt"
	"slices"
)

// Guard refuses what an environment must not emit: buffers of a wrong size or in place of the caller's, numbers that
// are not finite, and an active agent without a legal choice. [Vector] and the runner of episodes ask it after each
// Reset and Step, so that every learner and every policy refuses the same environments in the same words. Package
// envtest checks the whole contract. A guard allocates only for errors.
type Guard struct {
	spec  *Spec
	kinds []guarded
}

// guarded is what a guard knows of a kind: how many entries each agent has in each buffer.
type guarded struct {
	*Kind
	values, mask, graphs int
	choices              []int // of each component of an action
}

// NewGuard returns a guard of what environments of a spec emit.
func NewGuard(s *Spec) *Guard {
	g := &Guard{spec: s, kinds: make([]guarded, len(s.Kinds))}
	for i := range s.Kinds {
		k := &s.Kinds[i]
		g.kinds[i] = guarded{Kind: k, values: k.Observation.Width(), mask: k.Action.MaskWidth(), choices: Choices(k.Action)}
		if _, ok := k.Observation.(Graph); ok {
			g.kinds[i].graphs = 1
		}
	}
	return g
}

// Observation returns an error that names the field of obs that breaks the contract.
func (g *Guard) Observation(obs *Observation) error {
	if len(obs.Kinds) != len(g.spec.Kinds) {
		return fmt.Errorf("%s: obs.Kinds: has %d kinds of agents, want %d", g.spec.ID, len(obs.Kinds), len(g.spec.Kinds))
	}
	for i := range obs.Kinds {
		k, o, own := &g.kinds[i], &obs.Kinds[i], &obs.Kinds[i]
		if obs.own != nil {
			own = &obs.own[i]
		}
		err := k.checkBuffers(o, own)
		if err == nil {
			err = k.checkFinite(o)
		}
		if err == nil {
			err = k.checkMask(o)
		}
		if err != nil {
			return fmt.Errorf("%s: obs.Kinds[%d]%w", g.spec.ID, i, err)
		}
	}
	return nil
}

// Outcome returns an error that names the field of out that breaks the contract.
func (g *Guard) Outcome(out *Outcome) error {
	if len(out.Rewards) != len(g.spec.Kinds) {
		return fmt.Errorf("%s: out.Rewards: has %d kinds of agents, want %d", g.spec.ID, len(out.Rewards),
			len(g.spec.Kinds))
	}
	for i, r := range out.Rewards {
		k, own := &g.spec.Kinds[i], r
		if out.ownRewards != nil {
			own = out.ownRewards[i]
		}
		if !same(r, own, k.Agents) {
			return fmt.Errorf("%s: out.Rewards[%d] %w", g.spec.ID, i, checkBuffer(r, own, k.Agents, 1))
		}
		if j := NotFinite(r); j >= 0 {
			return fmt.Errorf("%s: out.Rewards[%d][%d]: reward of %s %d is %g, want a finite number", g.spec.ID, i, j,
				k.Name, j, r[j])
		}
	}
	own := out.Info
	if out.ownInfo != nil {
		own = out.ownInfo
	}
	if n := len(g.spec.Info); !same(out.Info, own, n) {
		return fmt.Errorf("%s: out.Info %w", g.spec.ID, checkBuffer(out.Info, own, n, 1))
	}
	return nil
}

// checkBuffers checks that the buffers have the right sizes and are those that the caller gave, own.
func (k *guarded) checkBuffers(o, own *KindObservation) error {
	if n := k.Agents; same(o.Values, own.Values, n*k.values) && same(o.Active, own.Active, n) && same(o.Mask, own.Mask, n*k.mask) &&
		same(o.Legal, own.Legal, n*k.Legal) && same(o.Graphs, own.Graphs, n*k.graphs) {
		return nil
	}
	if err := checkBuffer(o.Values, own.Values, k.Agents, k.values); err != nil {
		return fmt.Errorf(".Values %w", err)
	}
	if err := checkBuffer(o.Active, own.Active, k.Agents, 1); err != nil {
		return fmt.Errorf(".Active %w", err)
	}
	if err := checkBuffer(o.Mask, own.Mask, k.Agents, k.mask); err != nil {
		return fmt.Errorf(".Mask %w; where all choices are legal leave it as it is", err)
	}
	if err := checkBuffer(o.Legal, own.Legal, k.Agents, k.Legal); err != nil {
		return fmt.Errorf(".Legal %w", err)
	}
	if err := checkBuffer(o.Graphs, own.Graphs, k.Agents, k.graphs); err != nil {
		return fmt.Errorf(".Graphs %w", err)
	}
	return nil
}

// same reports whether b is the caller's buffer, of n entries. It is what [checkBuffer] finds, in fewer steps.
func same[T any](b, own []T, n int) bool {
	return len(b) == n && (n == 0 || len(own) == n && &b[0] == &own[0])
}

// checkBuffer checks one buffer of width entries for each agent.
func checkBuffer[T any](b, own []T, agents, width int) error {
	switch {
	case len(b) != agents*width && width == 1:
		return fmt.Errorf("has %d entries, want %d", len(b), agents)
	case len(b) != agents*width:
		return fmt.Errorf("has %d entries, want %d: %d for each of %d agents", len(b), agents*width, width, agents)
	case len(b) > 0 && (len(own) != len(b) || &b[0] != &own[0]):
		return fmt.Errorf("is another slice than the caller gave: write into that one, as copy does")
	}
	return nil
}

// checkFinite checks that all that is observed is finite.
func (k *guarded) checkFinite(o *KindObservation) error {
	if at := NotFinite(o.Values); at >= 0 {
		w := k.values
		name := ""
		if len(k.Features) == w {
			name = " (" + k.Features[at%w] + ")"
		}
		return fmt.Errorf(".Values[%d]: feature %d%s of %s %d is %g, want a finite number", at, at%w, name, k.Name, at/w,
			o.Values[at])
	}
	for j, g := range o.Graphs {
		if err := checkGraph(g); err != nil {
			return fmt.Errorf(".Graphs[%d]%w", j, err)
		}
	}
	return nil
}

// checkGraph checks that a graph is one of its space and that its features are finite.
func checkGraph(g *GraphValue) error {
	if err := g.Space.Check(g); err != nil {
		return fmt.Errorf(": %w", err)
	}
	for i, k := range g.Space.Nodes {
		if at := NotFinite(g.Nodes[i].Features[:g.Nodes[i].Len*k.Width]); at >= 0 {
			return fmt.Errorf(".Nodes[%d].Features[%d]: feature %d of %s %d is %g, want a finite number", i, at, at%k.Width,
				k.Name, at/k.Width, g.Nodes[i].Features[at])
		}
	}
	for i, k := range g.Space.Edges {
		if at := NotFinite(g.Edges[i].Features[:g.Edges[i].Len*k.Width]); at >= 0 {
			return fmt.Errorf(".Edges[%d].Features[%d]: feature %d of edge %d (%s) is %g, want a finite number", i, at,
				at%k.Width, at/k.Width, k.Name, g.Edges[i].Features[at])
		}
	}
	return nil
}

// checkMask checks that every active agent has a legal choice in each component, and that no node is legal that is not
// there.
func (k *guarded) checkMask(o *KindObservation) error {
	if k.mask == 0 {
		return nil
	}
	for j, active := range o.Active {
		if !active {
			continue
		}
		row := o.Mask[j*k.mask : (j+1)*k.mask]
		for c, n := range k.choices {
			if n > 0 && !slices.Contains(row[:n], true) {
				return fmt.Errorf(".Mask: %s %d is active and has no legal choice in component %d of its action%s; allow at "+
					"least one of its %d choices, or leave the mask as it is where all are legal", k.Name, j, c, k.actionName(c), n)
			}
			if k.MaskAfter == nil && len(k.Points) > 0 && k.Points[c] >= 0 {
				nodes := o.Graphs[j].Nodes[k.Points[c]].Len
				space := o.Graphs[j].Space.Nodes[k.Points[c]]
				if x := slices.Index(row[nodes:space.Capacity], true); x >= 0 {
					return fmt.Errorf(".Mask: %s %d may choose node %d in component %d of its action%s, but its graph has %d "+
						"nodes of kind %q; forbid those that are not there", k.Name, j, nodes+x, c, k.actionName(c), nodes, space.Name)
				}
			}
			row = row[n:]
		}
	}
	return nil
}

// actionName is a component's name in brackets, where it has one.
func (k *Kind) actionName(component int) string {
	if component >= len(k.Actions) {
		return ""
	}
	return " (" + k.Actions[component] + ")"
}

// NotFinite returns the index of the first number that is not finite, -1 where all are. A sum is finite where all its
// terms are, unless they are huge; eight sums at a time keep the processor busy.
func NotFinite(x []float32) int {
	if len(x) < 8 {
		return slices.IndexFunc(x, func(y float32) bool { return y-y != 0 })
	}
	var a, b, c, d, e, f, g, h float32
	rest := x
	for ; len(rest) >= 8; rest = rest[8:] {
		a, b, c, d = a+rest[0], b+rest[1], c+rest[2], d+rest[3]
		e, f, g, h = e+rest[4], f+rest[5], g+rest[6], h+rest[7]
	}
	for _, y := range rest {
		a += y
	}
	if s := ((a + b) + (c + d)) + ((e + f) + (g + h)); s-s == 0 {
		return -1
	}
	return slices.IndexFunc(x, func(y float32) bool { return y-y != 0 })
}
