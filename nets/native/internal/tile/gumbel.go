package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// gumbel is [nets.GumbelSoftmax] on tiles; plain/actions.go has the equations.
type gumbel struct {
	g     nets.GumbelSoftmax
	k     *kernel.Set
	lanes int
	width int
}

func (p *gumbel) memory() *memory {
	m := &memory{}
	if p.g.Hard {
		m.relaxed = make([]float32, p.g.Agents*p.width*p.lanes)
	}
	return m
}

func (*gumbel) stack() *layers { return nil }

// relaxed is agent i's y: the output itself where that is not hard.
func (p *gumbel) relaxed(m *memory, tile, i int, out *Tensor) []float32 {
	if !p.g.Hard {
		return out.of(tile, i)
	}
	n := p.width * p.lanes
	return m.relaxed[i*n:][:n]
}

func (p *gumbel) forward(f *forwardStep) []stage {
	return []stage{{agents: p.g.Agents, fills: f, run: func(x *context, tile, from, to int) {
		m, _ := f.at(x, tile)
		for i := from; i < to; i++ {
			p.agent(m, tile, i, f.in, f.p.out)
		}
	}}}
}

// agent computes agent i's choice.
func (p *gumbel) agent(m *memory, tile, i int, in []*Tensor, out *Tensor) {
	temperature := float32(p.g.Temperature)
	y, logits, noise := p.relaxed(m, tile, i, out), in[0].of(tile, i), in[1].of(tile, i)
	for j, v := range logits {
		y[j] = (v + noise[j]) / temperature
	}
	at := 0
	for _, n := range p.g.Segments {
		p.k.Softmax(y[at:], n, p.lanes)
		if p.g.Hard {
			p.k.OneHot(out.of(tile, i)[at:], y[at:], n, p.lanes)
		}
		at += n * p.lanes
	}
}

func (p *gumbel) backward(b *backwardStep) []stage {
	return []stage{{agents: p.g.Agents, needs: b.of, run: func(x *context, tile, from, to int) {
		m, _ := b.of.at(x, tile)
		for i := from; i < to; i++ {
			p.agentBack(m, tile, i, b)
		}
	}}}
}

// agentBack sets the gradient w.r.t. agent i's inputs, the same by logits and by noise.
func (p *gumbel) agentBack(m *memory, tile, i int, b *backwardStep) {
	y := p.relaxed(m, tile, i, b.of.p.out)
	for _, t := range b.gradIn {
		if t == nil {
			continue
		}
		d := t.of(tile, i)
		copy(d, b.grad(tile, i))
		at := 0
		for _, n := range p.g.Segments {
			p.k.SoftmaxBack(d[at:], y[at:], n, p.lanes, 1/float32(p.g.Temperature))
			at += n * p.lanes
		}
	}
}
