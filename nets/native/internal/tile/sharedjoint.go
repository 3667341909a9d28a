package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// sharedJoint is joint with one set of weights for all agents. What they have in common is computed once, so that its
// cost grows with the number of agents, not with its square. Without Others all agents have one output. With Others
// agent i's input differs from what others see of all, x̃, in its own last port alone, and with W_i the first layer's
// rows for that,
//
//	W·[x̃_1, …, x_i, …, x̃_n] = W·x̃ + W_i·(x_i − x̃_i)
//
// Backward, with g_i the gradient w.r.t. agent i's first product and g their sum, ∂L/∂x_i = W_iᵀg_i,
// ∂L/∂x̃_i = W_iᵀ(g − g_i) and ∂L/∂W_i = x̃_i·g + (x_i − x̃_i)·g_i.
type sharedJoint struct{ joint }

func (j *sharedJoint) memory() *memory {
	m := j.joint.memory()
	m.base = make([]float32, max(j.list[0].out, j.list[len(j.list)-1].out)*j.lanes)
	return m
}

func (j *sharedJoint) forward(f *forwardStep) []stage {
	stages := j.joint.forward(f)
	last := &stages[len(stages)-1]
	last.agents, last.run = 0, func(x *context, tile, _, _ int) {
		m, l := f.at(x, tile)
		if !j.m.Others {
			first := f.p.out.of(tile, 0)
			j.layers.forward(x, l, 0, m.x, first)
			for i := 1; i < j.agents; i++ {
				copy(f.p.out.of(tile, i), first)
			}
			return
		}
		t := j.list[0]
		relu := t.activation == nets.ReLU
		t.activation = nets.None // not before what differs is added
		t.product(&j.layers, x, 0, m.x[:j.size()], m.base)
		for i := range j.agents {
			j.agentForward(x, m, l, i, relu, f.p.out.of(tile, i))
		}
	}
	return stages
}

// agentForward takes agent i's features to out.
func (j *sharedJoint) agentForward(x *context, m *memory, l *layersMemory, i int, relu bool, out []float32) {
	t := &j.list[0]
	y := j.product(l, 0, i, out)
	copy(y, m.base[:t.out*j.lanes])
	diff, rows := j.difference(x, m, i)
	p := x.product.Begin(t.out, j.lanes, len(diff)/j.lanes)
	p.A, p.AK, p.AM = t.weight.value(0)[rows*t.out:], t.out, 1
	p.B, p.LDB = diff, j.lanes
	p.C, p.LDC, p.Start = y, j.lanes, kernel.Add
	if relu {
		p.Finish = kernel.ReLU
	}
	j.k.Product(p)
	in := j.activate(l, 0, i, y)
	for li := 1; li < len(j.list); li++ {
		y := j.product(l, li, i, out)
		j.list[li].product(&j.layers, x, i, in, y)
		in = j.activate(l, li, i, y)
	}
}

// difference is agent i's own last port less what others see of it, and the first layer's row for it.
func (j *sharedJoint) difference(x *context, m *memory, i int) (diff []float32, row int) {
	width := j.m.In[len(j.m.In)-1].Width
	from := (j.width - width) * j.lanes
	diff = x.features[:width*j.lanes]
	copy(diff, j.own(m.x, i)[from:])
	j.k.Axpy(-1, j.at(m.x, i)[from:], diff)
	return diff, i*j.width + j.width - width
}

func (j *sharedJoint) backward(b *backwardStep) []stage {
	stages := j.joint.backward(b)
	wanted := b.wanted()
	stages[0].agents, stages[0].run = 0, func(x *context, tile, from, to int) {
		m, l := b.of.at(x, tile)
		if wanted && m.dx == nil {
			m.dx = make([]float32, len(m.x))
		}
		sums := b.begin(x, tile, 0, 1)
		if j.m.Others {
			j.othersBack(x, m, l, tile, b, sums, wanted)
			return
		}
		g := m.base[:j.list[len(j.list)-1].out*j.lanes]
		clear(g)
		for i := range j.agents {
			j.k.Axpy(1, b.grad(tile, i), g)
		}
		var dx []float32
		if wanted {
			dx = m.dx
		}
		j.layers.backward(x, l, 0, m.x, b.of.p.out.of(tile, 0), g, sums, dx, 0, kernel.Zero)
	}
	return stages
}

// othersBack takes the gradients w.r.t. all outputs backward where agents see themselves by another port than others do.
func (j *sharedJoint) othersBack(x *context, m *memory, l *layersMemory, tile int, b *backwardStep, sums []float32,
	wanted bool) {
	t := &j.list[0]
	all := m.base[:t.out*j.lanes]
	clear(all)
	for i := range j.agents {
		g := j.toFirst(x, l, i, b.of.p.out.of(tile, i), b.grad(tile, i), sums)
		j.k.Axpy(1, g, all)
		if sums != nil {
			diff, row := j.difference(x, m, i)
			addOuter(j.k, x, j.lanes, t.weight.in(sums, 0)[row*t.out:], len(diff)/j.lanes, t.out, diff, g)
		}
		if wanted {
			t.inputs(&j.layers, x, 0, i*j.width, g, j.own(m.dx, i), kernel.Zero)
		}
	}
	if sums != nil {
		t.addGrads(&j.layers, x, 0, m.x[:j.size()], all, sums)
	}
	if !wanted {
		return
	}
	t.inputs(&j.layers, x, 0, 0, all, m.dx[:j.size()], kernel.Zero)
	for i := range j.agents {
		j.k.Axpy(-1, j.own(m.dx, i), j.at(m.dx, i))
	}
}
