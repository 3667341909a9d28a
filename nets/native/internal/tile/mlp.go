package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// mlp is [nets.MLP] on tiles: the inputs side by side, then the layers.
type mlp struct {
	layers
	ports []nets.Port
}

func newMLP(n *network, m nets.MLP, lanes int) *mlp {
	p := &mlp{newLayers(n, m, totalWidth(m.In), lanes), m.In}
	if len(m.In) > 1 {
		p.joined = p.list[0].in
	}
	return p
}

func (p *mlp) memory() *memory { return &memory{} }
func (p *mlp) stack() *layers  { return &p.layers }

// features are agent i's inputs side by side.
func (p *mlp) features(l *layersMemory, tile, i int, in []*Tensor) []float32 {
	if len(in) == 1 {
		return in[0].of(tile, i)
	}
	return l.of(l.in, i)
}

func (p *mlp) forward(f *forwardStep) []stage {
	return []stage{{agents: p.agents, fills: f, run: func(x *context, tile, from, to int) {
		_, l := f.at(x, tile)
		for i := from; i < to; i++ {
			in := p.features(l, tile, i, f.in)
			if len(f.in) > 1 {
				joinRows(in, tile, i, f.in)
			}
			p.layers.forward(x, l, i, in, f.p.out.of(tile, i))
		}
	}}}
}

// joinRows copies agent i's blocks one after the other.
func joinRows(dst []float32, tile, i int, src []*Tensor) {
	for _, t := range src {
		dst = dst[copy(dst, t.of(tile, i)):]
	}
}

func (p *mlp) backward(b *backwardStep) []stage {
	return []stage{{agents: p.agents, needs: b.of, run: func(x *context, tile, from, to int) {
		_, l := b.of.at(x, tile)
		sums := b.begin(x, tile, from, to)
		for i := from; i < to; i++ {
			p.agentBack(x, l, tile, i, b, sums)
		}
	}}}
}

// agentBack takes the gradient w.r.t. agent i's output backward.
func (p *mlp) agentBack(x *context, l *layersMemory, tile, i int, b *backwardStep, sums []float32) {
	in, y, g := p.features(l, tile, i, b.of.in), b.of.p.out.of(tile, i), b.grad(tile, i)
	if len(b.gradIn) == 1 {
		var dx []float32
		if b.gradIn[0] != nil {
			dx = b.gradIn[0].of(tile, i)
		}
		p.layers.backward(x, l, i, in, y, g, sums, dx, 0, kernel.Zero)
		return
	}
	first, last := wantedRows(b.gradIn, p.ports)
	dx := x.features[:(last-first)*p.lanes]
	p.layers.backward(x, l, i, in, y, g, sums, dx, first, kernel.Zero)
	splitRows(dx, first*p.lanes, tile, i, b.gradIn, p.ports, p.lanes)
}

// wantedRows is the range of features that holds all wanted gradients.
func wantedRows(gradIn []*Tensor, ports []nets.Port) (from, to int) {
	at := 0
	from = -1
	for p, t := range gradIn {
		if t != nil {
			if from < 0 {
				from = at
			}
			to = at + ports[p].Width
		}
		at += ports[p].Width
	}
	return max(from, 0), to
}

// splitRows copies agent i's gradients by the features to the wanted inputs. src holds them from a given
// value on.
func splitRows(src []float32, from int, tile, i int, gradIn []*Tensor, ports []nets.Port, lanes int) {
	at := -from
	for p, t := range gradIn {
		n := ports[p].Width * lanes
		if t != nil {
			copy(t.of(tile, i), src[at:at+n])
		}
		at += n
	}
}
