package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// joint is [nets.MeanField] where every agent sees all: the layers' input is [agents·own][lanes], one for all
// agents. With Others it holds what others see, and agent i's own place is exchanged for its features while i
// is at work.
type joint struct {
	layers
	m     nets.MeanField
	width int // features of an agent
}

func newJoint(n *network, m nets.MeanField, lanes int) *joint {
	return &joint{newLayers(n, m.MLP, m.SeenWidth(), lanes), m, m.OwnWidth()}
}

// size is that of all agents' features.
func (j *joint) size() int { return j.agents * j.width * j.lanes }

func (j *joint) stack() *layers { return &j.layers }

func (j *joint) memory() *memory {
	n := j.size()
	if j.m.Others {
		n *= 2 // what others see first
	}
	return &memory{x: make([]float32, n)}
}

// at is agent i's place in all features.
func (j *joint) at(v []float32, i int) []float32 { return v[i*j.width*j.lanes:][:j.width*j.lanes] }

// own returns agent i's features where they are stored apart.
func (j *joint) own(v []float32, i int) []float32 {
	if !j.m.Others {
		return j.at(v, i)
	}
	return j.at(v[j.size():], i)
}

// exchange swaps what others see of agent i and its own features, or the gradients w.r.t. them; twice, it changes
// nothing.
func (j *joint) exchange(v []float32, i int) {
	if !j.m.Others || v == nil {
		return
	}
	a, b := j.at(v, i), j.own(v, i)
	for n := range a {
		a[n], b[n] = b[n], a[n]
	}
}

// independent is the number of agents where each can go alone. With Others agents take turns in the one input,
// and all agents' gradients w.r.t. it are summed in one place.
func (j *joint) independent(inputs bool) int {
	if j.m.Others || inputs {
		return 0
	}
	return j.agents
}

func (j *joint) forward(f *forwardStep) []stage {
	gather := func(x *context, tile, from, to int) {
		m, _ := f.at(x, tile)
		for i := from; i < to; i++ {
			gatherRows(j.m, j.lanes, j.own(m.x, i), j.at(m.x, i), tile, i, f.in)
		}
	}
	layers := func(x *context, tile, from, to int) {
		m, l := f.at(x, tile)
		for i := from; i < to; i++ {
			j.exchange(m.x, i)
			j.layers.forward(x, l, i, m.x[:j.size()], f.p.out.of(tile, i))
			j.exchange(m.x, i)
		}
	}
	return []stage{{agents: j.agents, run: gather}, {agents: j.independent(false), barrier: true, fills: f, run: layers}}
}

func (j *joint) backward(b *backwardStep) []stage {
	wanted := b.wanted()
	layers := func(x *context, tile, from, to int) {
		m, l := b.of.at(x, tile)
		sums := b.begin(x, tile, from, to)
		for i := from; i < to; i++ {
			j.agentBack(x, m, l, tile, i, b, sums, wanted)
		}
	}
	stages := []stage{{agents: j.independent(wanted), needs: b.of, run: layers}}
	if !wanted {
		return stages
	}
	return append(stages, stage{agents: j.agents, barrier: true, run: func(x *context, tile, from, to int) {
		m, _ := b.of.at(x, tile)
		for i := from; i < to; i++ {
			inputRows(j.k, j.own(m.dx, i), j.at(m.dx, i), tile, i, b.gradIn, j.m, j.lanes)
		}
	}})
}

// agentBack takes the gradient w.r.t. agent i's output backward.
func (j *joint) agentBack(x *context, m *memory, l *layersMemory, tile, i int, b *backwardStep, sums []float32,
	wanted bool) {
	var all, dx []float32
	if wanted {
		if m.dx == nil {
			m.dx = make([]float32, len(m.x))
		}
		if all, dx = m.dx, m.dx[:j.size()]; i == 0 {
			clear(all)
		}
	}
	j.exchange(m.x, i)
	j.exchange(all, i)
	j.layers.backward(x, l, i, m.x[:j.size()], b.of.p.out.of(tile, i), b.grad(tile, i), sums, dx, 0, kernel.Add)
	j.exchange(m.x, i)
	j.exchange(all, i)
}
