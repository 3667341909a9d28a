package tile

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// layers is the stack of [nets.MLP] on tiles of one size, agent by agent: see plain/mlp.go for the equations.
type layers struct {
	k      *kernel.Set
	lanes  int
	agents int
	joined int // features of several inputs that are concatenated, 0 for one input
	list   []layer
}

// layer is y = norm(f(xW + b)).
type layer struct {
	in, out      int
	weight, bias param
	gain, offset param // of the norm
	activation   string
	norm         bool
}

// layersMemory is what a pass through the layers stores: of each its activations, and where it has a norm x̂,
// 1/√(var + ε) and the result; and where there are several inputs, those side by side; [agents][width][lanes].
type layersMemory struct {
	y, hat, scale, normed [][]float32
	in                    []float32
	agents                int // 1 where each agent may write over the one before
}

func newLayers(n *network, m nets.MLP, in, lanes int) layers {
	l := layers{k: n.b.kernels(lanes), lanes: lanes, agents: m.Agents}
	for i, width := range append(m.Hidden[:len(m.Hidden):len(m.Hidden)], m.Out) {
		t := layer{
			in: in, out: width, activation: m.Activation,
			weight: n.param("layer%d.weight", i), bias: n.param("layer%d.bias", i),
		}
		if i == len(m.Hidden) {
			t.activation = m.Final
		} else if m.Norm == nets.LayerNorm {
			t.norm, t.gain, t.offset = true, n.param("layer%d.gain", i), n.param("layer%d.offset", i)
		}
		l.list = append(l.list, t)
		in = width
	}
	return l
}

func (l *layers) memory(t lifetime) *layersMemory {
	m := layersMemory{agents: l.agents}
	if t <= untilAgent {
		m.agents = 1
	}
	for i, t := range l.list {
		block := func(rows int, there bool) []float32 {
			if !there {
				return nil
			}
			return make([]float32, m.agents*rows*l.lanes)
		}
		m.y = append(m.y, block(t.out, i < len(l.list)-1))
		m.hat = append(m.hat, block(t.out, t.norm))
		m.scale = append(m.scale, block(1, t.norm))
		m.normed = append(m.normed, block(t.out, t.norm))
	}
	m.in = make([]float32, m.agents*l.joined*l.lanes)
	return &m
}

// of returns an agent's block of rows.
func (m *layersMemory) of(b []float32, agent int) []float32 {
	n := len(b) / m.agents
	i := min(agent, m.agents-1)
	return b[i*n:][:n]
}

// forward takes agent i's features in to out.
func (l *layers) forward(x *context, m *layersMemory, i int, in, out []float32) {
	for li := range l.list {
		y := l.product(m, li, i, out)
		l.list[li].product(l, x, i, in, y)
		in = l.activate(m, li, i, y)
	}
}

// product is where layer li's product of agent i goes, out for the last.
func (l *layers) product(m *layersMemory, li, i int, out []float32) []float32 {
	if li == len(l.list)-1 {
		return out
	}
	return m.of(m.y[li], i)
}

// activate does what layer li does to its product y, beside ReLU, and returns the layer's output.
func (l *layers) activate(m *layersMemory, li, i int, y []float32) []float32 {
	t := &l.list[li]
	switch t.activation {
	case nets.Tanh:
		l.k.Tanh(y[:t.out*l.lanes])
	case nets.Sigmoid:
		l.k.Sigmoid(y[:t.out*l.lanes])
	}
	if !t.norm {
		return y
	}
	normed := m.of(m.normed[li], i)
	l.k.Norm(normed, m.of(m.hat[li], i), m.of(m.scale[li], i), y, t.gain.value(i), t.offset.value(i), l.lanes,
		nets.LayerNormEpsilon)
	return normed
}

// product sets y = xW + b, with ReLU on the way.
func (t *layer) product(l *layers, x *context, i int, in, y []float32) {
	w, b := t.weight.value(i), t.bias.value(i)
	if l.lanes == 1 {
		l.k.Vector(y[:t.out], in[:t.in], w, b, t.activation == nets.ReLU)
		return
	}
	p := x.product.Begin(t.out, l.lanes, t.in)
	p.A, p.AK, p.AM = w, t.out, 1
	p.B, p.LDB = in, l.lanes
	p.C, p.LDC = y, l.lanes
	p.Start, p.Bias = kernel.Bias, b
	if t.activation == nets.ReLU {
		p.Finish = kernel.ReLU
	}
	l.k.Product(p)
}

// backward takes agent i's features, what forward made of them and the gradient w.r.t. that, and adds to the
// parameters' gradients in sums where that is not nil. It sets the gradient w.r.t. the features from a given one
// on, as many as dx holds, or adds to it.
func (l *layers) backward(x *context, m *layersMemory, i int, in, out, g, sums, dx []float32, from int,
	start kernel.Start) {
	g = l.toFirst(x, m, i, out, g, sums)
	t := &l.list[0]
	if sums != nil {
		t.addGrads(l, x, i, in, g, sums)
	}
	if len(dx) > 0 {
		t.inputs(l, x, i, from, g, dx, start)
	}
}

