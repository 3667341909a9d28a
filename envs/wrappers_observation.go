package envs

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

// NormalizeObservation standardises what agents see by the running means and deviations of all that the agents of their
// kind have seen so far. Kinds that see graphs are left as they are.
//
// Unless frozen, an observation depends on the episodes before, so the same seed does not give the same observations. A
// learner that keeps a [Normalizer] of its own, as this repository's do, has the statistics where they belong: with the
// policy.
type NormalizeObservation struct {
	wrapped
	norms []*Normalizer // nil for graphs
}

// NewNormalizeObservation wraps an environment; observations are bounded by ±clip. Kinds with dependent masks, which
// are functions of the values as the environment gives them, are refused.
func NewNormalizeObservation(e Env, clip float64) (*NormalizeObservation, error) {
	n := &NormalizeObservation{norms: make([]*Normalizer, len(e.Spec().Kinds))}
	n.wrapped = wrap(e, n)
	for i := range n.spec.Kinds {
		k := &n.spec.Kinds[i]
		w := k.Observation.Width()
		if w == 0 {
			continue
		}
		if k.MaskAfter != nil {
			return nil, fmt.Errorf("envs: %s: the masks of kind %q read its observations, which would be normalised; normalise in the learner",
				n.spec.ID, k.Name)
		}
		var err error
		if n.norms[i], err = NewNormalizer(w, clip); err != nil {
			return nil, err
		}
		k.Observation = NewBox(w, -float32(clip), float32(clip))
	}
	return n, nil
}

// Normalizers returns the statistics of each kind, nil for kinds that see graphs: to freeze, save or export.
func (n *NormalizeObservation) Normalizers() []*Normalizer { return n.norms }

// Freeze stops the statistics from changing.
func (n *NormalizeObservation) Freeze() {
	for _, m := range n.norms {
		if m != nil {
			m.Freeze()
		}
	}
}

func (n *NormalizeObservation) apply(obs *Observation) {
	for i, m := range n.norms {
		if m == nil {
			continue
		}
		o, w := &obs.Kinds[i], m.Width()
		for j, here := range o.Active {
			if here {
				m.Update(o.Values[j*w : (j+1)*w])
			}
		}
		for j, here := range o.Active {
			if row := o.Values[j*w : (j+1)*w]; here {
				m.Apply(row, row)
			}
		}
	}
}

// Reset implements [Env].
func (n *NormalizeObservation) Reset(seed uint64, options Options, obs *Observation) error {
	if err := n.Env.Reset(seed, options, obs); err != nil {
		return err
	}
	n.apply(obs)
	return nil
}

// Step implements [Env].
func (n *NormalizeObservation) Step(act *Action, obs *Observation, out *Outcome) error {
	if err := n.Env.Step(act, obs, out); err != nil {
		return err
	}
	n.apply(obs)
	return nil
}

// State implements [state.Stater]; the statistics are part of it.
func (n *NormalizeObservation) State(c *state.Codec) {
	state.Member(c, n.Env)
	for _, m := range n.norms {
		if m != nil {
			c.Part(m)
		}
	}
}
