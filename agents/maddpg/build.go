package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// newUpdate builds networks, optimisers and buffers on an engine. Initial weights follow from key alone; targets begin
// as copies of the learned networks.
func newUpdate(c *Config, p *problem, e nets.Engine, key rng.Key) (*update, error) {
	b := builder{e: e, n: p.agents, batch: c.Batch}
	u := &update{e: e, tau: c.Tau, others: c.othersFromReplay()}
	own := c.Batches == Independent && c.Mix == Joint && p.agents > 1

	u.actor, u.actorTarget = b.net(c.actorArch(p, nets.None)), b.net(c.actorArch(p, nets.None))
	if own {
		u.critic, u.criticTarget = b.net(c.separateArch(p)), b.net(c.separateArch(p))
	} else {
		u.critic, u.criticTarget = b.net(c.criticArch(p, u.others)), b.net(c.criticArch(p, false))
	}
	u.actorAdam = b.adam(u.actor, nets.Adam{Rate: c.ActorRate, Clip: c.Clip})
	u.criticAdam = b.adam(u.critic, nets.Adam{Rate: c.CriticRate, Clip: c.Clip})
	head := b.head(c.headArch(p), p)
	u.policy.pass, u.policy.head = b.pass(u.actor), b.pass(head)
	if !own {
		u.targetPolicy.pass, u.targetPolicy.head = b.pass(u.actorTarget), b.pass(head)
	}
	u.takenQ, u.chosenQ, u.targetQ = b.pass(u.critic), b.pass(u.critic), b.pass(u.criticTarget)
	if b.err != nil {
		return nil, b.err
	}
	u.tdError, u.ascent = b.loss(nets.SquaredError{}), b.loss(nets.Ascent{})
	u.penalty = b.loss(nets.Penalty{Coef: c.LogitPenalty})

	u.s, u.a = b.tensor(p.obs), b.tensor(p.act)
	u.dlogits = b.tensor(p.act)
	if p.discrete() {
		u.noise = b.tensor(p.act)
	}
	if own {
		u.separate = b.separate(u, p, head)
		u.s2, u.noise2 = u.separate.s2, u.separate.noise2
	} else if u.s2 = b.tensor(p.obs); p.discrete() {
		u.noise2 = b.tensor(p.act)
	}
	u.r, u.discount, u.y, u.dq = b.tensor(1), b.tensor(1), b.tensor(1), b.tensor(1)
	u.sums = sums{
		criticLoss: e.NewTensor(p.agents), actorLoss: e.NewTensor(p.agents),
		criticNorm: e.NewTensor(u.criticAdam.Norms().Shape()...), actorNorm: e.NewTensor(u.actorAdam.Norms().Shape()...),
	}
	if c.Absent && c.Mix != Single {
		u.present = b.presence(p.act)
	}

	u.actor.Params().Set(nets.InitialParams(u.actor.Arch(), key.With(0)))
	u.critic.Params().Set(nets.InitialParams(u.critic.Arch(), key.With(1)))
	e.Copy(u.actorTarget.Params(), u.actor.Params())
	e.Copy(u.criticTarget.Params(), u.critic.Params())
	if err := e.Err(); err != nil {
		return nil, fmt.Errorf("maddpg: %w", err)
	}
	u.recorded = e.Record("maddpg", u.learn)
	return u, nil
}

// run does one update on the minibatch that is in the tensors.
func (u *update) run() error {
	if u.separate != nil {
		if err := u.separate.choose(); err != nil {
			return err
		}
	}
	u.criticAdam.Advance()
	u.actorAdam.Advance()
	if err := u.recorded.Run(); err != nil {
		return fmt.Errorf("maddpg: update %d: %w", u.criticAdam.Steps(), err)
	}
	return nil
}

// builder makes an update's parts and remembers the first error.
type builder struct {
	e        nets.Engine
	n, batch int
	err      error
}

func (b *builder) net(a nets.Arch) nets.Net {
	if b.err != nil {
		return nil
	}
	if b.err = a.Validate(); b.err != nil {
		return nil
	}
	n, err := b.e.NewNet(a)
	b.err = err
	return n
}

// head builds what turns logits into actions. Where that is a layer, its weights are the identity, and nothing trains
// them.
func (b *builder) head(a nets.Arch, p *problem) nets.Net {
	n := b.net(a)
	if b.err != nil || p.discrete() {
		return n
	}
	identity := make([]float32, nets.Size(n.Params())) // [act, act] weights, then biases of zero
	for i := range p.act {
		identity[i*p.act+i] = 1
	}
	n.Params().Set(identity)
	return n
}

func (b *builder) adam(n nets.Net, c nets.Adam) nets.Optimizer {
	if b.err != nil {
		return nil
	}
	o, err := b.e.NewAdam(n, c)
	b.err = err
	return o
}

func (b *builder) pass(n nets.Net) pass {
	if b.err != nil {
		return pass{}
	}
	return pass{net: n, work: n.NewWork(b.batch)}
}

func (b *builder) loss(l nets.Loss) loss { return loss{e: b.e, fn: l, value: b.e.NewTensor(b.n)} }

func (b *builder) tensor(width int) nets.Tensor { return b.e.NewTensor(b.n, b.batch, width) }

func (b *builder) presence(act int) presence {
	mk := func(on, zero nets.Tensor, width int) *mask { return &mask{b.e, on, zero, b.tensor(width)} }
	on, onAction, onNext := b.tensor(1), b.tensor(act), b.tensor(act)
	zero, zeroAction := b.tensor(1), b.tensor(act)
	return presence{
		next:   mk(onNext, zeroAction, act),
		action: mk(onAction, zeroAction, act), slope: mk(onAction, zeroAction, act),
		error: mk(on, zero, 1), value: mk(on, zero, 1),
	}
}
