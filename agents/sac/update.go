package sac

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// update is one step of learning on a minibatch: critics, policy, temperature, targets (Haarnoja et al., 2018b,
// algorithm 1). Equation numbers are the paper's.
type update struct {
	e        nets.Engine
	tau      float64
	autotune bool

	actor                 nets.Net    // π_φ
	critics, targets      [2]nets.Net // Q_θ and Q_θ', two of each
	temperature           nets.Net    // ln α
	actorAdam, alphaAdam  nets.Optimizer
	criticAdams           [2]nets.Optimizer
	policy, nextPolicy    policy
	takenQ, chosenQ       [2]learning.Pass // Q of the minibatch's actions, and of the policy's
	nextQ                 [2]learning.Pass // Q' of the policy's actions at s'
	logAlpha              learning.Pass
	value, nextValue      learning.Pass // min Q − α ln π, at s and at s'
	tdError               [2]learning.Loss
	ascent, tune, measure learning.Loss

	// The minibatch, on the device: s, a, r, s', γ (0 where the episode terminated and for an agent that leaves), 1 for
	// agents that are present at s, and the noise of the actions at s and at s'.
	s, a, r, s2, discount, present, noise, noise2 nets.Tensor

	zero, y, dq, dv, dalpha, unused nets.Tensor // [agents, batch, 1]
	da, dmoments                    nets.Tensor
	sums                            sums
	recorded                        nets.Recorded
}

// learn is the update. It consists of operations on tensors only, so that an engine can record it. Losses are means
// over the minibatch for each agent, and the gradient is that of their sum: weights of one agent's own follow the
// losses that depend on them, shared weights follow all of them.
func (u *update) learn() {
	e := u.e
	logAlpha := u.logAlpha.Forward(u.zero)

	// Eqs. 5 and 6: J_Q(θ_i) = E[(Q_θi(s, a) − y)²], y = r + γ(min_i Q_θ'i(s', a') − α ln π(a'|s')), a' ~ π(s').
	a2, logProb2 := u.nextPolicy.act(u.s2, u.noise2)
	q1, q2 := u.nextQ[0].Forward(u.s2, a2), u.nextQ[1].Forward(u.s2, a2)
	e.TDTarget(u.y, u.r, u.discount, u.nextValue.Forward(q1, q2, logProb2, logAlpha))
	for i := range u.critics {
		q := u.takenQ[i].Forward(u.s, u.a)
		u.tdError[i].Gradient(u.dq, q, u.y)
		u.critics[i].ZeroGrads()
		u.takenQ[i].Backward(u.here(u.dq), nets.Params)
		u.criticAdams[i].Step()
	}

	// Eqs. 7 to 9: J_π(φ) = E[α ln π(a|s) − min_i Q_θi(s, a)], a = f_φ(ε; s). The gradient passes through the critics to
	// the action; their weights do not change here.
	a, logProb := u.policy.act(u.s, u.noise)
	q1, q2 = u.chosenQ[0].Forward(u.s, a), u.chosenQ[1].Forward(u.s, a)
	u.ascent.Gradient(u.dv, u.value.Forward(q1, q2, logProb, logAlpha))
	u.value.Backward(u.here(u.dv), nets.Inputs)
	for i := range u.critics {
		u.chosenQ[i].Backward(u.value.Work.GradIn(i), nets.Inputs)
	}
	e.Copy(u.da, u.chosenQ[0].Work.GradIn(actionPort))
	e.Add(u.da, 1, u.chosenQ[1].Work.GradIn(actionPort))
	u.actor.ZeroGrads()
	u.policy.actor.Backward(u.byMoments(u.da, u.value.Work.GradIn(logProbPort)), nets.Params)
	u.actorAdam.Step()

	// Eq. 18: J(α) = E[−α(ln π(a|s) + H)], H the target entropy, by ln α.
	u.tune.Gradient(u.dalpha, logAlpha, logProb)
	if u.autotune {
		u.temperature.ZeroGrads()
		u.logAlpha.Backward(u.here(u.dalpha), nets.Params)
		u.alphaAdam.Step()
	}

	// θ'_i ← θ'_i + τ(θ_i − θ'_i)
	for i := range u.critics {
		e.Lerp(u.targets[i].Params(), u.critics[i].Params(), u.tau)
	}

	u.measure.Gradient(u.unused, logProb) // its value is the mean of −ln π
	u.sums.add(u)
}

// Inputs: the moments of both layers of the policy, the critics' action, and ln π of the soft value.
const (
	momentsPort = 0
	actionPort  = 1
	logProbPort = 2
)

// here leaves absent agents out of a gradient [agents, batch, 1], in place.
func (u *update) here(g nets.Tensor) nets.Tensor {
	u.e.TDTarget(g, u.zero, u.present, g) // 0 + present·g
	return g
}

// policy is π at one state: the actor, and the layers that make an action and its ln π of the actor's moments and noise.
type policy struct{ actor, action, logProb learning.Pass }

// act returns an action and its ln π.
func (p *policy) act(s, noise nets.Tensor) (action, logProb nets.Tensor) {
	moments := p.actor.Forward(s)
	return p.action.Forward(moments, noise), p.logProb.Forward(moments, noise)
}

// byMoments is the gradient by the moments, given those by the action and by ln π.
func (u *update) byMoments(byAction, byLogProb nets.Tensor) nets.Tensor {
	u.policy.action.Backward(byAction, nets.Inputs)
	u.policy.logProb.Backward(byLogProb, nets.Inputs)
	u.e.Copy(u.dmoments, u.policy.action.Work.GradIn(momentsPort))
	u.e.Add(u.dmoments, 1, u.policy.logProb.Work.GradIn(momentsPort))
	return u.dmoments
}

// sums adds up the metrics of updates on the device, so that an update needs no transfer to the host.
type sums struct{ criticLoss, actorLoss, alphaLoss, entropy, criticNorm, actorNorm nets.Tensor }

func (s *sums) add(u *update) {
	for i := range u.critics {
		u.e.Add(s.criticLoss, 0.5, u.tdError[i].Value)
		u.e.Add(s.criticNorm, 0.5, u.criticAdams[i].Norms())
	}
	u.e.Add(s.actorLoss, 1, u.ascent.Value)
	u.e.Add(s.actorNorm, 1, u.actorAdam.Norms())
	u.e.Add(s.alphaLoss, 1, u.tune.Value)
	u.e.Add(s.entropy, 1, u.measure.Value)
}

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
