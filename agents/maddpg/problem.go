package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/actor"
	"github.com/stoker-rl/stoker/agents/internal/check"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
)

// problem is an environment as networks see it. Observations are [agents, obs] and actions [agents, act]. With single
// the same numbers are the observation and action of one agent.
type problem struct {
	kind *envs.Kind
	actionCodec
	// agents is the networks' leading dimension: the environment's number of agents or, with single, 1.
	agents int
	// obs and act are the widths of one agent's observation and action.
	obs, act int
	// segments lists the number of choices of each component of an agent's action, nil for continuous actions.
	segments []int
	// words is the number of float32 that hold the stored mask of one agent of the environment.
	words int
}

func newProblem(mix string, s *envs.Spec) (problem, error) {
	k, err := check.Vector(s)
	if err != nil {
		return problem{}, fmt.Errorf("maddpg: %w", err)
	}
	if k.MaskAfter != nil {
		return problem{},
			fmt.Errorf("maddpg: %s: %s: what is legal depends on earlier components of the action, but here they are chosen"+
				" independently", s.ID, k.Name)
	}
	c, err := newActionCodec(k.Action)
	if err != nil {
		return problem{}, fmt.Errorf("maddpg: %s: %s: %w", s.ID, k.Name, err)
	}
	p := problem{kind: k, actionCodec: c, agents: k.Agents, obs: k.Observation.Width(), act: c.width(),
		segments: c.Choices}
	if c.discrete() {
		p.words = maskWords(p.act)
	}
	if mix == Single {
		p.agents, p.obs, p.act, p.segments = 1, k.Agents*p.obs, k.Agents*p.act, nil
		for range k.Agents {
			p.segments = append(p.segments, c.Choices...)
		}
	}
	return p, nil
}

// actorArch is π from the observation to logits, one for each component or choice. The network that acts ends in
// Sigmoid for continuous actions: it has the same parameters and gives u.
func (c *Config) actorArch(p *problem, final string) nets.Arch {
	m := nets.MLP{
		Agents: p.agents, Shared: c.Shared, In: []nets.Port{{Name: "observation", Width: p.obs}}, Hidden: c.Hidden,
		Out:        p.act,
		Activation: c.Activation, Norm: c.Norm, Final: final, FinalBound: c.FinalBound,
	}
	if c.Mix == Attention || c.Mix == Mean {
		return c.mixed(p, m)
	}
	return m
}

// actingArch is the architecture of π for acting.
func (c *Config) actingArch(p *problem) nets.Arch {
	if p.discrete() {
		return c.actorArch(p, nets.None)
	}
	return c.actorArch(p, nets.Sigmoid)
}

// criticArch is Q. Its inputs are observation, action and, where others is set, the others' actions.
func (c *Config) criticArch(p *problem, others bool) nets.Arch {
	m := nets.MLP{
		Agents: p.agents, Shared: c.Shared, Hidden: c.Hidden, Out: 1, Activation: c.Activation, Norm: c.Norm,
		In: []nets.Port{{Name: "observation", Width: p.obs}, {Name: "action", Width: p.act}},
	}
	if c.Mix == Single || c.Mix == None {
		return m
	}
	f := c.mixed(p, m)
	f.Others = others
	return f
}

// separateArch is Q of joint where each agent has its own minibatch: see separate.
func (c *Config) separateArch(p *problem) nets.Arch {
	return nets.MLP{
		Agents: p.agents, Shared: c.Shared, Hidden: c.Hidden, Out: 1, Activation: c.Activation, Norm: c.Norm,
		In: []nets.Port{
			{Name: "observations", Width: p.agents * p.obs}, {Name: "action", Width: p.act},
			{Name: "others", Width: (p.agents - 1) * p.act},
		},
	}
}

func (c *Config) mixed(p *problem, m nets.MLP) nets.MeanField {
	f := nets.MeanField{MLP: m, Mix: c.Mix}
	if c.Mix != Joint {
		f.Neighbours = actor.Neighbours(p.kind)
	}
	if c.Mix == Attention {
		f.Score, f.Keys = c.Score, c.Keys
	}
	return f
}

// headArch turns logits into actions as critics see them: relaxed choices, or u = sigmoid(logit) by a layer whose
// weights are the identity (see builder.head).
func (c *Config) headArch(p *problem) nets.Arch {
	if p.discrete() {
		return nets.GumbelSoftmax{Agents: p.agents, Segments: p.segments, Temperature: c.Temperature, Hard: c.Hard}
	}
	return nets.MLP{
		Agents: p.agents, Shared: true, In: []nets.Port{{Name: "logits", Width: p.act}}, Out: p.act,
		Activation: nets.ReLU, Final: nets.Sigmoid,
	}
}

// actionCodec translates between the environment's actions and what networks see: u in [0, 1] for intervals, one-hot
// vectors for choices. It works on the numbers of one agent.
type actionCodec struct {
	actor.Spread // of a Box
	// Choices is the number of choices of each component, nil for a Box.
	Choices []int
}

func newActionCodec(s envs.Space) (actionCodec, error) {
	switch s := s.(type) {
	case envs.Discrete, envs.MultiDiscrete:
		return actionCodec{Choices: envs.Choices(s)}, nil
	case envs.Box:
		spread, err := actor.NewSpread(s)
		return actionCodec{Spread: spread}, err
	}
	return actionCodec{}, fmt.Errorf("action space is %v, want Box, Discrete or MultiDiscrete", s)
}

// discrete reports whether the components are choices.
func (c *actionCodec) discrete() bool { return c.Choices != nil }

// width is how many numbers networks see for an action, components how many the environment takes.
func (c *actionCodec) width() int {
	if !c.discrete() {
		return len(c.Low)
	}
	w := 0
	for _, n := range c.Choices {
		w += n
	}
	return w
}

func (c *actionCodec) components() int {
	if c.discrete() {
		return len(c.Choices)
	}
	return len(c.Low)
}

// squeeze writes u for the environment's action: the inverse of [actor.Spread.Unit].
func (c *actionCodec) squeeze(a, u []float32) {
	for i, x := range a {
		u[i] = 0.5
		if lo, hi := c.Low[i], c.High[i]; hi > lo {
			u[i] = min(max((x-lo)/(hi-lo), 0), 1)
		}
	}
}

// choose writes, for each component, the index of its largest score (the first of several), and the one-hot form of all
// components.
func (c *actionCodec) choose(scores, hot, out []float32) {
	for i, n := range c.Choices {
		best := 0
		for k, x := range scores[:n] {
			if x > scores[best] {
				best = k
			}
		}
		clear(hot[:n])
		hot[best] = 1
		out[i] = float32(best)
		scores, hot = scores[n:], hot[n:]
	}
}

// maskBits is the number of choices that one float32 of a stored mask holds: float32 is exact for whole numbers up to
// 2^24.
const maskBits = 24

func maskWords(choices int) int { return (choices + maskBits - 1) / maskBits }

// packMask stores a mask as whole numbers, maskBits choices in each.
func packMask(mask []bool, words []float32) {
	for w := range words {
		var bits uint32
		for i, ok := range mask[w*maskBits : min((w+1)*maskBits, len(mask))] {
			if ok {
				bits |= 1 << i
			}
		}
		words[w] = float32(bits)
	}
}

// forbidPacked is [actor.Forbid] for a stored mask.
func forbidPacked(scores, words []float32) {
	for w, x := range words {
		bits := uint32(x)
		part := scores[w*maskBits : min((w+1)*maskBits, len(scores))]
		for i := range part {
			if bits>>i&1 == 0 {
				part[i] += actor.Illegal
			}
		}
	}
}
