package maddpg

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// memory keeps transitions and turns samples of them into an update's batch. Rows hold observations as the environment gave
// them, actions as critics see them, and rewards unscaled.
type memory struct {
	c   *Config
	p   *problem
	buf *replay.Buffer
	// Columns that not every problem has, 0 where absent (column 0 is the observation).
	mask, mask2, present, present2 int

	// The batch on the host.
	index           []int64
	s, s2           []float32 // [agents, batch, obs]
	a               []float32 // [agents, batch, act]
	one             []float32 // [agents, batch]: rewards, discounts, presence
	on              []float32 // [agents, batch, act]: presence by action
	noise           []float32 // [agents, batch, act]
	words           []float32 // stored masks
	here, hereAfter []float32 // [agents, batch]: presence at s and s'
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
		{Name: "reward", Width: p.agents}, {Name: "discount", Width: p.agents}, {Name: "next_observation", Width: p.agents * p.obs},
	}
	m := &memory{c: c, p: p, index: make([]int64, c.Batch)}
	add := func(name string, width int) int {
		cols = append(cols, replay.Column{Name: name, Width: width})
		return len(cols) - 1
	}
	rows := p.agents * c.Batch
	if p.discrete() {
		m.mask, m.mask2 = add("mask", n*p.words), add("next_mask", n*p.words)
		m.noise, m.words = make([]float32, rows*p.act), make([]float32, n*p.words*c.Batch)
	}
	if c.Absent && c.Mix != Single {
		m.present, m.present2 = add("present", n), add("next_present", n)
		m.on = make([]float32, rows*p.act)
		m.here, m.hereAfter = make([]float32, rows), make([]float32, rows)
	}
	m.s, m.s2 = make([]float32, rows*p.obs), make([]float32, rows*p.obs)
	m.a, m.one = make([]float32, rows*p.act), make([]float32, rows)
	var err error
	m.buf, err = replay.New(cols, c.Replay)
	return m, err
}

// store adds what copy i of the vector went through; u is its action as critics see it.
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
	discount := float32(m.discount(v.Terminated[i], v.Elapsed[i]))
	r, d := row.Column(colReward), row.Column(colDiscount)
	copy(r, rewards)
	if m.p.agents < n { // single: the mean reward, as in an episode's return
		var sum float64
		for _, x := range rewards {
			sum += float64(x)
		}
		r[0] = float32(sum / float64(n))
	}
	for j := range d {
		d[j] = discount
	}
	if m.mask > 0 {
		w := m.p.codec.width()
		for j := range n {
			packMask(before.Mask[j*w:(j+1)*w], row.Column(m.mask)[j*m.p.words:(j+1)*m.p.words])
			packMask(after.Mask[j*w:(j+1)*w], row.Column(m.mask2)[j*m.p.words:(j+1)*m.p.words])
		}
	}
	if m.present > 0 {
		here, hereAfter := row.Column(m.present), row.Column(m.present2)
		for j := range n {
			here[j], hereAfter[j] = number(before.Active[j]), number(after.Active[j])
			r[j] *= here[j]
			d[j] *= hereAfter[j] // an agent that leaves has ended
		}
	}
	return nil
}

// check refuses what would poison the weights, and absent agents that the configuration doesn't expect.
func (m *memory) check(v *envs.Vector, i int, after *envs.KindObservation, rewards []float32) error {
	for j, x := range rewards {
		if !finite(x) {
			return fmt.Errorf("maddpg: environment %d: reward of %s %d is %g, want a finite number", i, m.p.kind.Name, j, x)
		}
	}
	w := m.p.kind.Observation.Width()
	for j, x := range after.Values {
		if !finite(x) {
			return fmt.Errorf("maddpg: environment %d: observation of %s %d, component %d is %g, want a finite number",
				i, m.p.kind.Name, j/w, j%w, x)
		}
	}
	if m.present > 0 || m.c.Mix == Single {
		return nil
	}
	for j, here := range v.Before.Env(i).Kinds[0].Active {
		if !here || !after.Active[j] {
			return fmt.Errorf("maddpg: environment %d: %s %d is absent, want absent: true in the agent's configuration",
				i, m.p.kind.Name, j)
		}
	}
	return nil
}

// discount is γ, or γ to the power of the time that the step took, and 0 where the world ended. A truncated episode goes on in
// its value.
func (m *memory) discount(terminated bool, elapsed int64) float64 {
	switch {
	case terminated:
		return 0
	case m.c.GammaSeconds > 0:
		return math.Pow(m.c.Gamma, float64(elapsed)/1e6/m.c.GammaSeconds)
	}
	return m.c.Gamma
}

// sample draws a batch and the noise of its choices, and uploads it.
func (m *memory) sample(u *update, std *standardiser, batch, gumbel *rng.Stream) error {
	if err := m.buf.Sample(batch, m.index); err != nil {
		return err
	}
	n := m.p.agents
	m.buf.Gather(colObservation, m.index, n, m.s)
	m.buf.Gather(colNext, m.index, n, m.s2)
	m.buf.Gather(colAction, m.index, n, m.a)
	std.apply(m.s)
	std.apply(m.s2)
	if m.present > 0 {
		m.uploadPresence(u)
	}
	u.s.Set(m.s)
	u.s2.Set(m.s2)
	u.a.Set(m.a)
	m.buf.Gather(colReward, m.index, n, m.one)
	for i := range m.one {
		m.one[i] *= float32(m.c.RewardScale)
	}
	u.r.Set(m.one)
	m.buf.Gather(colDiscount, m.index, n, m.one)
	u.discount.Set(m.one)
	if m.mask > 0 {
		m.gumbel(m.mask, gumbel)
		u.noise.Set(m.noise)
		m.gumbel(m.mask2, gumbel)
		u.noise2.Set(m.noise)
	}
	return nil
}

// gumbel draws standard Gumbel noise for a batch of choices; what the stored masks forbid is pushed out of reach.
func (m *memory) gumbel(column int, s *rng.Stream) {
	for i := range m.noise {
		m.noise[i] = gumbel(s)
	}
	w := m.p.codec.width()
	n := m.p.kind.Agents
	m.buf.Gather(column, m.index, m.p.agents, m.words)
	// With single an item is [n, width], else [1, width]: the order of the memory is the same.
	for i := range n * len(m.index) {
		forbidPacked(m.noise[i*w:(i+1)*w], m.words[i*m.p.words:(i+1)*m.p.words])
	}
}

func (m *memory) uploadPresence(u *update) {
	m.buf.Gather(m.present, m.index, m.p.agents, m.here)
	m.buf.Gather(m.present2, m.index, m.p.agents, m.hereAfter)
	scaleRows(m.s, m.here)
	scaleRows(m.s2, m.hereAfter)
	u.present.error.on.Set(m.here)
	upload := func(t nets.Tensor, here []float32) {
		for i := range m.on {
			m.on[i] = 1
		}
		scaleRows(m.on, here)
		t.Set(m.on)
	}
	upload(u.present.action.on, m.here)
	upload(u.present.next.on, m.hereAfter)
}

// scaleRows multiplies row i of x by by[i].
func scaleRows(x, by []float32) {
	w := len(x) / len(by)
	for i, f := range by {
		for j := range x[i*w : (i+1)*w] {
			x[i*w+j] *= f
		}
	}
}

// gumbel draws from the standard Gumbel law, −ln(−ln u).
func gumbel(s *rng.Stream) float32 { return float32(-math.Log(s.Exp())) }

func finite(x float32) bool { return x-x == 0 }

func number(b bool) float32 {
	if b {
		return 1
	}
	return 0
}
