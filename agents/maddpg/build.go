package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/internal/learning"
	"github.com/stoker-rl/stoker/envs"
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// newUpdate builds networks, optimisers and buffers on an engine. Initial weights follow from key alone; targets begin
// as copies of the learned networks.
func newUpdate(c *Config, p *problem, e nets.Engine, key rng.Key) (*update, error) {
	b := builder{learning.Builder{Engine: e, Agents: p.agents, Batch: c.Batch}}
	u := &update{e: e, tau: c.Tau, others: c.othersFromReplay()}
	own := c.Batches == Independent && c.Mix == Joint && p.agents > 1

	critic, target := c.criticArch(p, u.others), c.criticArch(p, false)
	if own {
		critic, target = c.separateArch(p), c.separateArch(p)
	}
	u.actor, u.critic = b.Drawn(c.actorArch(p, nets.None), key.With(0)), b.Drawn(critic, key.With(1))
	u.actorTarget, u.criticTarget = b.Copied(c.actorArch(p, nets.None), u.actor), b.Copied(target, u.critic)
	u.actorAdam = b.Adam(u.actor, nets.Adam{Rate: c.ActorRate, Clip: c.Clip})
	u.criticAdam = b.Adam(u.critic, nets.Adam{Rate: c.CriticRate, Clip: c.Clip})
	head := b.head(c.headArch(p), p)
	u.policy.Pass, u.policy.head = b.Pass(u.actor), b.Pass(head)
	if !own {
		u.targetPolicy.Pass, u.targetPolicy.head = b.Pass(u.actorTarget), b.Pass(head)
	}
	u.takenQ, u.chosenQ, u.targetQ = b.Pass(u.critic), b.Pass(u.critic), b.Pass(u.criticTarget)
	if b.Err != nil {
		return nil, b.Err
	}
	u.tdError, u.ascent = b.Loss(nets.SquaredError{}), b.Loss(nets.Ascent{})
	u.penalty = b.Loss(nets.Penalty{Coef: c.LogitPenalty})

	u.s, u.a = b.Tensor(p.obs), b.Tensor(p.act)
	u.dlogits = b.Tensor(p.act)
	if p.discrete() {
		u.noise = b.Tensor(p.act)
	}
	if own {
		u.separate = b.separate(u, p, head)
		u.s2, u.noise2 = u.separate.s2, u.separate.noise2
	} else if u.s2 = b.Tensor(p.obs); p.discrete() {
		u.noise2 = b.Tensor(p.act)
	}
	u.r, u.discount, u.y, u.dq = b.Tensor(1), b.Tensor(1), b.Tensor(1), b.Tensor(1)
	u.sums = sums{
		criticLoss: e.NewTensor(p.agents), actorLoss: e.NewTensor(p.agents),
		criticNorm: e.NewTensor(u.criticAdam.Norms().Shape()...), actorNorm: e.NewTensor(u.actorAdam.Norms().Shape()...),
	}
	if c.Absent && c.Mix != Single {
		u.present = b.presence(p.act)
	}

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
		return fmt.Errorf("update %d: %w", u.criticAdam.Steps(), err)
	}
	return nil
}

// builder makes an update's parts.
type builder struct{ learning.Builder }

// head builds what turns logits into actions. Where that is a layer, its weights are the identity, and nothing trains
// them.
func (b *builder) head(a nets.Arch, p *problem) nets.Net {
	n := b.Net(a)
	if b.Err != nil || p.discrete() {
		return n
	}
	identity := make([]float32, nets.Size(n.Params())) // [act, act] weights, then biases of zero
	for i := range p.act {
		identity[i*p.act+i] = 1
	}
	n.Params().Set(identity)
	return n
}

func (b *builder) presence(act int) presence {
	mk := func(on, zero nets.Tensor, width int) *mask { return &mask{b.Engine, on, zero, b.Tensor(width)} }
	on, onAction, onNext := b.Tensor(1), b.Tensor(act), b.Tensor(act)
	zero, zeroAction := b.Tensor(1), b.Tensor(act)
	return presence{
		next:   mk(onNext, zeroAction, act),
		action: mk(onAction, zeroAction, act), slope: mk(onAction, zeroAction, act),
		error: mk(on, zero, 1), value: mk(on, zero, 1),
	}
}

// separate is the part of an update that differs where each agent learns from its own minibatch and its critic sees all
// agents, as in the code of Lowe et al. (2017). Agent i's critic sees the observations and actions of all agents in
// minibatch i, its own numbers first. Its inputs are
//
//	(s_i, s_others), a_i, a_others
//
// The targets' actions in all minibatches are computed first, in a separate recorded pass: every agent's target actor
// acts in every minibatch.
type separate struct {
	agents, batch, obs, act int

	s2       nets.Tensor // next observations of agent j in all minibatches, [agents, agents·batch, obs]
	noise2   nets.Tensor // Gumbel noise in the same order, where actions are choices
	policy   policy      // π' on those
	record   nets.Recorded
	chosen   nets.Tensor // its actions
	host     []float32
	parallel func(parts int, part func(i, w int))
	part     func(i, w int) // distribute, as parallel takes it

	seen, seen2         nets.Tensor // all agents' observations and next observations, [agents, batch, agents·obs]
	a2, others, others2 nets.Tensor // the agent's own next action, the others' action and next action
	put                 struct{ seen, seen2, a2, others, others2 *blocks }
}

