package reinforce

import (
	"github.com/stoker-rl/stoker/agents/choice"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// update changes policy and value by what a lesson says (Williams, 1992), means over all its steps:
//
//	∇J = E[∇ ln π(a|s)·A] + Entropy·∇E[H(π(s))],   A = w·(G − b(s))
//	∇ℓ = ∇E[(V(s) − G)²]
//
// Discounting begins anew at each step, as everybody does: the factor γ^t before ∇ ln π is left out. A lesson has as many steps as it
// has, a recorded update takes a fixed number: gradients are added up over parts of rows steps, the last of them padded with rows that have no legal
// choice and no return, which add nothing.
type update struct {
	e             nets.Engine
	rows, obs, n  int
	policy, value choice.Pass
	target        *choice.Pass // V', nil where the value itself stands for it
	policyAdam    nets.Optimizer
	valueAdam     nets.Optimizer // nil without values
	entropy       float64

	// A part of the lesson on the device.
	s, mask              nets.Tensor // [1, rows, obs], [1, rows, choices]
	choice, advantage    nets.Tensor // [1, rows, 1]
	on, ret              nets.Tensor // [1, rows, 1]: 1 where the value learns, and what (else 0)
	zero, zeroOne        nets.Tensor
	scale, scaleOne      nets.Tensor // rows over the lesson's steps: the engine's means are over a part
	dmean, dlogits       nets.Tensor // [1, rows, choices]
	told, dvmean, dvalue nets.Tensor // [1, rows, 1]
	loss                 nets.Tensor // [1], of a part
	args                 [4]nets.Tensor

	policyPart, valuePart nets.Recorded
	// The same on the host, padded.
	hs, hmask, hone []float32
}

// newUpdate builds networks, optimisers and memory on an engine. Initial weights follow from key alone; the target begins as a copy.
func newUpdate(c *Config, policy, value nets.Arch, e nets.Engine, key rng.Key) (*update, error) {
	u := &update{e: e, rows: c.Rows, obs: policy.Inputs()[0].Width, n: policy.Output().Width, entropy: c.Entropy}
	build := func(p *choice.Pass, a nets.Arch, k rng.Key) error {
		if err := a.Validate(); err != nil {
			return err
		}
		net, err := e.NewNet(a)
		if err != nil {
			return err
		}
		*p = choice.NewPass(net, c.Rows)
		net.Params().Set(nets.InitialParams(a, k))
		return nil
	}
	if err := build(&u.policy, policy, key.With(0)); err != nil {
		return nil, err
	}
	var err error
	if u.policyAdam, err = e.NewAdam(u.policy.Net, nets.Adam{Rate: c.Rate, Clip: c.Clip}); err != nil {
		return nil, err
	}
	if c.Baseline == Value {
		if err := build(&u.value, value, key.With(1)); err != nil {
			return nil, err
		}
		if u.valueAdam, err = e.NewAdam(u.value.Net, nets.Adam{Rate: c.ValueRate, Clip: c.Clip}); err != nil {
			return nil, err
		}
		if c.TargetTau > 0 {
			u.target = &choice.Pass{}
			if err := build(u.target, value, key.With(1)); err != nil {
				return nil, err
			}
		}
	}
	u.s = e.NewTensor(1, c.Rows, u.obs)
	for _, t := range []*nets.Tensor{&u.mask, &u.zero, &u.scale, &u.dmean, &u.dlogits} {
		*t = e.NewTensor(1, c.Rows, u.n)
	}
	for _, t := range []*nets.Tensor{&u.choice, &u.advantage, &u.on, &u.ret, &u.zeroOne, &u.scaleOne, &u.told, &u.dvmean, &u.dvalue} {
		*t = e.NewTensor(1, c.Rows, 1)
	}
	u.loss = e.NewTensor(1)
	u.hs, u.hmask, u.hone = make([]float32, c.Rows*u.obs), make([]float32, c.Rows*u.n), make([]float32, c.Rows)
	u.policyPart, u.valuePart = e.Record("reinforce: policy", u.learnPolicy), e.Record("reinforce: value", u.learnValue)
	return u, e.Err()
}

// learnPolicy adds a part's gradient of −J.
func (u *update) learnPolicy() {
	logits := u.policy.Forward(u.s)
	u.args = [4]nets.Tensor{logits, u.choice, u.advantage, u.mask}
	u.e.Loss(nets.PolicyGradient{Entropy: u.entropy}, u.loss, u.dmean, u.args[:]...)
	u.e.TDTarget(u.dlogits, u.zero, u.scale, u.dmean) // scale·dmean
	u.policy.Net.Backward(u.policy.Work, u.dlogits, nets.Params)
}

// learnValue adds a part's gradient of ℓ.
func (u *update) learnValue() {
	u.e.TDTarget(u.told, u.zeroOne, u.on, u.value.Forward(u.s)) // 0 where the value doesn't learn
	u.args = [4]nets.Tensor{u.told, u.ret}
	u.e.Loss(nets.SquaredError{}, u.loss, u.dvmean, u.args[:2]...)
	u.e.TDTarget(u.dvalue, u.zeroOne, u.scaleOne, u.dvmean)
	u.value.Net.Backward(u.value.Work, u.dvalue, nets.Params)
}

// policyGradient leaves the lesson's gradient of −J in the policy's Grads and returns −J.
func (u *update) policyGradient(l *lesson) (loss float64, err error) {
	u.policy.Net.ZeroGrads()
	factor := u.share(u.scale, l.rows())
	for from := 0; from < l.rows(); from += u.rows {
		u.seen(l.places[from:])
		u.legal(l.places[from:])
		u.rowsOf(u.choice, u.hone, l.choice, from, 1)
		u.rowsOf(u.advantage, u.hone, l.advantage, from, 1)
		if err := u.policyPart.Run(); err != nil {
			return 0, err
		}
		loss += factor * one(u.loss)
	}
	return loss, nil
}

// valueGradient leaves the lesson's gradient of ℓ in the value's Grads and returns ℓ.
func (u *update) valueGradient(l *lesson) (loss float64, err error) {
	u.value.Net.ZeroGrads()
	own := 0
	for _, t := range l.trajectories[:l.fresh] {
		own += t.steps
	}
	factor := u.share(u.scaleOne, own)
	for from := 0; from < own; from += u.rows {
		u.seen(l.places[from:own])
		u.rowsOf(u.on, u.hone, l.own[:own], from, 1)
		u.rowsOf(u.ret, u.hone, l.ret[:own], from, 1)
		if err := u.valuePart.Run(); err != nil {
			return 0, err
		}
		loss += factor * one(u.loss)
	}
	return loss, nil
}

// step takes the optimiser's step by the gradient that lies there and returns the gradient's norm.
func step(o nets.Optimizer) float64 {
	o.Advance()
	o.Step()
	return one(o.Norms())
}

// share fills a tensor with rows over the steps of a lesson.
func (u *update) share(t nets.Tensor, steps int) float64 {
	x := make([]float32, nets.Size(t))
	factor := float64(u.rows) / float64(steps)
	for i := range x {
		x[i] = float32(factor)
	}
	t.Set(x)
	return factor
}

// rowsOf uploads rows of a lesson from one on, padded with zeros.
func (u *update) rowsOf(t nets.Tensor, host, all []float32, from, width int) {
	n := copy(host, all[from*width:])
	clear(host[n:])
	t.Set(host)
}

// seen uploads what was seen at places, padded with zeros, and says how many it took.
func (u *update) seen(at []place) int {
	n := min(u.rows, len(at))
	for i, p := range at[:n] {
		p.t.seen.(*vectorSeen).get(p.step, u.hs[i*u.obs:(i+1)*u.obs])
	}
	clear(u.hs[n*u.obs:])
	u.s.Set(u.hs)
	return n
}

// legal uploads what was legal at places; in the padding nothing is.
func (u *update) legal(at []place) {
	clear(u.hmask)
	for i, p := range at[:min(u.rows, len(at))] {
		for j, legal := range p.t.mask[p.step*u.n : (p.step+1)*u.n] {
			if legal {
				u.hmask[i*u.n+j] = 1
			}
		}
	}
	u.mask.Set(u.hmask)
}

// forward calls f with what a net gives for places, part by part: [rows, width of the output] from a row on.
func (u *update) forward(p *choice.Pass, at []place, f func(from int, out []float32)) error {
	w := p.Net.Arch().Output().Width
	host := make([]float32, u.rows*w)
	for from := 0; from < len(at); from += u.rows {
		n := u.seen(at[from:])
		p.Forward(u.s).Get(host)
		f(from, host[:n*w])
	}
	return u.e.Err()
}

// one is the number of a tensor that holds one.
func one(t nets.Tensor) float64 {
	var x [1]float32
	t.Get(x[:])
	return float64(x[0])
}
