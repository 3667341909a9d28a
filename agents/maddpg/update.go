package maddpg

import (
	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/nets"
)

// update is one step of learning on a minibatch: critics, actors, targets. Equation numbers are FaaSConf's (ASE 2024);
// MADDPG and DDPG are the same equations with another Q.
type update struct {
	e   nets.Engine
	tau float64

	actor, critic             nets.Net // π_φ, Q_θ
	actorTarget, criticTarget nets.Net // π', Q'
	actorAdam, criticAdam     nets.Optimizer

	// The minibatch, on the device: s, a, r, s', γ (0 where the episode terminated) and, for choices, the noise of π(s)
	// and π'(s').
	s, a, r, s2, discount nets.Tensor
	noise, noise2         nets.Tensor
	// others says that the actor step takes the others' actions from the minibatch, not from the policies.
	others bool

	// separate is set where each agent has its own minibatch and its critic sees all agents, else nil.
	separate *separate

	policy, targetPolicy     policy
	takenQ, chosenQ, targetQ learning.Pass // Q of the minibatch's actions, Q of the policies' actions, Q' of the targets' actions
	y, dq                    nets.Tensor
	tdError, ascent, penalty learning.Loss
	dlogits                  nets.Tensor // gradient with respect to the logits
	present                  presence
	sums                     sums
	recorded                 nets.Recorded
}

// learn is the update. It consists of operations on tensors only, so that an engine can record it. Losses are means
// over the minibatch for each agent, and the gradient is that of their sum: weights of one agent's own follow the
// losses that depend on them, shared weights follow all of them.
func (u *update) learn() {
	e := u.e

	// Eq. 3: ℓ(θ) = E[(Q(s, a) − y)²], y = r + γQ'(s', a') at a' = π'(s').
	q2 := u.next()
	e.TDTarget(u.y, u.r, u.discount, q2)
	q := u.q(&u.takenQ, u.a)
	u.tdError.Gradient(u.dq, q, u.y)
	u.critic.ZeroGrads()
	u.takenQ.Backward(u.present.error.of(u.dq), nets.Params) // ∇_θ ℓ; with attention, θ holds W_q and W_k of eq. 9
	u.criticAdam.Step()

	// Eq. 4: ∇_φ J = E[∇_φ π(s) ∇_a Q(s, a)] at a = π(s). The critic's weights do not change here; the gradient passes
	// through the critic to the action and, with attention, also through the weights of eq. 7.
	a := u.present.action.of(u.policy.act(u.s, u.noise))
	q = u.q(&u.chosenQ, a)
	u.ascent.Gradient(u.dq, q)
	u.chosenQ.Backward(u.present.value.of(u.dq), nets.Inputs)
	da := u.chosenQ.Work.GradIn(actionPort) // the gradient of −J with respect to the action
	u.actor.ZeroGrads()
	u.policy.Backward(u.present.slope.of(u.byLogits(da)), nets.Params) // ∇_φ π ∇_a Q
	u.actorAdam.Step()

	// θ' ← θ' + τ(θ − θ'), φ' ← φ' + τ(φ − φ')
	e.Lerp(u.criticTarget.Params(), u.critic.Params(), u.tau)
	e.Lerp(u.actorTarget.Params(), u.actor.Params(), u.tau)

	u.sums.add(u)
}

// actionPort is the critic's input that holds the agents' own actions.
const actionPort = 1

// q is Q(s, a). Where the others' actions are a separate input, they are the minibatch's.
func (u *update) q(p *learning.Pass, a nets.Tensor) nets.Tensor {
	switch {
	case u.separate != nil:
		return p.Forward(u.separate.seen, a, u.separate.others)
	case u.others:
		return p.Forward(u.s, a, u.a)
	}
	return p.Forward(u.s, a)
}

// next is Q'(s', π'(s')).
func (u *update) next() nets.Tensor {
	if u.separate != nil {
		return u.targetQ.Forward(u.separate.seen2, u.separate.a2, u.separate.others2)
	}
	a2 := u.present.next.of(u.targetPolicy.act(u.s2, u.noise2))
	return u.targetQ.Forward(u.s2, a2)
}

// byLogits is the gradient with respect to the actor's logits, given that with respect to its actions, plus the penalty
// on large logits, which keeps sigmoid and softmax from saturating.
func (u *update) byLogits(da nets.Tensor) nets.Tensor {
	u.policy.head.Backward(da, nets.Inputs)
	u.penalty.Gradient(u.dlogits, u.policy.logits)
	u.e.Add(u.dlogits, 1, u.policy.head.Work.GradIn(0))
	return u.dlogits
}

// policy is π or π': a network that gives logits, and the head that turns them into actions: a sigmoid, or for choices
// the Gumbel-softmax with its noise.
type policy struct {
	learning.Pass
	head   learning.Pass
	logits nets.Tensor // of the last act
}

func (p *policy) act(s, noise nets.Tensor) nets.Tensor {
	p.logits = p.Forward(s)
	if noise == nil {
		return p.head.Forward(p.logits)
	}
	return p.head.Forward(p.logits, noise)
}

// presence leaves absent agents out of an update: their actions are zero, as in the replay buffer, and so are all
// gradients that pass through them. Its masks are nil where agents are never absent.
type presence struct {
	next, action, slope *mask // shaped as actions: for π'(s'), π(s) and the gradient into π
	error, value        *mask // shaped as Q: for the gradient of the critic's loss and of the actor's
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

// sums adds up the metrics of updates on the device, so that an update needs no transfer to the host.
type sums struct{ criticLoss, actorLoss, criticNorm, actorNorm nets.Tensor }

func (s *sums) add(u *update) {
	u.e.Add(s.criticLoss, 1, u.tdError.Value)
	u.e.Add(s.actorLoss, 1, u.ascent.Value)
	u.e.Add(s.criticNorm, 1, u.criticAdam.Norms())
	u.e.Add(s.actorNorm, 1, u.actorAdam.Norms())
}
