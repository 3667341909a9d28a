package envtest

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/envs"
)

// checkObservations checks that observations are in their spaces and in the caller's buffers, that masks leave a legal
// choice, and that the observations of inactive agents are zero.
func checkObservations(c *checker) error {
	var own *envs.Observation
	return c.episodes(func(d *driver, seed uint64) {
		if own == nil {
			own = &envs.Observation{Kinds: slices.Clone(d.obs.Kinds)}
		}
		at := fmt.Sprintf("seed %d, step %d", seed, d.steps)
		for i := range d.spec.Kinds {
			k, o := &d.spec.Kinds[i], &d.obs.Kinds[i]
			if !sameBuffers(o, &own.Kinds[i]) {
				c.report("%s: the observation buffers of kind %q were replaced, want the caller's buffers filled", at, k.Name)
				return
			}
			if c.maskless[i] && slices.Contains(o.Mask, false) {
				c.report("%s: obs.Kinds[%d].Mask: a choice is forbidden, but Reset did not write the mask; write it whole at each "+
					"Reset and Step, or never", at, i)
			}
			for j := range k.Agents {
				if err := checkAgent(k, o, j, c.maskless[i]); err != nil {
					c.report("%s: %s %d: %v", at, k.Name, j, err)
				}
			}
		}
	})
}

// checkAgent checks the observation of one agent; maskless says that its kind's mask is never written.
func checkAgent(k *envs.Kind, o *envs.KindObservation, agent int, maskless bool) error {
	w, m := k.Observation.Width(), k.Action.MaskWidth()
	row, mask := o.Values[agent*w:(agent+1)*w], o.Mask[agent*m:(agent+1)*m]
	if !o.Active[agent] {
		if i := slices.IndexFunc(row, func(x float32) bool { return x != 0 }); i >= 0 {
			return fmt.Errorf("is inactive, but feature %d is %g, want 0", i, row[i])
		}
		if !maskless && slices.Contains(mask, true) {
			return fmt.Errorf("is inactive, but its mask is not all false")
		}
		if table := o.Legal[agent*k.Legal : (agent+1)*k.Legal]; slices.ContainsFunc(table,
			func(x int8) bool { return x != 0 }) {
			return fmt.Errorf("is inactive, but its legality table is not all 0")
		}
		if o.Graphs != nil && size(o.Graphs[agent]) != 0 {
			return fmt.Errorf("is inactive, but its graph has %d nodes and edges", size(o.Graphs[agent]))
		}
		return nil
	}
	g, graph := k.Observation.(envs.Graph)
	if graph {
		if err := g.Check(o.Graphs[agent]); err != nil {
			return err
		}
		if err := finiteGraph(o.Graphs[agent]); err != nil {
			return err
		}
	}
	for c, n := range envs.Choices(k.Action) {
		if n > 0 && !slices.Contains(mask[:n], true) {
			return fmt.Errorf("has no legal choice in component %d of its action", c)
		}
		if to := pointsAt(k, c); to >= 0 {
			nodes := o.Graphs[agent].Nodes[to].Len
			if x := slices.Index(mask[nodes:g.Nodes[to].Capacity], true); x >= 0 {
				return fmt.Errorf("may choose node %d of kind %q in component %d of its action, but its graph has %d", nodes+x,
					g.Nodes[to].Name, c, nodes)
			}
		}
		mask = mask[n:]
	}
	if graph {
		return nil
	}
	if err := k.Observation.Contains(row); err != nil {
		return fmt.Errorf("observation is outside its space: %w", err)
	}
	return nil
}

// pointsAt returns the kind of nodes among which a component chooses, or -1.
func pointsAt(k *envs.Kind, component int) int {
	if len(k.Points) == 0 {
		return -1
	}
	return k.Points[component]
}

func size(g *envs.GraphValue) int {
	n := 0
	for _, s := range g.Nodes {
		n += s.Len
	}
	for _, s := range g.Edges {
		n += s.Len
	}
	return n
}

func finiteGraph(g *envs.GraphValue) error {
	for i, s := range g.Nodes {
		if j := slices.IndexFunc(s.Features[:s.Len*g.Space.Nodes[i].Width], notFinite); j >= 0 {
			return fmt.Errorf("feature %d of nodes of kind %q is %g", j, g.Space.Nodes[i].Name, s.Features[j])
		}
	}
	for i, s := range g.Edges {
		if j := slices.IndexFunc(s.Features[:s.Len*g.Space.Edges[i].Width], notFinite); j >= 0 {
			return fmt.Errorf("feature %d of edges of kind %q is %g", j, g.Space.Edges[i].Name, s.Features[j])
		}
	}
	return nil
}

func notFinite(x float32) bool { return x-x != 0 }

func sameBuffers(a, b *envs.KindObservation) bool {
	return same(a.Values, b.Values) && same(a.Active, b.Active) && same(a.Mask, b.Mask) && same(a.Legal, b.Legal) &&
		same(a.Graphs, b.Graphs) && slices.Equal(a.Graphs, b.Graphs)
}

