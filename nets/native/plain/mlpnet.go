package plain

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/core"
)

// mlpPass is [nets.MLP] at work: the inputs side by side, then the layers.
type mlpPass[T core.Number] struct {
	layers *mlpWork[T]
	ports  []nets.Port
	x, gx  view[T] // the inputs side by side, and the gradient w.r.t. them; empty where there is one input
}

func (n *net[T]) mlpPasses(m nets.MLP) func(int, []T) pass[T] {
	width := totalWidth(m.In)
	layers := newMLP(n, m, width)
	return func(batch int, out []T) pass[T] {
		p := &mlpPass[T]{layers: layers.newWork(batch, out), ports: m.In}
		if len(m.In) > 1 {
			p.x = stacked(make([]T, m.Agents*batch*width), batch, width)
		}
		return p
	}
}

func totalWidth(ports []nets.Port) int {
	n := 0
	for _, p := range ports {
		n += p.Width
	}
	return n
}

func (p *mlpPass[T]) forward(in []*Tensor[T]) { p.layers.forward(p.join(in, true)) }

// join returns the inputs side by side, copying them if fresh is set.
func (p *mlpPass[T]) join(in []*Tensor[T], fresh bool) view[T] {
	if len(p.ports) == 1 {
		return stacked(in[0].data, p.layers.batch, p.ports[0].Width)
	}
	if fresh {
		join(p.x, p.layers.agents, p.layers.batch, in)
	}
	return p.x
}

func (p *mlpPass[T]) backward(in []*Tensor[T], gradOut []T, gradIn []*Tensor[T], params bool) {
	x := p.join(in, false)
	if gradIn == nil {
		p.layers.backward(x, gradOut, view[T]{}, params)
		return
	}
	if len(gradIn) == 1 {
		gx := stacked(gradIn[0].data, p.layers.batch, p.ports[0].Width)
		clear(gx.data)
		p.layers.backward(x, gradOut, gx, params)
		return
	}
	if p.gx.data == nil {
		p.gx = view[T]{make([]T, len(p.x.data)), p.x.agent, p.x.row}
	}
	clear(p.gx.data)
	p.layers.backward(x, gradOut, p.gx, params)
	split(p.gx, p.layers.agents, p.layers.batch, gradIn)
}

// join copies tensors side by side into the features of dst.
func join[T core.Number](dst view[T], agents, batch int, src []*Tensor[T]) {
	at := 0
	for _, t := range src {
		w := t.Width()
		for i := range agents {
			for b := range batch {
				copy(dst.at(i, b, at+w)[at:], t.data[(i*batch+b)*w:][:w])
			}
		}
		at += w
	}
}

// split copies the features of src apart into tensors.
func split[T core.Number](src view[T], agents, batch int, dst []*Tensor[T]) {
	at := 0
	for _, t := range dst {
		w := t.Width()
		for i := range agents {
			for b := range batch {
				copy(t.data[(i*batch+b)*w:][:w], src.at(i, b, at+w)[at:])
			}
		}
		at += w
	}
}
