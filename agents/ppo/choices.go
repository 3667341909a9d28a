package ppo

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// head turns what a network gives for an agent into an action, and differentiates its probability. g is the number of
// the agent's weights.
type head interface {
	// sizes are the network's outputs, and the numbers of a stored action and of a mask.
	sizes() (outputs, width, choices int)
	// act writes an agent's action as the environment takes it and as the rollout stores it, and what was legal, and
	// returns ln π. It draws from s; where s is nil it takes the most likely action.
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
	case envs.Discrete:
		return newChoices(k, []int{a.N}), nil
	case envs.MultiDiscrete:
		return newChoices(k, a.N), nil
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
	kind  *envs.Kind
	n     []int
	total int
	// Of the last sample: probabilities and their logarithms, entropies and choices of the components.
	p, ln []float64
	h     []float64
	taken []int
}

func newChoices(k *envs.Kind, n []int) *choices {
	c := &choices{kind: k, n: n, h: make([]float64, len(n)), taken: make([]int, len(n))}
	for _, n := range n {
		c.total += n
	}
	c.p, c.ln = make([]float64, c.total), make([]float64, c.total)
	return c
}

func (c *choices) sizes() (outputs, width, choices int) { return c.total, len(c.n), c.total }

// least keeps logarithms finite.
const least = 1e-300

var lnLeast = portable.Log(least)

func (c *choices) act(_ int, out []float32, seen *envs.KindObservation, agent int, s *rng.Stream, act, stored []float32,
	mask []bool) (logp float64, err error) {
	if err := choice.Finite(out); err != nil {
		return 0, err
	}
	from := 0
	for i, n := range c.n {
		scores, legal, p := out[from:from+n], mask[from:from+n], c.p[from:from+n]
		if c.kind.MaskAfter == nil {
			c.see(seen, agent, from, legal)
		} else if err := c.kind.MaskAfter(seen, agent, act[:i], legal); err != nil {
			return 0, err
		}
		choice.Softmax(p, scores, legal)
		var a int
		if s == nil {
			a = choice.Best(scores, legal)
		} else {
			a = choice.Draw(p, s.Float64())
		}
		if a == choice.None {
			return 0, fmt.Errorf("no choice of component %d is legal after %v", i, act[:i])
		}
		act[i], stored[i] = float32(a), float32(a)
		logp += portable.Log(max(p[a], least))
		from += n
	}
	return logp, nil
}

// see writes which choices from a number on are legal. Without a mask all are.
func (c *choices) see(o *envs.KindObservation, agent, from int, legal []bool) {
	if whole := o.MaskOf(agent, c.total); whole != nil {
		copy(legal, whole[from:])
		return
	}
	for i := range legal {
		legal[i] = true
	}
}

func (c *choices) sample(_ int, out []float64, stored []float32, mask []bool) (logp, entropy float64) {
	from := 0
	for i, n := range c.n {
		p := c.p[from : from+n]
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
	for i, n := range c.n {
		for k, p := range c.p[from : from+n] {
			dst[from+k] = float64(slope*p) + float64(bonus*p*(c.ln[from+k]+c.h[i]))
		}
		dst[from+c.taken[i]] -= slope
		from += n
	}
}
