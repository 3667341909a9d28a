package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/envs"
)

// standardiser holds the running statistics of observations: one set for each agent, or one set for all where agents
// share their weights (so that agents can change places). nil leaves observations as they are.
type standardiser struct {
	width  int
	agents int
	of     []*envs.Normalizer
}

func newStandardiser(c *Config, p *problem) (*standardiser, error) {
	if !c.Standardise {
		return nil, nil
	}
	n := p.agents
	if c.Shared {
		n = 1
	}
	s := &standardiser{width: p.obs, agents: p.agents, of: make([]*envs.Normalizer, n)}
	for i := range s.of {
		var err error
		if s.of[i], err = envs.NewNormalizer(p.obs, c.ObservationClip); err != nil {
			return nil, fmt.Errorf("maddpg: %w", err)
		}
	}
	return s, nil
}

func (s *standardiser) agent(i int) *envs.Normalizer { return s.of[min(i, len(s.of)-1)] }

// update adds the observations of one environment's present agents, [agents, width].
func (s *standardiser) update(values []float32, active []bool) {
	if s == nil {
		return
	}
	for i := range s.agents {
		// With single the one row belongs to all agents.
		if s.agents == len(active) && !active[i] {
			continue
		}
		s.agent(i).Update(values[i*s.width : (i+1)*s.width])
	}
}

// ready brings all statistics up to date, so that several goroutines may apply them at once.
func (s *standardiser) ready() {
	if s == nil {
		return
	}
	for _, n := range s.of {
		n.Affine()
	}
}

// applyRow standardises one environment's [agents, width] in place.
func (s *standardiser) applyRow(x []float32) {
	for i := range s.agents {
		own := x[i*s.width : (i+1)*s.width]
		s.agent(i).Apply(own, own)
	}
}

// apply standardises [agents, rows, width] in place.
func (s *standardiser) apply(x []float32) {
	if s == nil {
		return
	}
	n := len(x) / s.agents
	for i := range s.agents {
		s.agent(i).Apply(x[i*n:(i+1)*n], x[i*n:(i+1)*n])
	}
}
