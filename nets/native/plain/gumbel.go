package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

// gumbelPass is [nets.GumbelSoftmax] at work (Jang et al., 2017). Per segment, with τ the temperature:
//
//	y = softmax((logits + noise)/τ),  ∂L/∂logits = ∂L/∂noise = y(g − Σ y g)/τ,  g = ∂L/∂y
//
// With Hard the output is 1 at the first largest y and the gradient stays that of y.
type gumbelPass[T core.Number] struct {
	g       nets.GumbelSoftmax
	rows    int // agents × batch
	width   int
	out     []T
	relaxed []T // y; the output itself where not Hard
}

func (n *net[T]) gumbelPasses(g nets.GumbelSoftmax) func(int, []T) pass[T] {
	return func(batch int, out []T) pass[T] {
		p := &gumbelPass[T]{g: g, rows: g.Agents * batch, width: g.Width(), out: out, relaxed: out}
		if g.Hard {
			p.relaxed = make([]T, len(out))
		}
		return p
	}
}

func (p *gumbelPass[T]) forward(in []*Tensor[T]) {
	logits, noise := in[0].data, in[1].data
	temperature := T(p.g.Temperature)
	for i, v := range logits {
		p.relaxed[i] = (v + noise[i]) / temperature
	}
	for at := 0; at < len(p.out); {
		for _, n := range p.g.Segments {
			softmax(p.relaxed[at:][:n])
			if p.g.Hard {
				oneHot(p.relaxed[at:][:n], p.out[at:][:n])
			}
			at += n
		}
	}
}

// oneHot marks the first largest value. Where there is a NaN there is no choice: all of out is NaN.
func oneHot[T core.Number](y, out []T) {
	best := 0
	for j, v := range y {
		if v != v {
			for l := range out {
				out[l] = v
			}
			return
		}
		if v > y[best] {
			best = j
		}
	}
	clear(out)
	out[best] = 1
}

func (p *gumbelPass[T]) backward(_ []*Tensor[T], gradOut []T, gradIn []*Tensor[T], _ bool) {
	if gradIn == nil {
		return
	}
	scale := 1 / T(p.g.Temperature)
	d := gradIn[0].data
	for at := 0; at < len(d); {
		for _, n := range p.g.Segments {
			y, g := p.relaxed[at:][:n], gradOut[at:][:n]
			mean := dot(y, g)
			for j, v := range y {
				d[at+j] = scale * v * (g[j] - mean)
			}
			at += n
		}
	}
	copy(gradIn[1].data, d)
}
