package dqn

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/agents/replay"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	"github.com/stoker-rl/stoker/rng/portable"
)

// update is one step of Q-learning on a batch (Mnih et al., 2015; double: van Hasselt et al., 2016):
//
//	ℓ(θ) = E[(Q(s, a) − y)²],   y = r + γ·max_a' Q'(s', a')                    over the legal a'
//	                     double: y = r + γ·Q'(s', argmax_a' Q(s', a'))
//
// The maximum is taken on the host, between two recorded parts: the values of s' before it, and the gradient step after it.
type update struct {
	e           nets.Engine
	tdError     learning.Loss
	net, target nets.Net // Q_θ, Q'
	adam        nets.Optimizer
	double      bool
	n           int // choices

	takenQ, nextQ, targetQ learning.Pass // Q of the batch's states, of the next ones, Q' of these
	s, s2                  nets.Tensor
	onlineNext, targetNext nets.Tensor // Q(s', ·) where double, and Q'(s', ·)

	// The choice taken as a one-hot row, and y in its place, 0 elsewhere. The product of Q(s, ·) with the one-hot row,
	// less the row of y, is the error of the choice taken; the other choices get no gradient.
	taken, y, zero, qTaken nets.Tensor // [1, batch, choices]
	// The engine's loss is a mean over all numbers of the rows, ℓ is one over the batch: they differ by the factor
	// choices.
	choices, dmean, dq nets.Tensor // [1, batch, choices]
	sumLoss, sumNorm   nets.Tensor

	values, step nets.Recorded
}

// newUpdate builds networks, optimiser and memory on an engine. Initial weights follow from key alone; the target
// network begins as a copy.
func newUpdate(c *Config, arch nets.Arch, e nets.Engine, key rng.Key) (*update, error) {
	b := learning.Builder{Engine: e, Agents: 1, Batch: c.Batch}
	u := &update{e: e, double: c.Double, n: arch.Output().Width}
	u.net = b.Drawn(arch, key)
	u.target = b.Copied(arch, u.net)
	u.adam = b.Adam(u.net, nets.Adam{Rate: c.Rate, Clip: c.Clip})
	u.takenQ, u.nextQ, u.targetQ = b.Pass(u.net), b.Pass(u.net), b.Pass(u.target)
	if b.Err != nil {
		return nil, b.Err
	}
	u.tdError = b.Loss(c.lossFunction())
	obs := arch.Inputs()[0].Width
	u.s, u.s2 = b.Tensor(obs), b.Tensor(obs)
	for _, t := range []*nets.Tensor{&u.onlineNext, &u.targetNext, &u.taken, &u.y, &u.zero, &u.qTaken, &u.choices, &u.dmean,
		&u.dq} {
		*t = b.Tensor(u.n)
	}
	u.sumLoss, u.sumNorm = e.NewTensor(1), e.NewTensor(1)
	u.choices.Set(slices.Repeat([]float32{float32(u.n)}, c.Batch*u.n))
	if err := e.Err(); err != nil {
		return nil, err
	}
	u.values, u.step = e.Record("dqn: targets", u.nextValues), e.Record("dqn: update", u.descend)
	return u, nil
}

// nextValues computes the values of the next states.
func (u *update) nextValues() {
	u.e.Copy(u.targetNext, u.targetQ.Forward(u.s2))
	if u.double {
		u.e.Copy(u.onlineNext, u.nextQ.Forward(u.s2))
	}
}

// descend takes the gradient step.
func (u *update) descend() {
	e := u.e
	e.TDTarget(u.qTaken, u.zero, u.taken, u.takenQ.Forward(u.s)) // Q(s, a) in a's place
	u.tdError.Gradient(u.dmean, u.qTaken, u.y)
	e.TDTarget(u.dq, u.zero, u.choices, u.dmean)
	u.net.ZeroGrads()
	u.takenQ.Backward(u.dq, nets.Params)
	u.adam.Step()
	e.Add(u.sumLoss, float64(u.n), u.tdError.Value)
	e.Add(u.sumNorm, 1, u.adam.Norms())
}

// run does one update on a batch: the states lie in the tensors, the rest comes from b, whose y it fills in.
func (u *update) run(b *batch) error {
	if err := u.values.Run(); err != nil {
		return fmt.Errorf("update %d: %w", u.adam.Steps()+1, err)
	}
	u.targetNext.Get(b.q2)
	if u.double {
		u.onlineNext.Get(b.online2)
	}
	b.targets(u.double)
	u.taken.Set(b.taken)
	u.y.Set(b.y)
	u.adam.Advance()
	if err := u.step.Run(); err != nil {
		return fmt.Errorf("update %d: %w", u.adam.Steps(), err)
	}
	return nil
}

// updateTarget moves the target network some times: θ' ← θ' + τ(θ − θ').
func (u *update) updateTarget(tau float64, times int64) {
	if tau == 1 {
		u.e.Copy(u.target.Params(), u.net.Params())
		return
	}
	if times > 1 {
		tau = 1 - portable.Pow(1-tau, float64(times))
	}
	u.e.Lerp(u.target.Params(), u.net.Params(), tau)
}

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