func same[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// checkOutcomes checks that rewards and infos are finite and of the declared lengths, that inactive agents have reward
// 0, and that the elapsed time is as declared.
func checkOutcomes(c *checker) error {
	var before []bool // which agents were active before the step
	var rewards [][]float32
	var info []float64
	return c.episodes(func(d *driver, seed uint64) {
		defer func() {
			before = before[:0]
			for _, k := range d.obs.Kinds {
				before = append(before, k.Active...)
			}
		}()
		if d.steps == 0 {
			rewards, info = slices.Clone(d.out.Rewards), d.out.Info
			return
		}
		at := fmt.Sprintf("seed %d, step %d", seed, d.steps)
		o, agent := d.out, 0
		if len(o.Rewards) != len(rewards) || !same(o.Info, info) {
			c.report("%s: the outcome's buffers were replaced, want the caller's buffers filled", at)
			return
		}
		for i, k := range d.spec.Kinds {
			if !same(o.Rewards[i], rewards[i]) {
				c.report("%s: the reward buffer of kind %q was replaced, want the caller's buffer filled", at, k.Name)
				return
			}
			for j, r := range o.Rewards[i] {
				switch {
				case notFinite(r):
					c.report("%s: reward of %s %d is %g", at, k.Name, j, r)
				case !before[agent] && r != 0:
					c.report("%s: reward of %s %d is %g, but it was inactive, want 0", at, k.Name, j, r)
				}
				agent++
			}
		}
		for i, x := range o.Info {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				c.report("%s: info %q is %g", at, d.spec.Info[i].Name, x)
			} else if q := &d.spec.Info[i]; !q.Bounds.Contain(x) {
				low, high := q.Bounds.Limits()
				c.report("%s: info %q is %g, outside its bounds %g to %g", at, q.Name, x, low, high)
			}
		}
		switch fixed := d.spec.Step.Fixed; {
		case o.Elapsed < 0:
			c.report("%s: elapsed time is %d µs", at, o.Elapsed)
		case fixed > 0 && o.Elapsed != fixed:
			c.report("%s: elapsed time is %d µs, but the spec says that every step takes %d", at, o.Elapsed, fixed)
		}
	})
}

// checkBuffers checks that what is emitted depends neither on the previous contents of the buffers nor on whether they
// are the same at every call.
func checkBuffers(c *checker) error {
	d, err := c.newDriver()
	if err != nil {
		return err
	}
	for _, seed := range c.Seeds {
		clean, err := d.trace(seed, seed, nil)
		if err != nil {
			return err
		}
		dirty, err := d.trace(seed, seed, func() { c.fillGarbage(d.obs, d.out) })
		if err != nil {
			return fmt.Errorf("with garbage in the buffers: %w", err)
		}
		if i := differ(clean, dirty); i >= 0 {
			c.report("seed %d, step %d: what is emitted depends on the previous contents of the buffers; "+
				"every value must be written", seed, i)
			return nil
		}
		spare := driver{obs: envs.NewObservation(d.spec), act: envs.NewAction(d.spec), out: envs.NewOutcome(d.spec)}
		changing, err := d.trace(seed, seed, func() { d.swap(&spare) })
		if err != nil {
			return fmt.Errorf("with different buffers at every call: %w", err)
		}
		if i := differ(clean, changing); i >= 0 {
			c.report("seed %d, step %d: what is emitted depends on whether the buffers are the same at every call; "+
				"do not keep them", seed, i)
			return nil
		}
	}
	return nil
}

// swap exchanges the buffers with those of the other driver. The observation and the outcome are not copied: a caller
// may still use them, so the environment must not write to them. The action just chosen moves to the new buffer.
func (d *driver) swap(o *driver) {
	for i := range d.act.Kinds {
		copy(o.act.Kinds[i], d.act.Kinds[i])
		fill(d.act.Kinds[i], float32(math.NaN()))
	}
	d.obs, o.obs, d.act, o.act, d.out, o.out = o.obs, d.obs, o.act, d.act, o.out, d.out
}

// fillGarbage fills buffers with values that no environment emits. Masks that are never written stay all true.
func (c *checker) fillGarbage(o *envs.Observation, out *envs.Outcome) {
	nan := float32(math.NaN())
	for kind, k := range o.Kinds {
		fill(k.Values, nan)
		for i := range k.Active {
			k.Active[i] = !k.Active[i]
		}
		for i := range k.Mask {
			k.Mask[i] = c.maskless[kind] || !k.Mask[i]
		}
		fill(k.Legal, -1)
		for _, g := range k.Graphs {
			for i := range g.Nodes {
				g.Nodes[i].Len = g.Space.Nodes[i].Capacity
				fill(g.Nodes[i].Features, nan)
			}
			for i := range g.Edges {
				g.Edges[i].Len = g.Space.Edges[i].Capacity
				fill(g.Edges[i].Features, nan)
				fill(g.Edges[i].From, -1)
				fill(g.Edges[i].To, -1)
			}
		}
	}
	for _, r := range out.Rewards {
		fill(r, nan)
	}
	fill(out.Info, math.NaN())
	out.Terminated, out.Truncated, out.Elapsed = true, true, -1
}

func fill[T any](s []T, x T) {
	for i := range s {
		s[i] = x
	}
}
