package sac

import (
	"github.com/stoker-rl/stoker/agents/learning"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// memory is the replay. A row is a transition of all agents: observations as the environment gave them, actions in
// (−1, 1), unscaled rewards.
type memory struct {
	p        *problem
	discount learning.Discount
	scale    float32
	buf      *replay.Buffer
	index    []int64
	numbers  []float32 // buffer of a minibatch's column
}

// Columns of a row.
const (
	colObservation = iota
	colAction
	colReward
	colDiscount // 0 where the episode terminated, and for an agent that leaves
	colPresent
	colNext
)

func newMemory(c *Config, p *problem) (*memory, error) {
	n := p.agents
	buf, err := replay.New([]replay.Column{
		{Name: "observation", Width: n * p.obs}, {Name: "action", Width: n * p.act}, {Name: "reward", Width: n},
		{Name: "discount", Width: n}, {Name: "present", Width: n}, {Name: "next_observation", Width: n * p.obs},
	}, c.Replay)
	if err != nil {
		return nil, err
	}
	return &memory{
		p: p, discount: learning.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: float32(c.RewardScale),
		buf: buf, index: make([]int64, c.Batch), numbers: make([]float32, c.Batch*n*max(p.obs, p.act)),
	}, nil
}

// store adds the last transition of copy i; u is its action in (−1, 1).
func (m *memory) store(v *envs.Vector, i int, u []float32) {
	n := m.p.agents
	before, after := &v.Before.Env(i).Kinds[0], &v.After.Env(i).Kinds[0]
	rewards := v.Rewards[0][i*n : (i+1)*n]
	row := m.buf.Add()
	copy(row.Column(colObservation), before.Values)
	copy(row.Column(colAction), u)
	copy(row.Column(colNext), after.Values)
	discount := float32(m.discount.Of(v.Terminated[i], v.Elapsed[i]))
	reward, discounts, present := row.Column(colReward), row.Column(colDiscount), row.Column(colPresent)
	for j := range n {
		reward[j], discounts[j], present[j] = 0, 0, 0
		if before.Active[j] {
			reward[j], present[j] = rewards[j], 1
			if after.Active[j] {
				discounts[j] = discount
			}
		}
	}
}

// sample draws a minibatch into an update's tensors.
func (m *memory) sample(u *update, s *rng.Stream) error {
	if err := m.buf.Sample(s, m.index); err != nil {
		return err
	}
	m.load(colObservation, m.p.obs, u.s)
	m.load(colAction, m.p.act, u.a)
	m.load(colDiscount, 1, u.discount)
	m.load(colPresent, 1, u.present)
	m.load(colNext, m.p.obs, u.s2)
	rewards := m.gather(colReward, 1)
	for i := range rewards {
		rewards[i] *= m.scale
	}
	u.r.Set(rewards)
	return nil
}

func (m *memory) load(column, width int, to nets.Tensor) { to.Set(m.gather(column, width)) }

// gather returns a column of the minibatch, [agents, batch, width].
func (m *memory) gather(column, width int) []float32 {
	x := m.numbers[:m.p.agents*len(m.index)*width]
	m.buf.Gather(column, m.index, m.p.agents, x)
	return x
}
