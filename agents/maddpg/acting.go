package maddpg

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// acting runs π for several environments: a network with buffers for their observations and outputs. It allocates
// nothing after newActing.
type acting struct {
	p    *problem
	rows int
	net  nets.Net
	work nets.Work
	in   []nets.Tensor // the observation, as a slice that every call of Forward reuses
	x, y []float32     // input and output of the network, [agents, rows, width]
	out  []float32     // [rows, agents, act]: u in [0, 1], or logits
}

// newActing returns buffers to act in rows environments with the network's present parameters.
func newActing(p *problem, e nets.Engine, net nets.Net, rows int) (*acting, error) {
	a := &acting{
		p: p, rows: rows, net: net, work: net.NewWork(rows), in: []nets.Tensor{e.NewTensor(p.agents, rows, p.obs)},
		x: make([]float32, p.agents*rows*p.obs), y: make([]float32, p.agents*rows*p.act),
		out: make([]float32, rows*p.agents*p.act),
	}
	a.run()
	if err := e.Err(); err != nil {
		return nil, fmt.Errorf("maddpg: actor: %w", err)
	}
	return a, nil
}

// see copies observations [rows, agents, obs] to x, which is [agents, rows, obs].
func (a *acting) see(values []float32) { transpose(a.x, values, a.rows, a.p.agents, a.p.obs) }

// run computes out from x.
func (a *acting) run() {
	a.in[0].Set(a.x)
	a.net.Forward(a.work, a.in...).Get(a.y)
	transpose(a.out, a.y, a.p.agents, a.rows, a.p.act)
}

// row returns environment i's part of out.
func (a *acting) row(i int) []float32 {
	w := a.p.agents * a.p.act
	return a.out[i*w : (i+1)*w]
}

// transpose copies src [m, n, width] to dst [n, m, width].
func transpose(dst, src []float32, m, n, width int) {
	for i := range m {
		for j := range n {
			copy(dst[(j*m+i)*width:][:width], src[(i*n+j)*width:])
		}
	}
}

// hide zeroes the observations of absent agents; active is [rows, agents].
func (a *acting) hide(active []bool) {
	n := a.p.agents
	for i, here := range active {
		if !here {
			clear(a.x[(i%n*a.rows+i/n)*a.p.obs:][:a.p.obs])
		}
	}
}
