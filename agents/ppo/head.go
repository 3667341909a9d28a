package ppo

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// head turns what a network gives for an agent into an action, and differentiates its probability. g is the number of
// the agent's weights.
type head interface {
	// sizes are the network's outputs, and the numbers of a stored action and of a mask.
	sizes() (outputs, width, choices int)
	// act draws an agent's action from s, and writes it as the environment takes it and as the rollout stores it, and what
	// was legal. It returns ln π.
	act(g int, out []float32, seen *envs.KindObservation, agent int, s *rng.Stream, act, stored []float32,
		mask []bool) (logp float64, err error)
	// sample returns ln π and the entropy for a stored action.
	sample(g int, out []float64, stored []float32, mask []bool) (logp, entropy float64)
	// gradient writes ∂L/∂out of the last sample to dst, for L = −slope·ln π − bonus·H.
	gradient(g int, dst []float64, slope, bonus float64)
}

// newHead returns the head of a kind's actions; groups is the number of sets of weights.
func newHead(c *Config, id string, k *envs.Kind, groups int) (head, error) {
	switch a := k.Action.(type) {
	case envs.Discrete, envs.MultiDiscrete:
		return newChoices(k), nil
	case envs.Box:
		return newGaussian(a, groups, c.Bounds, c.LogStd), nil
	}
	return nil, fmt.Errorf("%s: action space of %s is %v, want Discrete, MultiDiscrete or Box", id, k.Name, k.Action)
}

// choices is a softmax for each component of an action, over what is legal after the components before it:
//
//	ln π(a) = Σ_c ln softmax(z_c)[a_c],   H = Σ_c −Σ_k π_k ln π_k
//	∂L/∂z_ck = −slope·([k = a_c] − π_k) + bonus·π_k(ln π_k + H_c)
type choices struct {
	*actor.Choices
	// Of the last sample: logarithms of the probabilities P, entropies and choices of the components.
	ln    []float64
	h     []float64
	taken []int
}

func newChoices(k *envs.Kind) *choices {
	c := actor.NewChoices(k)
	return &choices{c, make([]float64, c.Total), make([]float64, len(c.N)), make([]int, len(c.N))}
}

func (c *choices) sizes() (outputs, width, choices int) { return c.Total, len(c.N), c.Total }

// least keeps logarithms finite.
const least = 1e-300

var lnLeast = portable.Log(least)

func (c *choices) act(_ int, out []float32, seen *envs.KindObservation, agent int, s *rng.Stream, act, stored []float32,
	mask []bool) (logp float64, err error) {
	if err := c.Pick(out, seen, agent, s, act, mask); err != nil {
		return 0, err
	}
	from := 0
	for i, n := range c.N {
		stored[i] = act[i]
		logp += portable.Log(max(c.P[from+int(act[i])], least))
		from += n
	}
	return logp, nil
}

func (c *choices) sample(_ int, out []float64, stored []float32, mask []bool) (logp, entropy float64) {
	from := 0
	for i, n := range c.N {
		p := c.P[from : from+n]
		choice.Softmax(p, out[from:from+n], mask[from:from+n])
		c.taken[i], c.h[i] = int(stored[i]), 0
		for k, x := range p {
			if x == 0 { // illegal, or too unlikely for a number
				c.ln[from+k] = lnLeast
				continue
			}
			c.ln[from+k] = portable.Log(x)
			c.h[i] -= float64(x * c.ln[from+k])
		}
		logp += c.ln[from+c.taken[i]]
		entropy += c.h[i]
		from += n
	}
	return logp, entropy
}

func (c *choices) gradient(_ int, dst []float64, slope, bonus float64) {
	from := 0
	for i, n := range c.N {
		for k, p := range c.P[from : from+n] {
			dst[from+k] = float64(slope*p) + float64(bonus*p*(c.ln[from+k]+c.h[i]))
		}
		dst[from+c.taken[i]] -= slope
		from += n
	}
}

