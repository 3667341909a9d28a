package ppo

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/internal/reuse"
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
	// samples writes ln π and the entropies of the stored actions of a list of samples; out has their outputs, one sample
	// after another.
	samples(g int, out []float64, b *buffer, list []int32, logp, entropy []float64)
	// gradients writes ∂L/∂out of the last samples to dst, one after another, for L = −slope·ln π − bonus·H with a slope for each.
	gradients(g int, dst, slope []float64, bonus float64)
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
	// Of the last samples: probabilities and their logarithms, [samples][Total], and entropies and choices of the components.
	p, ln []float64
	h     []float64
	taken []int
}

func newChoices(k *envs.Kind) *choices { return &choices{Choices: actor.NewChoices(k)} }

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

// samples computes one function for the whole minibatch, then the next: a processor computes several samples at once then, while
// the functions of one sample wait for each other.
func (c *choices) samples(_ int, out []float64, b *buffer, list []int32, logp, entropy []float64) {
	n := len(list) * c.Total
	c.p, c.ln = reuse.Slice(c.p, n), reuse.Slice(c.ln, n)
	c.h, c.taken = reuse.Slice(c.h, len(list)*len(c.N)), reuse.Slice(c.taken, len(list)*len(c.N))
	for i, s := range list {
		c.logits(c.p[i*c.Total:(i+1)*c.Total], out[i*c.Total:], b.mask[int(s)*c.Total:])
	}
	for i, x := range c.p {
		c.p[i] = portable.Exp(x)
	}
	for from := 0; from < n; {
		for _, size := range c.N {
			share(c.p[from : from+size])
			from += size
		}
	}
	for i, p := range c.p {
		if c.ln[i] = lnLeast; p != 0 { // 0: illegal, or too unlikely for a number
			c.ln[i] = portable.Log(p)
		}
	}
	from, at := 0, 0
	for i, s := range list {
		logp[i], entropy[i] = 0, 0
		for k, size := range c.N {
			c.taken[at], c.h[at] = from+int(b.action[int(s)*len(c.N)+k]), 0
			for j := from; j < from+size; j++ {
				if c.p[j] != 0 {
					c.h[at] -= float64(c.p[j] * c.ln[j])
				}
			}
			logp[i] += c.ln[c.taken[at]]
			entropy[i] += c.h[at]
			from, at = from+size, at+1
		}
	}
}

// logits writes a sample's scores less the largest of their component; −∞ for what is illegal.
func (c *choices) logits(dst, out []float64, mask []bool) {
	from := 0
	for _, n := range c.N {
		scores, legal, top := out[from:from+n], mask[from:from+n], 0.0
		if best := choice.Best(scores, legal); best != choice.None {
			top = scores[best]
		}
		for k, x := range scores {
			if dst[from+k] = math.Inf(-1); legal[k] {
				dst[from+k] = x - top
			}
		}
		from += n
	}
}

// share divides p by its sum, unless that is 0.
func share(p []float64) {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	if sum == 0 {
		return
	}
	for i := range p {
		p[i] /= sum
	}
}

func (c *choices) gradients(_ int, dst, slope []float64, bonus float64) {
	from, at := 0, 0
	for _, s := range slope {
		for _, size := range c.N {
			for j := from; j < from+size; j++ {
				dst[j] = float64(s*c.p[j]) + float64(bonus*c.p[j]*(c.ln[j]+c.h[at]))
			}
			dst[c.taken[at]] -= s
			from, at = from+size, at+1
		}
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
	grad  [][]float64
	width int       // components
	std   []float64 // σ of the weights of the last samples
	z     []float64 // of these (u − μ)/σ, [samples][components]
}

func newGaussian(b envs.Box, groups int, bounds string, logStd float64) *gaussian {
	g := &gaussian{Normal: actor.NewNormal(b, groups, bounds, logStd), width: b.Width(), std: make([]float64, b.Width())}
	for range groups {
		g.grad = append(g.grad, make([]float64, b.Width()))
	}
	return g
}

func (a *gaussian) sizes() (outputs, width, choices int) { return a.width, a.width, 0 }

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

func (a *gaussian) samples(g int, out []float64, b *buffer, list []int32, logp, entropy []float64) {
	n := a.width
	a.z = reuse.Slice(a.z, len(list)*n)
	for k, ln := range a.LogStd[g] {
		a.std[k] = portable.Exp(ln)
	}
	for i, s := range list {
		logp[i], entropy[i] = 0, 0
		for k, ln := range a.LogStd[g] {
			z := (float64(b.action[int(s)*n+k]) - out[i*n+k]) / a.std[k]
			a.z[i*n+k] = z
			logp[i] -= float64(z*z/2) + ln + halfLog2Pi
			entropy[i] += ln + halfLog2Pi + 0.5
		}
	}
}

func (a *gaussian) gradients(g int, dst, slope []float64, bonus float64) {
	for i, s := range slope {
		for k, std := range a.std {
			z := a.z[i*a.width+k]
			dst[i*a.width+k] = -float64(s * z / std)
			a.grad[g][k] -= float64(s*(float64(z*z)-1)) + bonus
		}
	}
}

// mean is the mean deviation.
func (a *gaussian) mean() float64 {
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
