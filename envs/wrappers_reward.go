package envs

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs/state"
)

// NormalizeReward divides rewards by the running deviation of the discounted return, so that returns have a deviation
// of about one: every agent's return counts, and all agents of a kind share the divisor. Rewards are not shifted.
type NormalizeReward struct {
	wrapped
	gamma   float64
	clip    float32
	norms   []*Normalizer // of returns; one number wide
	returns [][]float32   // discounted so far, for each kind and agent
	active  [][]bool      // who acts in the next step
}

// NewNormalizeReward wraps an environment. Returns are discounted by gamma a step, and rewards bounded by ±clip.
func NewNormalizeReward(e Env, gamma, clip float64) (*NormalizeReward, error) {
	if !(gamma >= 0 && gamma <= 1) {
		return nil, fmt.Errorf("envs: reward normalisation with gamma %g, want [0, 1]", gamma)
	}
	n := &NormalizeReward{gamma: gamma, clip: float32(clip)}
	n.wrapped = wrap(e, n)
	for _, k := range n.spec.Kinds {
		m, err := NewNormalizer(1, clip)
		if err != nil {
			return nil, err
		}
		n.norms = append(n.norms, m)
		n.returns = append(n.returns, make([]float32, k.Agents))
		n.active = append(n.active, make([]bool, k.Agents))
	}
	return n, nil
}

// Normalizers returns the statistics of each kind's returns.
func (n *NormalizeReward) Normalizers() []*Normalizer { return n.norms }

// Freeze stops the statistics from changing.
func (n *NormalizeReward) Freeze() {
	for _, m := range n.norms {
		m.Freeze()
	}
}

// Reset implements [Env].
func (n *NormalizeReward) Reset(seed uint64, options Options, obs *Observation) error {
	if err := n.Env.Reset(seed, options, obs); err != nil {
		return err
	}
	for i, r := range n.returns {
		clear(r)
		copy(n.active[i], obs.Kinds[i].Active)
	}
	return nil
}

// Step implements [Env].
func (n *NormalizeReward) Step(act *Action, obs *Observation, out *Outcome) error {
	if err := n.Env.Step(act, obs, out); err != nil {
		return err
	}
	for i, m := range n.norms {
		ret := n.returns[i]
		for j, x := range out.Rewards[i] {
			if n.active[i][j] {
				ret[j] = float32(float64(n.gamma*float64(ret[j])) + float64(x))
				m.Update(ret[j : j+1])
			}
		}
		copy(n.active[i], obs.Kinds[i].Active)
		_, scale := m.Affine()
		for j, x := range out.Rewards[i] {
			out.Rewards[i][j] = min(max(float32(x*scale[0]), -n.clip), n.clip)
		}
	}
	return nil
}

// State implements [state.Stater]; the statistics are part of it.
func (n *NormalizeReward) State(c *state.Codec) {
	state.Member(c, n.Env)
	for i, m := range n.norms {
		c.Part(m)
		state.Fixed(c, n.returns[i])
		state.Fixed(c, n.active[i])
	}
}
