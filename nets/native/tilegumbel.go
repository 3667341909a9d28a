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

func (p *tileGumbel) memory(keep) *memory {
	m := &memory{}
	if p.g.Hard {
		m.relaxed = make([]float32, p.g.Agents*p.width*p.lanes)
	}
	return m
}

// relaxed is agent i's y: the output itself where that is not hard.
func (p *tileGumbel) relaxed(m *memory, tile, i int, out *tensor[float32]) []float32 {
	if !p.g.Hard {
		return out.of(tile, i)
	}
	n := p.width * p.lanes
	return m.relaxed[i*n:][:n]
}

func (*tileGumbel) mixes() bool                                                { return false }
func (*tileGumbel) gather(*context, *memory, int, []*tensor[float32])          {}
func (*tileGumbel) hand(*context, *memory, int, []*tensor[float32], []float32) {}

func (p *tileGumbel) forward(_ *context, m *memory, tile, i int, in []*tensor[float32], out *tensor[float32]) {
	temperature := float32(p.g.Temperature)
	y, logits, noise := p.relaxed(m, tile, i, out), in[0].of(tile, i), in[1].of(tile, i)
	for j, v := range logits {
		y[j] = (v + noise[j]) / temperature
	}
	at := 0
	for _, n := range p.g.Segments {
		p.k.Softmax(y[at:], n, p.lanes)
		if p.g.Hard {
			oneHotLanes(y[at:], out.of(tile, i)[at:], n, p.lanes)
		}
		at += n * p.lanes
	}
}

// oneHotLanes is oneHot, lane by lane.
func oneHotLanes(y, out []float32, n, t int) {
	for l := range t {
		best, missing := 0, float32(0)
		for e := range n {
			v := y[e*t+l]
			if v != v {
				missing = v
				break
			}
			if v > y[best*t+l] {
				best = e
			}
		}
		for e := range n {
			out[e*t+l] = missing
		}
		if missing == 0 {
			out[best*t+l] = 1
		}
	}
}

func (p *tileGumbel) backward(_ *context, m *memory, tile, i int, _ []*tensor[float32], out, g *tensor[float32], gradIn []*tensor[float32], _ []float32) {
	y := p.relaxed(m, tile, i, out)
	for _, t := range gradIn { // the same by logits and by noise
		if t == nil {
			continue
		}
		d := t.of(tile, i)
		copy(d, g.of(tile, i))
		at := 0
		for _, n := range p.g.Segments {
			p.k.SoftmaxBack(d[at:], y[at:], n, p.lanes, 1/float32(p.g.Temperature))
			at += n * p.lanes
		}
	}
}