// toFirst takes the gradient w.r.t. agent i's output to that w.r.t. the first layer's product, and adds the gradients
// of the layers above it to sums where that is not nil.
func (l *layers) toFirst(x *context, m *layersMemory, i int, out, g, sums []float32) []float32 {
	last := len(l.list) - 1
	if a := l.list[last].activation; a != nets.None {
		own := x.grads[last%2][:len(g)]
		l.deactivate(a, own, out, g)
		g = own
	}
	for li := last; li > 0; li-- {
		if sums != nil {
			l.list[li].addGrads(l, x, i, l.output(m, li-1, i), g, sums)
		}
		g = l.descend(x, m, li, i, g, sums)
	}
	return g
}

// inputs sets or adds to the gradient w.r.t. the layer's input from a feature on, as many as dx holds, given that w.r.t.
// its product.
func (t *layer) inputs(l *layers, x *context, i, from int, g, dx []float32, start kernel.Start) {
	p := x.product.Begin(len(dx)/l.lanes, l.lanes, t.out)
	p.A, p.AK, p.AM = t.weight.value(i)[from*t.out:], 1, t.out
	p.B, p.LDB = g, l.lanes
	p.C, p.LDC, p.Start = dx, l.lanes, start
	l.k.Product(p)
}

// output is the input of the layer after li.
func (l *layers) output(m *layersMemory, li, i int) []float32 {
	if l.list[li].norm {
		return m.of(m.normed[li], i)
	}
	return m.of(m.y[li], i)
}

// descend takes the gradient w.r.t. layer li's product to that w.r.t. the product of the layer below.
func (l *layers) descend(x *context, m *layersMemory, li, i int, g, sums []float32) []float32 {
	t, below := &l.list[li], &l.list[li-1]
	y := m.of(m.y[li-1], i)
	next := x.grads[(li-1)%2][:t.in*l.lanes]
	p := x.product.Begin(t.in, l.lanes, t.out)
	p.A, p.AK, p.AM = t.weight.value(i), 1, t.out
	p.B, p.LDB = g, l.lanes
	p.C, p.LDC = next, l.lanes
	if below.activation == nets.ReLU && !below.norm {
		p.Finish, p.Mask, p.LDM = kernel.Mask, y, l.lanes
	}
	l.k.Product(p)
	if below.norm {
		hat := m.of(m.hat[li-1], i)
		if sums != nil {
			l.k.RowDots(below.gain.in(sums, i), next, hat, l.lanes)
			l.k.Dots(below.offset.in(sums, i), 1, next, below.out, x.ones[:l.lanes])
		}
		l.k.NormBack(next, hat, m.of(m.scale[li-1], i), below.gain.value(i), l.lanes)
	}
	if below.activation != nets.ReLU || below.norm {
		l.deactivate(below.activation, next, y, next)
	}
	return next
}

// deactivate sets dst = g·f'(x) from y = f(x).
func (l *layers) deactivate(activation string, dst, y, g []float32) {
	switch activation {
	case nets.ReLU:
		l.k.ReLUBack(dst, y[:len(g)], g)
	case nets.Tanh:
		l.k.TanhBack(dst, y[:len(g)], g)
	case nets.Sigmoid:
		l.k.SigmoidBack(dst, y[:len(g)], g)
	}
}

// few is how many outputs are summed one by one: for more, a transposed tile and a product are faster.
const few = 4

// addGrads adds ∂L/∂W = xᵀg and ∂L/∂b = Σ g of agent i to sums.
func (t *layer) addGrads(l *layers, x *context, i int, in, g, sums []float32) {
	addOuter(l.k, x, l.lanes, t.weight.in(sums, i), t.in, t.out, in, g)
	l.k.Dots(t.bias.in(sums, i), 1, g, t.out, x.ones[:l.lanes])
}

// addOuter does w[r·cols + c] += Σ_l x[r·lanes + l]·g[c·lanes + l].
func addOuter(k *kernel.Set, x *context, lanes int, w []float32, rows, cols int, in, g []float32) {
	if cols <= few {
		for c := range cols {
			k.Dots(w[c:], cols, in, rows, g[c*lanes:][:lanes])
		}
		return
	}
	k.Transpose(x.transposed, cols, g, lanes, cols, lanes)
	p := x.product.Begin(rows, cols, lanes)
	p.A, p.AK, p.AM = in, 1, lanes
	p.B, p.LDB = x.transposed, cols
	p.C, p.LDC, p.Start = w, cols, kernel.Add
	k.Product(p)
}