// gaussian draws each component u of a continuous action from a normal distribution with the network's output μ as its
// mean. Its deviation σ is learned, and does not depend on what is seen:
//
//	ln π(u) = Σ −½((u − μ)/σ)² − ln σ − ½ ln 2π,   H = Σ ln σ + ½ ln 2πe
//	∂ ln π/∂μ = (u − μ)/σ²,   ∂ ln π/∂ ln σ = ((u − μ)/σ)² − 1,   ∂H/∂ ln σ = 1
//
// The environment's action follows from u by the bounds: see [actor.Normal.Bounded]. The probabilities are those of u. For
// tanh the ratio π/π_old is that of the actions too, since the factor of the change of variables cancels.
type gaussian struct {
	*actor.Normal
	// grad is ∂L/∂ ln σ, the sum of what gradient has added: [groups][components].
	grad [][]float64
	// Of the last sample: (u − μ)/σ.
	z []float64
}

func newGaussian(b envs.Box, groups int, bounds string, logStd float64) *gaussian {
	g := &gaussian{Normal: actor.NewNormal(b, groups, bounds, logStd), z: make([]float64, b.Width())}
	for range groups {
		g.grad = append(g.grad, make([]float64, b.Width()))
	}
	return g
}

func (a *gaussian) sizes() (outputs, width, choices int) { return len(a.z), len(a.z), 0 }

var halfLog2Pi = portable.Log(2*math.Pi) / 2

func (a *gaussian) act(g int, out []float32, _ *envs.KindObservation, _ int, s *rng.Stream, act, stored []float32,
	_ []bool) (logp float64, err error) {
	if err := check.Finite("component", out); err != nil {
		return 0, err
	}
	for i, mu := range out {
		var std float64
		stored[i], std = a.Draw(g, i, mu, s)
		z := float64(float64(stored[i])-float64(mu)) / std
		act[i] = a.Bounded(i, float64(stored[i]))
		logp -= float64(z*z/2) + a.LogStd[g][i] + halfLog2Pi
	}
	return logp, nil
}

func (a *gaussian) sample(g int, out []float64, stored []float32, _ []bool) (logp, entropy float64) {
	for i, mu := range out {
		ln := a.LogStd[g][i]
		a.z[i] = (float64(stored[i]) - mu) / portable.Exp(ln)
		logp -= float64(a.z[i]*a.z[i]/2) + ln + halfLog2Pi
		entropy += ln + halfLog2Pi + 0.5
	}
	return logp, entropy
}

func (a *gaussian) gradient(g int, dst []float64, slope, bonus float64) {
	for i, z := range a.z {
		dst[i] = -float64(slope * z / portable.Exp(a.LogStd[g][i]))
		a.grad[g][i] -= float64(slope*(float64(z*z)-1)) + bonus
	}
}

// std is the mean deviation.
func (a *gaussian) std() float64 {
	sum, n := 0.0, 0
	for _, group := range a.LogStd {
		for _, x := range group {
			sum, n = sum+portable.Exp(x), n+1
		}
	}
	return sum / float64(n)
}

// actCopy acts for the agents of one copy, which see o, into act: [agents, components]. d is what the copy's agents do as the
// rollout stores it.
func (m *vectors) actCopy(copy int, o *envs.KindObservation, s *rng.Stream, act []float32, d decision) error {
	components := len(act) / m.kind.Agents
	for j, here := range o.Active {
		mine := act[j*components : (j+1)*components]
		if !here {
			clear(mine)
			continue
		}
		logp, err := m.head.act(j%m.groups, m.actor.Row(copy, j), o, j, s, mine, d.action[j*m.width:(j+1)*m.width],
			d.mask[j*m.all:(j+1)*m.all])
		if err != nil {
			return fmt.Errorf("environment %d: %s %d: %w", copy, m.kind.Name, j, err)
		}
		d.logp[j] = float32(logp)
	}
	return nil
}

// of is the part of one copy's agents.
func (d *decision) of(copy, agents int) decision {
	n := len(d.logp) / agents // copies
	width, choices := len(d.action)/n, len(d.mask)/n
	return decision{
		action: d.action[copy*width : (copy+1)*width], mask: d.mask[copy*choices : (copy+1)*choices],
		logp: d.logp[copy*agents : (copy+1)*agents],
	}
}

// newDecision returns memory for rows agents.
func newDecision(rows, width, choices int) decision {
	return decision{
		action: make([]float32, rows*width), mask: make([]bool, rows*choices), logp: make([]float32, rows),
	}
}
