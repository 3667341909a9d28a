package envs

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

// vectorKind names saved vectors.
const vectorKind = "vector"

// AppendBinary appends the state of all copies: environments, episodes under way and what they see.
func (v *Vector) AppendBinary(b []byte) ([]byte, error) { return state.Append(b, vectorKind, v) }

// UnmarshalBinary restores a state written by AppendBinary of a vector with the same environments, copies and seed.
// What is refused changes nothing.
func (v *Vector) UnmarshalBinary(b []byte) error { return state.Load(b, vectorKind, v) }

// State implements [state.Stater].
func (v *Vector) State(c *state.Codec) {
	seed, copies := v.opts.Seed, len(v.envs)
	state.Value(c, &seed)
	state.Value(c, &copies)
	c.Check(seed == v.opts.Seed, "of seed %d, want %d", seed, v.opts.Seed)
	c.Check(copies == len(v.envs), "%d copies, want %d", copies, len(v.envs))
	state.Fixed(c, v.episodes)
	state.Fixed(c, v.ended)
	for i, e := range v.envs {
		c.Part(v.stats[i])
		state.Member(c, e)
	}
	c.Part(v.Obs)
}

// State implements [state.Stater].
func (b *Batch) State(c *state.Codec) {
	for i := range b.Kinds {
		c.Part(&b.Kinds[i])
	}
}

// State implements [state.Stater].
func (o *Observation) State(c *state.Codec) {
	for i := range o.Kinds {
		c.Part(&o.Kinds[i])
	}
}

// State implements [state.Stater].
func (o *KindObservation) State(c *state.Codec) {
	state.Fixed(c, o.Values)
	state.Fixed(c, o.Active)
	state.Fixed(c, o.Mask)
	state.Fixed(c, o.Legal)
	for _, g := range o.Graphs {
		c.Part(g)
	}
}

// State implements [state.Stater]. Room that the graph does not use is no part of it.
func (g *GraphValue) State(c *state.Codec) {
	for i, k := range g.Space.Nodes {
		n := &g.Nodes[i]
		state.Value(c, &n.Len)
		if n.Len < 0 || n.Len > k.Capacity {
			c.Fail(fmt.Errorf("a graph with %d nodes of kind %q, capacity %d", n.Len, k.Name, k.Capacity))
			return
		}
		state.Fixed(c, n.Features[:n.Len*k.Width])
	}
	for i, k := range g.Space.Edges {
		e := &g.Edges[i]
		state.Value(c, &e.Len)
		if e.Len < 0 || e.Len > k.Capacity {
			c.Fail(fmt.Errorf("a graph with %d edges of kind %q, capacity %d", e.Len, k.Name, k.Capacity))
			return
		}
		state.Fixed(c, e.From[:e.Len])
		state.Fixed(c, e.To[:e.Len])
		state.Fixed(c, e.Features[:e.Len*k.Width])
	}
	if c.Loaded() {
		c.Fail(g.Space.Check(g))
	}
}