// upload writes a block's rows to the inputs of agent i's critic.
func (a *separate) upload(s block, i int) {
	w, row, n := s.m.buf.Width(), s.row, s.n
	for j := range a.agents {
		s.s2.put(j, i*a.batch+row, n, 0, a.obs, s.columns(colNext, j, a.obs), w)
	}
	ownFirst := func(b *blocks, column int) {
		b.put(i, row, n, 0, a.obs, s.columns(column, i, a.obs), w)
		b.put(i, row, n, a.obs, i*a.obs, s.columns(column, 0, a.obs), w)
		b.put(i, row, n, (i+1)*a.obs, (a.agents-1-i)*a.obs, s.columns(column, i+1, a.obs), w)
	}
	ownFirst(a.put.seen, colObservation)
	ownFirst(a.put.seen2, colNext)
	a.put.others.put(i, row, n, 0, i*a.act, s.columns(colAction, 0, a.act), w)
	a.put.others.put(i, row, n, i*a.act, (a.agents-1-i)*a.act, s.columns(colAction, i+1, a.act), w)
}

// done ends the upload of the minibatches.
func (a *separate) done() {
	for _, b := range [...]*blocks{a.put.seen, a.put.seen2, a.put.others} {
		b.done()
	}
}

// choose runs the target actors on all minibatches and gives each critic the actions of its own minibatch.
func (a *separate) choose() error {
	if err := a.record.Run(); err != nil {
		return fmt.Errorf("the targets' actions: %w", err)
	}
	if _, ok := a.chosen.(blockGetter); !ok {
		a.chosen.Get(a.host)
	}
	a.parallel(a.agents*a.parts(), a.part)
	a.put.a2.done()
	a.put.others2.done()
	return nil
}

// blockGetter is a tensor that can be read in blocks, as a [blockSetter] is written.
type blockGetter interface {
	GetBlock(agent, row, rows int, dst []float32)
}

// parts is the number of blocks of a minibatch.
func (a *separate) parts() int { return (a.batch + blockRows - 1) / blockRows }

// distribute copies a block of one minibatch's actions to the critic that learns from it.
func (a *separate) distribute(part, _ int) {
	i, row := part/a.parts(), part%a.parts()*blockRows
	n := min(blockRows, a.batch-row)
	at := 0
	for j := range a.agents {
		first := i*a.batch + row
		src := a.host[(j*a.agents*a.batch+first)*a.act:][:n*a.act]
		if g, ok := a.chosen.(blockGetter); ok {
			g.GetBlock(j, first, n, src)
		}
		if j == i {
			a.put.a2.put(i, row, n, 0, a.act, src, a.act)
			continue
		}
		a.put.others2.put(i, row, n, at, a.act, src, a.act)
		at += a.act
	}
}

// separate builds the part of the update for minibatches of each agent's own.
func (b *builder) separate(u *update, p *problem, head nets.Net) *separate {
	n := p.agents
	a := &separate{agents: n, batch: b.Batch, obs: p.obs, act: p.act, host: make([]float32, n*n*b.Batch*p.act)}
	a.s2 = b.Engine.NewTensor(n, n*b.Batch, p.obs)
	if p.discrete() {
		a.noise2 = b.Engine.NewTensor(n, n*b.Batch, p.act)
	}
	a.policy.Pass = learning.NewPass(u.actorTarget, n*b.Batch)
	a.policy.head = learning.NewPass(head, n*b.Batch)
	a.seen, a.seen2 = b.Tensor(n*p.obs), b.Tensor(n*p.obs)
	a.a2, a.others, a.others2 = b.Tensor(p.act), b.Tensor((n-1)*p.act), b.Tensor((n-1)*p.act)
	a.put.seen, a.put.seen2, a.put.a2 = newBlocks(a.seen), newBlocks(a.seen2), newBlocks(a.a2)
	a.put.others, a.put.others2 = newBlocks(a.others), newBlocks(a.others2)
	a.record = b.Engine.Record("maddpg: targets' actions", func() { a.chosen = a.policy.act(a.s2, a.noise2) })
	a.part, a.parallel = a.distribute, serial
	if e, ok := b.Engine.(parallelEngine); ok {
		a.parallel = e.Parallel
	}
	return a
}

// Updater returns a function that does one whole update (critics, actors, targets) on a minibatch of random numbers. It
// is for measuring speed: an update's cost does not depend on the values.
func Updater(c Config, s *envs.Spec, e nets.Engine) (func() error, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("maddpg: %w", err)
	}
	p, err := newProblem(c.Mix, s)
	if err != nil {
		return nil, err
	}
	u, err := newUpdate(&c, &p, e, rng.New(1, "maddpg: initial weights"))
	if err != nil {
		return nil, err
	}
	stream := rng.NewStream(1, "maddpg: measured batch")
	for _, t := range []nets.Tensor{u.s, u.a, u.r, u.s2, u.discount, u.noise, u.noise2} {
		if t == nil {
			continue
		}
		x := make([]float32, nets.Size(t))
		for i := range x {
			x[i] = float32(stream.Float64())
		}
		t.Set(x)
	}
	return u.run, nil
}
