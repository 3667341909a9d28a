package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/check"
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

// neighbours lists which agents each agent sees: those that the environment names or, where it names none, all others.
func (p *problem) neighbours() [][]int {
	if p.kind.Neighbours != nil {
		return p.kind.Neighbours
	}
	out := make([][]int, p.agents)
	for i := range out {
		out[i] = make([]int, 0, p.agents-1)
		for j := range p.agents {
			if j != i {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
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
		f.Neighbours = p.neighbours()
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
