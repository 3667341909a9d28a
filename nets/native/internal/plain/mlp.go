package plain

import (
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// mlp is the stack of layers of [nets.MLP], over inputs of a given width.
type mlp[T core.Number] struct {
	agents int
	layers []layer[T]
}

// layer is y = norm(f(xW + b)).
type layer[T core.Number] struct {
	linear[T]
	activation string
	norm       *layerNorm[T]
}

func newMLP[T core.Number](n *net[T], m nets.MLP, in int) *mlp[T] {
	out := &mlp[T]{agents: m.Agents}
	for i, width := range append(m.Hidden[:len(m.Hidden):len(m.Hidden)], m.Out) {
		l := layer[T]{activation: m.Activation, linear: linear[T]{
			mul: n.mul, agents: m.Agents, in: in, out: width, biased: true,
			weight: n.param("layer%d.weight", i), bias: n.param("layer%d.bias", i),
		}}
		if i == len(m.Hidden) {
			l.activation = m.Final
		} else if m.Norm == nets.LayerNorm {
			l.norm = &layerNorm[T]{m.Agents, width, n.param("layer%d.gain", i), n.param("layer%d.offset", i)}
		}
		out.layers = append(out.layers, l)
		in = width
	}
	return out
}

// mlpWork is what an mlp stores of a pass.
type mlpWork[T core.Number] struct {
	*mlp[T]
	batch int
	y     [][]T         // of each layer, after its activation
	norms []normWork[T] // of each layer with a norm
	// Gradients w.r.t. two neighbouring layers' outputs, taking turns; made by the first backward pass.
	turns [2][]T
}

// newWork returns the memory of a pass whose last layer writes out [agents, batch, out].
func (m *mlp[T]) newWork(batch int, out []T) *mlpWork[T] {
	w := &mlpWork[T]{mlp: m, batch: batch, norms: make([]normWork[T], len(m.layers))}
	for i, l := range m.layers {
		y := out
		if i < len(m.layers)-1 {
			y = make([]T, m.agents*batch*l.out)
		}
		w.y = append(w.y, y)
		if l.norm != nil {
			w.norms[i] = l.norm.newWork(batch)
		}
	}
	return w
}

func (w *mlpWork[T]) forward(x view[T]) {
	for i := range w.layers {
		l := &w.layers[i]
		l.forward(w.batch, x, w.y[i])
		activate(l.activation, w.y[i])
		if l.norm != nil {
			l.norm.forward(w.batch, w.y[i], &w.norms[i])
		}
		x = w.output(i)
	}
}

// output is the input of the layer after i.
func (w *mlpWork[T]) output(i int) view[T] {
	l := &w.layers[i]
	if l.norm != nil {
		return stacked(w.norms[i].y, w.batch, l.out)
	}
	return stacked(w.y[i], w.batch, l.out)
}

// backward takes g = ∂L/∂out and the input of the last forward, adds to the gradients of the parameters where
// params is set, and adds ∂L/∂x to gx where that has memory.
func (w *mlpWork[T]) backward(x view[T], g []T, gx view[T], params bool) {
	if w.turns[0] == nil {
		widest := 0
		for _, l := range w.layers {
			widest = max(widest, l.out)
		}
		w.turns = [2][]T{make([]T, w.agents*w.batch*widest), make([]T, w.agents*w.batch*widest)}
	}
	for i := len(w.layers) - 1; i >= 0; i-- {
		l := &w.layers[i]
		if l.norm != nil {
			l.norm.backward(w.batch, &w.norms[i], g, params) // only hidden layers have one: g is ours
		}
		if l.activation != nets.None {
			mine := w.turns[i%2][:len(g)]
			deactivate(l.activation, w.y[i], g, mine)
			g = mine
		}
		in := x
		if i > 0 {
			in = w.output(i - 1)
		}
		if params {
			l.addParamGrads(w.batch, in, g)
		}
		if i == 0 {
			if gx.data != nil {
				l.addInputGrads(w.batch, g, gx)
			}
			return
		}
		next := w.turns[(i-1)%2][:w.agents*w.batch*l.in]
		clear(next)
		l.addInputGrads(w.batch, g, stacked(next, w.batch, l.in))
		g = next
	}
}

// linear is a fully connected layer per agent, y = xW + b with W [in, out]; with no bias it is a projection.
// Where all agents share W and their inputs lie one after the other, agents and batch are one long batch.
type linear[T core.Number] struct {
	mul             product[T]
	agents, in, out int
	weight, bias    param[T]
	biased          bool
}

// forward sets y [agents, batch, out].
func (l *linear[T]) forward(batch int, x view[T], y []T) {
	if l.biased {
		for i := range l.agents {
			b := l.bias.value(i)
			for r := range batch {
				copy(y[(i*batch+r)*l.out:], b)
			}
		}
	} else {
		clear(y)
	}
	agents, rows := l.stacks(batch, x)
	for i := range agents {
		l.mul(false, false, rows, l.out, l.in, x.data[i*x.agent:], x.row, l.weight.value(i), l.out, y[i*rows*l.out:], l.out)
	}
}

// addParamGrads takes g = ∂L/∂y [agents, batch, out]:
//
//	∂L/∂W += xᵀg,  ∂L/∂b += Σ g over the batch
func (l *linear[T]) addParamGrads(batch int, x view[T], g []T) {
	agents, rows := l.stacks(batch, x)
	for i := range agents {
		l.mul(true, false, l.in, l.out, rows, x.data[i*x.agent:], x.row, g[i*rows*l.out:], l.out, l.weight.grad(i), l.out)
	}
	if !l.biased {
		return
	}
	for i := range l.agents {
		db := l.bias.grad(i)
		for r := range batch {
			for j, v := range g[(i*batch+r)*l.out:][:l.out] {
				db[j] += v
			}
		}
	}
}

// addInputGrads does ∂L/∂x += gWᵀ. Where all agents see one x, that sums over them.
func (l *linear[T]) addInputGrads(batch int, g []T, gx view[T]) {
	agents, rows := l.stacks(batch, gx)
	for i := range agents {
		l.mul(false, true, rows, l.in, l.out, g[i*rows*l.out:], l.out, l.weight.value(i), l.out, gx.data[i*gx.agent:], gx.row)
	}
}

// stacks says how many products of how many rows do the work.
func (l *linear[T]) stacks(batch int, x view[T]) (agents, rows int) {
	if l.weight.net.v.Groups == 1 && x.agent == batch*x.row {
		return 1, l.agents * batch
	}
	return l.agents, batch
}

// layerNorm brings the features of each sample to mean 0 and variance 1 and scales them (Ba et al., 2016):
//
//	x̂ = (x − mean x)/√(var x + ε),  y = gain·x̂ + offset
//
// with the variance of the n features themselves, divided by n.
type layerNorm[T core.Number] struct {
	agents, width int
	gain, offset  param[T]
}

// normWork is what a layerNorm stores of a pass: x̂ [agents, batch, width], 1/√(var + ε) [agents, batch] and y.
type normWork[T core.Number] struct{ hat, scale, y []T }

func (l *layerNorm[T]) newWork(batch int) normWork[T] {
	n := l.agents * batch
	return normWork[T]{make([]T, n*l.width), make([]T, n), make([]T, n*l.width)}
}

func (l *layerNorm[T]) forward(batch int, x []T, w *normWork[T]) {
	n := T(l.width)
	for r := range l.agents * batch {
		gain, offset := l.gain.value(r/batch), l.offset.value(r/batch)
		row := x[r*l.width:][:l.width]
		var sum, square T
		for _, v := range row {
			sum += v
		}
		mean := sum / n
		for _, v := range row {
			square += (v - mean) * (v - mean)
		}
		scale := 1 / sqrt(square/n+nets.LayerNormEpsilon)
		w.scale[r] = scale
		hat, y := w.hat[r*l.width:][:l.width], w.y[r*l.width:][:l.width]
		for j, v := range row {
			hat[j] = (v - mean) * scale
			y[j] = gain[j]*hat[j] + offset[j]
		}
	}
}

// backward replaces g = ∂L/∂y by ∂L/∂x. With ĝ = gain·g:
//
//	∂L/∂x = (ĝ − mean ĝ − x̂·mean(ĝx̂))/√(var x + ε),  ∂L/∂gain += gx̂,  ∂L/∂offset += g
func (l *layerNorm[T]) backward(batch int, w *normWork[T], g []T, params bool) {
	n := T(l.width)
	for r := range l.agents * batch {
		row, hat := g[r*l.width:][:l.width], w.hat[r*l.width:][:l.width]
		if params {
			dgain, doffset := l.gain.grad(r/batch), l.offset.grad(r/batch)
			for j, v := range row {
				dgain[j] += v * hat[j]
				doffset[j] += v
			}
		}
		gain := l.gain.value(r / batch)
		var sum, along T
		for j, v := range row {
			row[j] = v * gain[j]
			sum += row[j]
			along += row[j] * hat[j]
		}
		sum, along = sum/n, along/n
		for j, v := range row {
			row[j] = (v - sum - hat[j]*along) * w.scale[r]
		}
	}
}

// activate applies a function in place. NaN stays NaN.
func activate[T core.Number](kind string, y []T) {
	switch kind {
	case nets.ReLU: // max(y, 0)
		for i, v := range y {
			y[i] = max(v, 0)
		}
	case nets.Tanh:
		for i, v := range y {
			y[i] = T(math.Tanh(float64(v)))
		}
	case nets.Sigmoid: // 1/(1 + e⁻ʸ)
		for i, v := range y {
			y[i] = T(1 / (1 + math.Exp(-float64(v))))
		}
	}
}

// deactivate sets dst = g·f'(x), where f'(x) follows from y = f(x):
//
//	ReLU: 1 where y > 0, else 0;  tanh: 1 − y²;  sigmoid: y(1 − y)
//
// dst may be g.
func deactivate[T core.Number](kind string, y, g, dst []T) {
	y, dst = y[:len(g)], dst[:len(g)]
	switch kind {
	case nets.ReLU:
		for i, v := range g {
			if y[i] <= 0 {
				v = 0
			}
			dst[i] = v
		}
	case nets.Tanh:
		for i, v := range g {
			dst[i] = v * (1 - y[i]*y[i])
		}
	case nets.Sigmoid:
		for i, v := range g {
			dst[i] = v * (y[i] * (1 - y[i]))
		}
	}
}

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
		return stacked(in[0].Data, p.layers.batch, p.ports[0].Width)
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
		gx := stacked(gradIn[0].Data, p.layers.batch, p.ports[0].Width)
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
				copy(dst.at(i, b, at+w)[at:], t.Data[(i*batch+b)*w:][:w])
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
				copy(t.Data[(i*batch+b)*w:][:w], src.at(i, b, at+w)[at:])
			}
		}
		at += w
	}
}
