package sac

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// problem is an environment as networks see it: observations [agents, obs], actions [agents, act] in (−1, 1).
type problem struct {
	kind *envs.Kind
	scale
	agents, obs, act int
}

// scale takes actions from (−1, 1) to the bounds of a Box, component by component.
type scale struct {
	Low  []float32 `json:"low"`
	High []float32 `json:"high"`
	// Integer marks whole-numbered components; nil where there are none.
	Integer []bool `json:"integer,omitempty"`
}

func newProblem(s *envs.Spec) (problem, error) {
	k, err := check.Vector(s)
	if err != nil {
		return problem{}, err
	}
	b, ok := k.Action.(envs.Box)
	if !ok {
		return problem{}, fmt.Errorf("%s: actions of %s are %v, want a Box; dqn, ppo and reinforce learn choices", s.ID, k.Name,
			k.Action)
	}
	if b.Width() == 0 {
		return problem{}, fmt.Errorf("%s: actions of %s are %v, want at least one component", s.ID, k.Name, b)
	}
	for i := range b.Low {
		if r := float64(b.High[i]) - float64(b.Low[i]); !(r >= 0) || math.IsInf(r, 0) {
			return problem{}, fmt.Errorf("%s: component %d of the actions of %s ranges over [%g, %g], want finite bounds", s.ID, i,
				k.Name, b.Low[i], b.High[i])
		}
	}
	return problem{k, scale{b.Low, b.High, b.Integer}, k.Agents, k.Observation.Width(), b.Width()}, nil
}

// apply writes the environment's action for u. Whole-numbered components are rounded to the nearest whole number.
func (c *scale) apply(u, out []float32) {
	for i, x := range u {
		lo, hi := c.Low[i], c.High[i]
		y := lo + float32(0.5*float32(x+1)*(hi-lo))
		if c.Integer != nil && c.Integer[i] {
			y = float32(math.Round(float64(y)))
		}
		out[i] = min(max(y, lo), hi)
	}
}

func (c *scale) equal(o *scale) bool {
	return slices.Equal(c.Low, o.Low) && slices.Equal(c.High, o.High) && slices.Equal(c.Integer, o.Integer)
}

// actorArch is the policy up to its last layer: from the observation to a mean and a number for the standard deviation
// of each component.
func (c *Config) actorArch(p *problem) nets.MLP {
	return nets.MLP{
		Agents: p.agents, Shared: c.Shared, In: []nets.Port{{Name: "observation", Width: p.obs}}, Hidden: c.Hidden,
		Out: 2 * p.act, Activation: c.Activation, Norm: c.Norm,
	}
}

// criticArch is Q, of an agent's own observation and action.
func (c *Config) criticArch(p *problem) nets.MLP {
	a := c.actorArch(p)
	a.In, a.Out = append(a.In, nets.Port{Name: "action", Width: p.act}), 1
	return a
}

// temperatureArch is ln α as a network, so that Adam learns it: its input is 0, and ln α the bias.
func (c *Config) temperatureArch(p *problem) nets.MLP {
	return nets.MLP{
		Agents: p.agents, Shared: c.Shared, In: []nets.Port{{Name: "zero", Width: 1}}, Out: 1, Activation: nets.ReLU,
	}
}
