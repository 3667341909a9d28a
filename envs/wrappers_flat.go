package envs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-rl/stoker/envs/state"
)

// maxFlat bounds the joint choices of [Flatten].
const maxFlat = 1 << 16

// Flatten is an environment with graphs shown as vectors, and several choices joined into one, for learners that support
// neither graphs nor several choices. [Flattener] says how.
type Flatten struct {
	wrapped
	flat *Flattener
	obs  *Observation
	act  *Action
}

// NewFlatten wraps an environment whose one agent sees graphs and chooses, and names it: other spaces are another
// environment.
func NewFlatten(e Env, id string) (*Flatten, error) {
	flat, err := NewFlattener(e.Spec(), id)
	if err != nil {
		return nil, err
	}
	f := &Flatten{flat: flat, obs: NewObservation(e.Spec()), act: NewAction(e.Spec())}
	f.wrapped = wrap(e, f)
	f.spec = flat.spec
	return f, nil
}

// Reset implements [Env].
func (f *Flatten) Reset(seed uint64, options Options, obs *Observation) error {
	if err := f.Env.Reset(seed, options, f.obs); err != nil {
		return err
	}
	return f.flat.Observe(f.obs, obs)
}

// Step implements [Env].
func (f *Flatten) Step(act *Action, obs *Observation, out *Outcome) error {
	if err := f.flat.Choices(act, f.act); err != nil {
		return err
	}
	if err := f.Env.Step(f.act, f.obs, out); err != nil {
		return err
	}
	return f.flat.Observe(f.obs, obs)
}

// State implements [state.Stater].
func (f *Flatten) State(c *state.Codec) { state.Member(c, f.Env) }

// Flattener shows a graph as a vector and joins several choices into one. The vector has, for each kind of node in
// order, Capacity rows of a 1 and the node's features, or of zeros where there is no node; edges are left out. A joint
// choice is a tuple of the components' choices, the last component changing fastest. The mask allows the tuples that the
// masks inside allow. It is used by one goroutine at a time.
type Flattener struct {
	inner, spec *Spec
	graph       Graph
	n           []int  // choices by component
	mask        []bool // of one component
	path        []float32
}

// NewFlattener flattens what the one agent of a spec sees and does; id is the name of the spec that comes out.
func NewFlattener(inner *Spec, id string) (*Flattener, error) {
	if inner.Agents() != 1 {
		return nil, fmt.Errorf("envs: %s has %d agents, want one to flatten", inner.ID, inner.Agents())
	}
	s := *inner
	s.ID, s.Kinds = id, slices.Clone(inner.Kinds)
	f := &Flattener{inner: inner, spec: &s}
	k := &s.Kinds[0]
	var ok bool
	if f.graph, ok = k.Observation.(Graph); !ok {
		return nil, fmt.Errorf("envs: %s: %s see %v, want graphs to flatten", inner.ID, k.Name, k.Observation)
	}
	f.n = Choices(k.Action)
	joint, most := 1, 0
	for _, n := range f.n {
		if joint *= n; joint < 1 || joint > maxFlat {
			return nil, fmt.Errorf("envs: %s: actions of %s are %v, want choices, at most %d of them together", inner.ID,
				k.Name, k.Action, maxFlat)
		}
		most = max(most, n)
	}
	f.mask, f.path = make([]bool, len(f.n)*most), make([]float32, len(f.n))
	width := 0
	k.Doc = f.doc(k)
	k.Features, k.FeatureUnits, k.FeatureDocs = nil, nil, nil
	for _, n := range f.graph.Nodes {
		width += n.Capacity * (1 + n.Width)
	}
	k.Observation, k.Action, k.Points, k.MaskAfter = Unbounded(width), Discrete{N: joint}, nil, nil
	k.Actions, k.ActionUnits, k.ActionDocs = nil, nil, nil
	k.Legal = 0
	return f, nil
}

// doc says how the graphs and actions of a kind become vectors and choices.
func (f *Flattener) doc(k *Kind) string {
	var rows, parts []string
	for _, n := range f.graph.Nodes {
		rows = append(rows, fmt.Sprintf("%d of %s (%d features)", n.Capacity, n.Name, n.Width))
	}
	for i, n := range f.n {
		name := fmt.Sprintf("component %d", i)
		if i < len(k.Actions) {
			name = k.Actions[i]
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", name, n))
	}
	return fmt.Sprintf("A graph as rows of a 1 and the node's features, zeros where there is no node: %s; edges are left "+
		"out. One choice stands for %s together, the last changing fastest.", strings.Join(rows, ", "),
		strings.Join(parts, ", "))
}

// Spec is that of the vectors and joint choices.
func (f *Flattener) Spec() *Spec { return f.spec }

// Choices writes the choices that a joint one stands for.
func (f *Flattener) Choices(joint, to *Action) error {
	if err := CheckAction(f.spec, nil, joint); err != nil {
		return err
	}
	c := int(joint.Kinds[0][0])
	for i := len(f.n) - 1; i >= 0; i-- {
		to.Kinds[0][i] = float32(c % f.n[i])
		c /= f.n[i]
	}
	return nil
}

// Observe writes what is seen as a vector, and which joint choices are legal.
func (f *Flattener) Observe(seen, out *Observation) error {
	from, to := &seen.Kinds[0], &out.Kinds[0]
	to.Active[0] = from.Active[0]
	clear(to.Values)
	clear(to.Mask)
	if !from.Active[0] {
		return nil
	}
	f.row(from.Graphs[0], to.Values)
	return f.legal(from, 0, to.Mask)
}

func (f *Flattener) row(g *GraphValue, dst []float32) {
	for k, n := range f.graph.Nodes {
		for i := range g.Nodes[k].Len {
			dst[i*(1+n.Width)] = 1
			copy(dst[i*(1+n.Width)+1:], g.Nodes[k].Features[i*n.Width:(i+1)*n.Width])
		}
		dst = dst[n.Capacity*(1+n.Width):]
	}
}

// legal allows the tuples that begin with the path's first c choices: mask is their part of the joint mask.
func (f *Flattener) legal(o *KindObservation, c int, mask []bool) error {
	if c == len(f.n) {
		mask[0] = true
		return nil
	}
	most := len(f.mask) / len(f.n)
	mine, part := f.mask[c*most:][:f.n[c]], len(mask)/f.n[c]
	inner := &f.inner.Kinds[0]
	if inner.MaskAfter != nil {
		if err := inner.MaskAfter(o, 0, f.path[:c], mine); err != nil {
			return err
		}
	} else {
		at := 0
		for _, n := range f.n[:c] {
			at += n
		}
		copy(mine, o.Mask[at:])
	}
	for i, ok := range mine {
		if !ok {
			continue
		}
		f.path[c] = float32(i)
		if err := f.legal(o, c+1, mask[i*part:(i+1)*part]); err != nil {
			return err
		}
	}
	return nil
}
