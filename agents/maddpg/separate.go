package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

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
		return fmt.Errorf("maddpg: the targets' actions: %w", err)
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
	a := &separate{agents: n, batch: b.batch, obs: p.obs, act: p.act, host: make([]float32, n*n*b.batch*p.act)}
	a.s2 = b.e.NewTensor(n, n*b.batch, p.obs)
	if p.discrete() {
		a.noise2 = b.e.NewTensor(n, n*b.batch, p.act)
	}
	a.policy.pass = pass{net: u.actorTarget, work: u.actorTarget.NewWork(n * b.batch)}
	a.policy.head = pass{net: head, work: head.NewWork(n * b.batch)}
	a.seen, a.seen2 = b.tensor(n*p.obs), b.tensor(n*p.obs)
	a.a2, a.others, a.others2 = b.tensor(p.act), b.tensor((n-1)*p.act), b.tensor((n-1)*p.act)
	a.put.seen, a.put.seen2, a.put.a2 = newBlocks(a.seen), newBlocks(a.seen2), newBlocks(a.a2)
	a.put.others, a.put.others2 = newBlocks(a.others), newBlocks(a.others2)
	a.record = b.e.Record("maddpg: targets' actions", func() { a.chosen = a.policy.act(a.s2, a.noise2) })
	a.part, a.parallel = a.distribute, serial
	if e, ok := b.e.(parallelEngine); ok {
		a.parallel = e.Parallel
	}
	return a
}
