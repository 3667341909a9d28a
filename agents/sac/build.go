package sac

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// newUpdate builds networks, optimisers and buffers on an engine. Initial weights follow from key alone; targets begin
// as copies of the critics.
func newUpdate(c *Config, p *problem, e nets.Engine, key rng.Key) (*update, error) {
	b := learning.Builder{Engine: e, Agents: p.agents, Batch: c.Batch}
	u := &update{e: e, tau: c.Tau, autotune: c.Autotune}
	u.actor, u.temperature = b.Drawn(c.actorArch(p), key.With(0)), b.Net(c.temperatureArch(p))
	u.actorAdam = b.Adam(u.actor, nets.Adam{Rate: c.ActorRate, Clip: c.Clip})
	u.alphaAdam = b.Adam(u.temperature, nets.Adam{Rate: c.AlphaRate})
	action := b.Net(nets.SquashedGaussian{Agents: p.agents, Actions: p.act})
	logProb := b.Net(nets.SquashedGaussian{Agents: p.agents, Actions: p.act, LogProb: true})
	value := b.Net(nets.SoftValue{Agents: p.agents})
	for i := range u.critics {
		u.critics[i] = b.Drawn(c.criticArch(p), key.With(1+uint64(i)))
		u.targets[i] = b.Copied(c.criticArch(p), u.critics[i])
		u.criticAdams[i] = b.Adam(u.critics[i], nets.Adam{Rate: c.CriticRate, Clip: c.Clip})
		u.takenQ[i], u.chosenQ[i], u.nextQ[i] = b.Pass(u.critics[i]), b.Pass(u.critics[i]), b.Pass(u.targets[i])
	}
	u.policy = policy{b.Pass(u.actor), b.Pass(action), b.Pass(logProb)}
	u.nextPolicy = policy{b.Pass(u.actor), b.Pass(action), b.Pass(logProb)}
	u.logAlpha, u.value, u.nextValue = b.Pass(u.temperature), b.Pass(value), b.Pass(value)
	if b.Err != nil {
		return nil, b.Err
	}
	u.tdError = [2]learning.Loss{b.Loss(nets.SquaredError{}), b.Loss(nets.SquaredError{})}
	u.ascent, u.measure = b.Loss(nets.Ascent{}), b.Loss(nets.Ascent{})
	u.tune = b.Loss(nets.Temperature{Target: c.TargetEntropy * float64(p.act)})

	u.s, u.s2, u.a = b.Tensor(p.obs), b.Tensor(p.obs), b.Tensor(p.act)
	u.noise, u.noise2, u.da, u.dmoments = b.Tensor(p.act), b.Tensor(p.act), b.Tensor(p.act), b.Tensor(2*p.act)
	for _, t := range []*nets.Tensor{&u.r, &u.discount, &u.present, &u.zero, &u.y, &u.dq, &u.dv, &u.dalpha, &u.unused} {
		*t = b.Tensor(1)
	}
	for _, t := range []*nets.Tensor{&u.sums.criticLoss, &u.sums.actorLoss, &u.sums.alphaLoss, &u.sums.entropy} {
		*t = e.NewTensor(p.agents)
	}
	u.sums.criticNorm = e.NewTensor(u.criticAdams[0].Norms().Shape()...)
	u.sums.actorNorm = e.NewTensor(u.actorAdam.Norms().Shape()...)

	groups := u.temperature.Arch().Groups()
	u.temperature.Params().Set(slices.Repeat([]float32{0, float32(math.Log(c.Alpha))}, groups)) // weight, bias
	if err := e.Err(); err != nil {
		return nil, err
	}
	u.recorded = e.Record("sac", u.learn)
	return u, nil
}

// run does one update on the minibatch that is in the tensors.
func (u *update) run() error {
	for i := range u.criticAdams {
		u.criticAdams[i].Advance()
	}
	u.actorAdam.Advance()
	u.alphaAdam.Advance()
	if err := u.recorded.Run(); err != nil {
		return fmt.Errorf("update %d: %w", u.actorAdam.Steps(), err)
	}
	return nil
}

// setRates multiplies the configured learning rates by a factor.
func (u *update) setRates(c *Config, factor float64) {
	u.actorAdam.SetRate(factor * c.ActorRate)
	u.alphaAdam.SetRate(factor * c.AlphaRate)
	for _, a := range u.criticAdams {
		a.SetRate(factor * c.CriticRate)
	}
}

// alpha is the present temperature, the mean over agents.
func (u *update) alpha() float64 {
	p := u.temperature.Params()
	x := make([]float32, nets.Size(p))
	p.Get(x)
	sum := 0.0
	for i := 1; i < len(x); i += 2 { // weight, bias
		sum += math.Exp(float64(x[i]))
	}
	return sum / float64(len(x)/2)
}
