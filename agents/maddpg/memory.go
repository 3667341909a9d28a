package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/bounds"
	"github.com/stoker-rl/stoker/envs"
)

// memory is the replay buffer. Its rows hold observations as the environment gave them, actions as critics see them,
// and unscaled rewards.
type memory struct {
	c   *Config
	p   *problem
	buf *replay.Buffer

	discount learning.Discount
	// Columns that only some problems have, 0 where there is none (column 0 is the observation).
	mask, mask2, present, present2 int
}

// Columns that every problem has.
const (
	colObservation = iota
	colAction
	colReward
	colDiscount
	colNext
)

func newMemory(c *Config, p *problem) (*memory, error) {
	n := p.kind.Agents
	cols := []replay.Column{
		{Name: "observation", Width: p.agents * p.obs}, {Name: "action", Width: p.agents * p.act},
		{Name: "reward", Width: p.agents}, {Name: "discount", Width: p.agents},
		{Name: "next_observation", Width: p.agents * p.obs},
	}
	m := &memory{c: c, p: p, discount: learning.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}}
	add := func(name string, width int) int {
		cols = append(cols, replay.Column{Name: name, Width: width})
		return len(cols) - 1
	}
	if p.discrete() {
		m.mask, m.mask2 = add("mask", n*p.words), add("next_mask", n*p.words)
	}
	if c.Absent && c.Mix != Single {
		m.present, m.present2 = add("present", n), add("next_present", n)
	}
	var err error
	m.buf, err = replay.New(cols, c.Replay)
	return m, err
}

// store adds the last transition of copy i; u is its action as critics see it.
func (m *memory) store(v *envs.Vector, i int, u []float32) error {
	before, after := &v.Before.Env(i).Kinds[0], &v.After.Env(i).Kinds[0]
	n := m.p.kind.Agents
	rewards := v.Rewards[0][i*n : (i+1)*n]
	if err := m.check(v, i, after, rewards); err != nil {
		return err
	}
	row := m.buf.Add()
	copy(row.Column(colObservation), before.Values)
	copy(row.Column(colAction), u)
	copy(row.Column(colNext), after.Values)
	r, d := m.credit(row, rewards, m.discount.Of(v.Terminated[i], v.Elapsed[i]))
	if m.mask > 0 {
		w := m.p.actionCodec.width()
		for j := range n {
			packMask(before.Mask[j*w:(j+1)*w], row.Column(m.mask)[j*m.p.words:(j+1)*m.p.words])
			packMask(after.Mask[j*w:(j+1)*w], row.Column(m.mask2)[j*m.p.words:(j+1)*m.p.words])
		}
	}
	if m.present > 0 {
		here, hereAfter := row.Column(m.present), row.Column(m.present2)
		for j := range n {
			here[j], hereAfter[j] = oneIf(before.Active[j]), oneIf(after.Active[j])
			r[j] *= here[j]
			d[j] *= hereAfter[j] // an agent that leaves has terminated
		}
	}
	return nil
}

// credit writes a row's rewards and discounts, and returns them.
func (m *memory) credit(row replay.Row, rewards []float32, discount float64) (r, d []float32) {
	r, d = row.Column(colReward), row.Column(colDiscount)
	copy(r, rewards)
	if n := m.p.kind.Agents; m.p.agents < n { // single: the mean reward, as in an episode's return
		var sum float64
		for _, x := range rewards {
			sum += float64(x)
		}
		r[0] = float32(sum / float64(n))
	}
	for j := range d {
		d[j] = float32(discount)
	}
	return r, d
}

// check refuses absent agents that the configuration does not allow.
func (m *memory) check(v *envs.Vector, i int, after *envs.KindObservation, rewards []float32) error {
	if m.present > 0 || m.c.Mix == Single {
		return nil
	}
	for j, here := range v.Before.Env(i).Kinds[0].Active {
		if !here || !after.Active[j] {
			return bounds.Errorf("absent", "is false, and %s %d of environment %d is absent: want true", m.p.kind.Name, j, i)
		}
	}
	return nil
}

// oneIf is 1 for true, else 0.
func oneIf(b bool) float32 {
	if b {
		return 1
	}
	return 0
}

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
