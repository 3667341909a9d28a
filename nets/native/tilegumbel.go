package native

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// tileGumbel is [nets.GumbelSoftmax] on tiles; gumbel.go has the equations.
type tileGumbel struct {
	g     nets.GumbelSoftmax
	k     *kernel.Set
	lanes int
	width int
}

func (p *tileGumbel) memory() *memory {
	m := &memory{}
	if p.g.Hard {
		m.relaxed = make([]float32, p.g.Agents*p.width*p.lanes)
	}
	return m
}

func (*tileGumbel) stack() *layers                                             { return nil }
func (*tileGumbel) apart(*backwardStep) bool                                   { return true }
func (*tileGumbel) mixes() bool                                                { return false }
func (*tileGumbel) hands(*backwardStep) bool                                   { return false }
func (*tileGumbel) gather(*context, *memory, int, int, []*tensor[float32])     {}
func (*tileGumbel) hand(*context, *memory, int, int, *backwardStep, []float32) {}

// relaxed is agent i's y: the output itself where that is not hard.
func (p *tileGumbel) relaxed(m *memory, tile, i int, out *tensor[float32]) []float32 {
	if !p.g.Hard {
		return out.of(tile, i)
	}
	n := p.width * p.lanes
	return m.relaxed[i*n:][:n]
}

func (p *tileGumbel) forward(_ *context, m *memory, _ *layersMemory, tile, i int, in []*tensor[float32], out *tensor[float32]) {
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

func (p *tileGumbel) backward(_ *context, m *memory, _ *layersMemory, tile, i int, b *backwardStep, _ []float32) {
	y := p.relaxed(m, tile, i, b.of.w.out)
	for _, t := range b.gradIn { // the same by logits and by noise
		if t == nil {
			continue
		}
		d := t.of(tile, i)
		copy(d, b.g.of(tile, i))
		at := 0
		for _, n := range p.g.Segments {
			p.k.SoftmaxBack(d[at:], y[at:], n, p.lanes, 1/float32(p.g.Temperature))
			at += n * p.lanes
		}
	}
}
