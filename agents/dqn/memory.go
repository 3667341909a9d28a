package dqn

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/rng"
)

// memory is the replay: a row of transition for each agent and step, from which batches are drawn.
type memory struct {
	p        *choice.Problem
	discount learning.Discount
	scale    float32
	buf      *replay.Buffer
	index    []int64
	batch    batch
}

// Columns of a row.
const (
	colObservation = iota
	colChoice
	colReward
	colDiscount
	colNext
	colNextMask
)

func newMemory(c *Config, p *choice.Problem) (*memory, error) {
	buf, err := replay.New([]replay.Column{
		{Name: "observation", Width: p.Obs}, {Name: "choice", Width: 1}, {Name: "reward", Width: 1},
		{Name: "discount", Width: 1},
		{Name: "next_observation", Width: p.Obs}, {Name: "next_mask", Width: p.N},
	}, c.Replay)
	if err != nil {
		return nil, err
	}
	return &memory{
		p: p, discount: learning.Discount{Gamma: c.Gamma, Seconds: c.GammaSeconds}, scale: float32(c.RewardScale),
		buf: buf, index: make([]int64, c.Batch), batch: newBatch(c.Batch, p.Obs, p.N),
	}, nil
}

// store adds the last transition of copy i's present agents. The discount is 0 for an agent that leaves: it has
// terminated.
func (m *memory) store(v *envs.Vector, i int) error {
	before, after := &v.Before.Env(i).Kinds[0], &v.After.Env(i).Kinds[0]
	acts, obs, n := v.Act.Env(i).Kinds[0], m.p.Obs, m.p.N
	rewards := v.Rewards[0][i*m.p.Agents : (i+1)*m.p.Agents]
	discount := float32(m.discount.Of(v.Terminated[i], v.Elapsed[i]))
	for j, here := range before.Active {
		if !here {
			continue
		}
		row := m.buf.Add()
		copy(row.Column(colObservation), before.Values[j*obs:(j+1)*obs])
		row.Column(colChoice)[0], row.Column(colReward)[0] = acts[j], rewards[j]
		row.Column(colDiscount)[0] = 0
		if after.Active[j] {
			row.Column(colDiscount)[0] = discount
		}
		copy(row.Column(colNext), after.Values[j*obs:(j+1)*obs])
		mask := row.Column(colNextMask)
		for k, legal := range after.Mask[j*n : (j+1)*n] {
			mask[k] = 0
			if legal {
				mask[k] = 1
			}
		}
	}
	return nil
}

// sample draws a batch and uploads its states.
func (m *memory) sample(u *update, s *rng.Stream) error {
	if err := m.buf.Sample(s, m.index); err != nil {
		return err
	}
	b := &m.batch
	for _, c := range []struct {
		column int
		to     []float32
	}{
		{colObservation, b.s}, {colNext, b.s2}, {colChoice, b.a}, {colReward, b.r}, {colDiscount, b.discount},
		{colNextMask, b.mask2},
	} {
		m.buf.Gather(c.column, m.index, 1, c.to)
	}
	for i, a := range b.a {
		if !(a >= 0 && a < float32(m.p.N)) { // a loaded replay may hold any number
			return fmt.Errorf("replay holds the choice %g, want 0 to %d", a, m.p.N-1)
		}
		b.r[i] *= m.scale
	}
	u.s.Set(b.s)
	u.s2.Set(b.s2)
	return nil
}

// batch is a batch on the host.
type batch struct {
	n              int
	s, s2          []float32 // [batch, obs]
	a, r, discount []float32 // [batch]
	mask2          []float32 // [batch, choices]: 1 for what is legal in s'
	q2, online2    []float32 // Q'(s', ·), and Q(s', ·) where double
	taken, y       []float32 // [batch, choices]: 1 and y where a is, 0 elsewhere
}

func newBatch(size, obs, n int) batch {
	row := func(w int) []float32 { return make([]float32, size*w) }
	return batch{
		n: n, s: row(obs), s2: row(obs), a: row(1), r: row(1), discount: row(1),
		mask2: row(n), q2: row(n), online2: row(n), taken: row(n), y: row(n),
	}
}

// targets writes y and the one-hot choices. What is illegal in s' is never the largest; where nothing is legal, as
// where an agent has left, nothing follows.
func (b *batch) targets(double bool) {
	by := b.q2
	if double {
		by = b.online2
	}
	clear(b.taken)
	clear(b.y)
	n := b.n
	for i, a := range b.a {
		y := b.r[i]
		if d := b.discount[i]; d != 0 {
			best := choice.None
			for k := i * n; k < (i+1)*n; k++ {
				if b.mask2[k] != 0 && (best == choice.None || by[k] > by[best]) {
					best = k
				}
			}
			if best != choice.None {
				y += float32(d * b.q2[best])
			}
		}
		at := i*n + int(a)
		b.taken[at], b.y[at] = 1, y
	}
}
