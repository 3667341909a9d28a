package maddpg

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents"
	"github.com/stoker-rl/stoker/nets"
)

// place returns a trained actor's architecture for the environment of p. An actor whose weights all agents share acts
// for any number of agents on any graph: the widths of observation and action are all that its parameters depend on.
// One with weights per agent, and one that controls all agents (single), belong to the graph they were trained on.
func place(arch nets.Arch, single bool, p *problem) (nets.Arch, error) {
	trained := arch.AgentCount()
	in, out := arch.Inputs(), arch.Output().Width
	if single && (len(in) != 1 || in[0].Width != p.obs || out != p.act) {
		n := p.kind.Agents
		return nil, fmt.Errorf("mix: single controls all agents at once; this one takes %v and gives %d numbers, the "+
			"environment has %d observations and %d actions of %d agents (%s); only agent.shared: true with another mix "+
			"acts for any number of agents", in, out, p.obs, p.act, n, p.kind.Name)
	}
	if len(in) != 1 || in[0].Width != p.obs || out != p.act {
		return nil, fmt.Errorf("actor takes %v and gives %d numbers per agent, the environment has observations of %d and "+
			"actions of %d per agent (%s)", in, out, p.obs, p.act, p.kind.Name)
	}
	switch m := arch.(type) {
	case nets.MLP:
		if m.Shared {
			m.Agents = p.agents
		}
		arch = m
	case nets.MeanField:
		switch near := p.neighbours(); {
		case m.Mix == nets.Joint:
			return nil, fmt.Errorf("actor sees the observations of all agents, want one with mix %s or %s", nets.Attention,
				nets.Mean)
		case m.Shared:
			m.Agents, m.Neighbours = p.agents, near
		case trained == p.agents && !slices.EqualFunc(m.Neighbours, near, slices.Equal):
			return nil, fmt.Errorf("trained with separate weights for %d agents on another graph: agents %v were each "+
				"other's neighbours, here %v are; only a policy trained with agent.shared: true acts on any graph", trained,
				m.Neighbours, near)
		}
		arch = m
	}
	if arch.AgentCount() != p.agents {
		return nil, fmt.Errorf("trained with separate weights for %d agents, the environment has %d (%s); only a policy "+
			"trained with agent.shared: true acts for any number of agents", trained, p.agents, p.kind.Name)
	}
	return arch, arch.Validate()
}

// statistic reads an array of the observations' statistics for n agents, [n, width]. Where weights are shared all rows
// of the file are equal, so that any number of agents can have them.
func statistic(f *agents.PolicyFile, name string, arch nets.Arch, n, width int) ([]float32, error) {
	x := f.Arrays[name].Data
	if arch.Groups() > 1 || len(x) == n*width {
		if len(x) != n*width {
			return nil, fmt.Errorf("array %q has %d numbers, want %d", name, len(x), n*width)
		}
		return x, nil
	}
	if len(x) == 0 || len(x)%width != 0 {
		return nil, fmt.Errorf("array %q has %d numbers, want rows of %d", name, len(x), width)
	}
	for i := width; i < len(x); i += width {
		if !slices.Equal(x[i:i+width], x[:width]) {
			return nil, fmt.Errorf("array %q has one row per agent, want equal rows with shared weights", name)
		}
	}
	return slices.Repeat(x[:width], n), nil
}
