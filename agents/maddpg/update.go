package maddpg

import "github.com/stoker-rl/stoker/nets"

// update is one step of learning on a batch: critics, actors, targets. Equation numbers are FaaSConf's (ASE 2024); MADDPG and
// DDPG are the same equations with another Q.
type update struct {
	e   nets.Engine
	tau float64

	actor, actorTarget   policy   // π, π'
	critic, criticTarget nets.Net // Q, Q'
	actorAdam            nets.Optimizer
	criticAdam           nets.Optimizer

	// The batch, on the device: what was seen, done and earned, what was seen next, γ (0 where all ended) and, for choices, the
	// noise of π(s) and π'(s').
	s, a, r, s2, discount nets.Tensor
	noise, noise2         nets.Tensor

	// The critic's passes: on the batch's actions, on the policies', and the target's.
	taken, chosen, next nets.Work
	// others says that in the actor step the others' actions are the batch's, not the policies'.
	others bool

	y, dq       nets.Tensor // TD target and gradient by Q, [agents, batch, 1]
	penalty     nets.Penalty
	dlogits     nets.Tensor // gradient by the logits; nil for continuous actions
	criticLoss  nets.Tensor // [agents], as actorLoss and penaltyLoss
	actorLoss   nets.Tensor
	penaltyLoss nets.Tensor
	sums        sums
	present     presence
	recorded    nets.Recorded
}

// learn is the update: from top to bottom, operations on tensors only, so that an engine can record it. Losses are means over
// the batch for each agent, and the gradient is that of their sum: each agent's weights follow the losses that depend on them,
// shared weights all of them.
func (u *update) learn() {
	e := u.e

	// Eq. 3: ℓ(θ) = E[(Q(s, a) − y)²], y = r + γQ'(s', a') at a' = π'(s').
	a2 := u.present.next.of(u.actorTarget.forward(u.s2, u.noise2))
	q2 := u.criticTarget.Forward(u.next, u.s2, a2)
	e.TDTarget(u.y, u.r, u.discount, q2)
	q := u.q(u.taken, u.a)
	e.Loss(nets.SquaredError{}, u.criticLoss, u.dq, q, u.y)
	u.critic.ZeroGrads()
	u.critic.Backward(u.taken, u.present.error.of(u.dq), nets.Params) // ∇ℓ; with attention, θ holds W_q and W_k of eq. 9
	u.criticAdam.Step()

	// Eq. 4: ∇J = E[∇π(s) ∇_a Q(s, a)] at a = π(s). The critic stands still; the gradient passes through it to the action, with
	// attention also by way of the weights of eq. 7.
	a := u.present.action.of(u.actor.forward(u.s, u.noise))
	q = u.q(u.chosen, a)
	e.Loss(nets.Ascent{}, u.actorLoss, u.dq, q)
	u.critic.Backward(u.chosen, u.present.value.of(u.dq), nets.Inputs)
	da := u.chosen.GradIn(actionPort) // ∇_a Q, of −J
	u.actor.net.ZeroGrads()
	u.actor.net.Backward(u.actor.work, u.present.slope.of(u.byLogits(da)), nets.Params) // ∇π ∇_a Q
	u.actorAdam.Step()

	// θ' ← θ' + τ(θ − θ')
	e.Lerp(u.criticTarget.Params(), u.critic.Params(), u.tau)
	e.Lerp(u.actorTarget.net.Params(), u.actor.net.Params(), u.tau)

	u.sums.add(u)
}

// actionPort is the critic's input that holds the agents' own actions.
const actionPort = 1

// q is Q(s, a). Where the architecture sees the others' actions apart, those are the batch's.
func (u *update) q(w nets.Work, a nets.Tensor) nets.Tensor {
	if u.others {
		return u.critic.Forward(w, u.s, a, u.a)
	}
	return u.critic.Forward(w, u.s, a)
}

// byLogits takes the actor's gradient from its actions to its net's output: unchanged for continuous actions; for choices
// through the Gumbel-softmax, and the penalty on large logits is added.
func (u *update) byLogits(da nets.Tensor) nets.Tensor {
	if u.actor.head == nil {
		return da
	}
	u.actor.head.Backward(u.actor.headWork, da, nets.Inputs)
	u.e.Loss(u.penalty, u.penaltyLoss, u.dlogits, u.actor.logits)
	u.e.Add(u.dlogits, 1, u.actor.headWork.GradIn(0))
	return u.dlogits
}

// policy is π or π': a net and, for choices, the Gumbel-softmax over its logits.
type policy struct {
	net            nets.Net
	head           nets.Net
	work, headWork nets.Work
	logits         nets.Tensor // of the last forward
}

func (p *policy) forward(s, noise nets.Tensor) nets.Tensor {
	p.logits = p.net.Forward(p.work, s)
	if p.head == nil {
		return p.logits
	}
	return p.head.Forward(p.headWork, p.logits, noise)
}

// presence keeps absent agents out of an update: their actions are zero, as replay has them, and so are all gradients that
// pass them. Its masks are nil where agents are never absent.
type presence struct {
	next, action, slope *mask // by action: π'(s'), π(s), the gradient by π's net
	error, value        *mask // by Q: the gradient of the critic's error and of the actor's value
}

// mask multiplies by 1 for present agents and by 0 for absent ones.
type mask struct {
	e             nets.Engine
	on, zero, out nets.Tensor
}

func (m *mask) of(x nets.Tensor) nets.Tensor {
	if m == nil {
		return x
	}
	m.e.TDTarget(m.out, m.zero, m.on, x) // 0 + on·x
	return m.out
}

// sums add up each update's numbers on the device, so that learning never waits for the host.
type sums struct{ criticLoss, actorLoss, criticNorm, actorNorm nets.Tensor }

func (s *sums) add(u *update) {
	u.e.Add(s.criticLoss, 1, u.criticLoss)
	u.e.Add(s.actorLoss, 1, u.actorLoss)
	u.e.Add(s.criticNorm, 1, u.criticAdam.Norms())
	u.e.Add(s.actorNorm, 1, u.actorAdam.Norms())
}
