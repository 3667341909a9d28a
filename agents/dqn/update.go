package dqn

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
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

// updateTarget moves the target network: θ' ← θ' + τ(θ − θ').
func (u *update) updateTarget(tau float64) {
	if tau == 1 {
		u.e.Copy(u.target.Params(), u.net.Params())
		return
	}
	u.e.Lerp(u.target.Params(), u.net.Params(), tau)
}
