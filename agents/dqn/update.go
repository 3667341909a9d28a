package dqn

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// update is one step of Q-learning on a batch (Mnih et al., 2015):
//
//	ℓ(θ) = E[(Q(s, a) − y)²],   y = r + γ·max_a' Q'(s', a')                    over the legal a'
//	                     double: y = r + γ·Q'(s', argmax_a' Q(s', a'))
//
// The maximum is taken on the host, between two recorded parts: what lies ahead of it (look), and what follows (learn).
type update struct {
	e          nets.Engine
	law        nets.Loss
	net, other nets.Net // Q_θ, Q'
	adam       nets.Optimizer
	double     bool
	n          int // choices

	takenQ, nextQ, targetQ choice.Pass // Q of the batch's states, of the next ones, Q' of these
	s, s2                  nets.Tensor
	best, bestTarget       nets.Tensor // what look left: Q(s', ·) where double, Q'(s', ·)

	// The choice taken as a one-hot row, and y in its place, 0 in the others: then the row of Q − y that is left by the
	// product with the one-hot row is the error of the choice taken, and the others' gradient is 0.
	taken, y, zero, chosen nets.Tensor // [1, batch, choices]
	// The engine's loss is a mean over all numbers of the rows, here it is one over the batch: both differ by the number
	// of choices.
	count, dmean, dq       nets.Tensor // [1, batch, choices]
	loss, sumLoss, sumNorm nets.Tensor
	args                   [2]nets.Tensor

	look, learn nets.Recorded
}

// newUpdate builds networks, optimiser and memory on an engine. Initial weights follow from key alone; the target
// begins as a copy.
func newUpdate(c *Config, arch nets.Arch, e nets.Engine, key rng.Key) (*update, error) {
	if err := arch.Validate(); err != nil {
		return nil, err
	}
	u := &update{e: e, law: c.law(), double: c.Double, n: arch.Output().Width}
	var err error
	if u.net, err = e.NewNet(arch); err != nil {
		return nil, err
	}
	if u.other, err = e.NewNet(arch); err != nil {
		return nil, err
	}
	if u.adam, err = e.NewAdam(u.net, nets.Adam{Rate: c.Rate, Clip: c.Clip}); err != nil {
		return nil, err
	}
	u.takenQ = choice.NewPass(u.net, c.Batch)
	u.nextQ = choice.NewPass(u.net, c.Batch)
	u.targetQ = choice.NewPass(u.other, c.Batch)
	obs := arch.Inputs()[0].Width
	u.s, u.s2 = e.NewTensor(1, c.Batch, obs), e.NewTensor(1, c.Batch, obs)
	for _, t := range []*nets.Tensor{&u.best, &u.bestTarget, &u.taken, &u.y, &u.zero, &u.chosen, &u.count, &u.dmean,
		&u.dq} {
		*t = e.NewTensor(1, c.Batch, u.n)
	}
	u.loss, u.sumLoss, u.sumNorm = e.NewTensor(1), e.NewTensor(1), e.NewTensor(1)
	u.count.Set(slices.Repeat([]float32{float32(u.n)}, c.Batch*u.n))
	u.net.Params().Set(nets.InitialParams(arch, key))
	e.Copy(u.other.Params(), u.net.Params())
	if err := e.Err(); err != nil {
		return nil, err
	}
	u.look, u.learn = e.Record("dqn: targets", u.ahead), e.Record("dqn: update", u.follow)
	return u, nil
}

// ahead values the next states.
func (u *update) ahead() {
	u.e.Copy(u.bestTarget, u.targetQ.Forward(u.s2))
	if u.double {
		u.e.Copy(u.best, u.nextQ.Forward(u.s2))
	}
}

// follow takes the gradient's step.
func (u *update) follow() {
	e := u.e
	e.TDTarget(u.chosen, u.zero, u.taken, u.takenQ.Forward(u.s)) // Q(s, a) in a's place
	u.args = [2]nets.Tensor{u.chosen, u.y}
	e.Loss(u.law, u.loss, u.dmean, u.args[:]...)
	e.TDTarget(u.dq, u.zero, u.count, u.dmean)
	u.net.ZeroGrads()
	u.net.Backward(u.takenQ.Work, u.dq, nets.Params)
	u.adam.Step()
	e.Add(u.sumLoss, float64(u.n), u.loss)
	e.Add(u.sumNorm, 1, u.adam.Norms())
}

// run does one update on a batch: the states lie in the tensors, the rest comes from b, whose y it fills in.
func (u *update) run(b *batch) error {
	if err := u.look.Run(); err != nil {
		return fmt.Errorf("dqn: update %d: %w", u.adam.Steps()+1, err)
	}
	u.bestTarget.Get(b.q2)
	if u.double {
		u.best.Get(b.by)
	}
	b.targets(u.double)
	u.taken.Set(b.taken)
	u.y.Set(b.y)
	u.adam.Advance()
	if err := u.learn.Run(); err != nil {
		return fmt.Errorf("dqn: update %d: %w", u.adam.Steps(), err)
	}
	return nil
}

// follows moves the target: θ' ← θ' + τ(θ − θ').
func (u *update) follows(tau float64) {
	if tau == 1 {
		u.e.Copy(u.other.Params(), u.net.Params())
		return
	}
	u.e.Lerp(u.other.Params(), u.net.Params(), tau)
}
