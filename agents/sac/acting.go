package sac

import (
	"fmt"

	"github.com/stoker-rl/stoker/agents/check"
	"github.com/stoker-rl/stoker/nets"
)

// acting runs π for several environments: the networks with buffers for their observations, noise and actions. It
// allocates nothing once made.
type acting struct {
	p         *problem
	rows      int
	e         nets.Engine
	actor     nets.Net
	first     nets.Work
	last      pass          // the squashed Gaussian
	in        []nets.Tensor // the observation, as a slice that every call of Forward reuses
	noise     nets.Tensor
	x, eps, y []float32 // observations, noise and actions, [agents, rows, width]
	out       []float32 // actions in (−1, 1), [rows, agents, act]
}

// newActing returns buffers to act in rows environments with the network's present parameters.
func newActing(p *problem, e nets.Engine, actor nets.Net, rows int) (*acting, error) {
	last, err := e.NewNet(nets.SquashedGaussian{Agents: p.agents, Actions: p.act})
	if err != nil {
		return nil, err
	}
	n := p.agents * rows
	a := &acting{
		p: p, rows: rows, e: e, actor: actor, first: actor.NewWork(rows), last: pass{net: last, work: last.NewWork(rows)},
		in: []nets.Tensor{e.NewTensor(p.agents, rows, p.obs)}, noise: e.NewTensor(p.agents, rows, p.act),
		x: make([]float32, n*p.obs), eps: make([]float32, n*p.act), y: make([]float32, n*p.act), out: make([]float32, n*p.act),
	}
	return a, a.run() // makes the engine's memory before the first step
}

// see copies observations [rows, agents, obs] to the networks' input.
func (a *acting) see(values []float32) { transpose(a.x, values, a.rows, a.p.agents, a.p.obs) }

// run computes out from the observations and the noise in eps.
func (a *acting) run() error {
	a.in[0].Set(a.x)
	a.noise.Set(a.eps)
	a.last.forward(a.actor.Forward(a.first, a.in...), a.noise).Get(a.y)
	transpose(a.out, a.y, a.p.agents, a.rows, a.p.act)
	if err := a.e.Err(); err != nil {
		return fmt.Errorf("acting: %w", err)
	}
	return nil
}

// row returns environment i's part of out.
func (a *acting) row(i int) []float32 {
	w := a.p.agents * a.p.act
	return a.out[i*w : (i+1)*w]
}

// give writes the environment's actions of the present agents for u in (−1, 1), both [agents, act]; those of absent
// agents become 0, u too.
func (p *problem) give(u, act []float32, active []bool) error {
	for j, here := range active {
		own, out := u[j*p.act:(j+1)*p.act], act[j*p.act:(j+1)*p.act]
		if !here {
			clear(own)
			clear(out)
			continue
		}
		if m := check.NotFinite(own); m >= 0 {
			return fmt.Errorf("the actor of %s %d gives %g for component %d: training has diverged; "+
				"try a smaller actor_rate and critic_rate, or clip", p.kind.Name, j, own[m], m)
		}
		p.apply(own, out)
	}
	return nil
}

// transpose copies src [m, n, width] to dst [n, m, width].
func transpose(dst, src []float32, m, n, width int) {
	for i := range m {
		for j := range n {
			copy(dst[(j*m+i)*width:][:width], src[(i*n+j)*width:])
		}
	}
}
