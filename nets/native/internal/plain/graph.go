package plain

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// graphPass runs a [nets.Graph] as its comment says, an edge at a time: on every architecture, in float32 and float64.
type graphPass[T core.Number] struct {
	run    *core.GraphRun[*Tensor[T]]
	h      int
	in     []linear[T] // by kind of node
	x      [][][]T     // by layer and kind: the features embedded, then what each layer makes of them
	gx     [2][][]T    // gradients w.r.t. two neighbouring layers' x
	f      [][]T       // features by kind, in T
	layers []plainLayer[T]
	heads  []plainHead[T]
	g, gg  []T // graphs' vectors and the gradient w.r.t. them
}

// plainLayer is one layer: its attention by kind of edge, and what is done with the sum by kind of node.
type plainLayer[T core.Number] struct {
	edges []plainEdges[T]
	nodes []plainNodes[T]
}

// graphNet implements [core.GraphNetwork].
type graphNet[T core.Number] struct{ *net[T] }

// NewGraphNet implements [core.Graphs].
func (b *Backend[T]) NewGraphNet(v *core.Vectors[*Tensor[T]], _ nets.Graph) (core.GraphNetwork[*Tensor[T]], error) {
	return graphNet[T]{b.newNet(v)}, nil
}

// NewPass implements [core.GraphNetwork].
func (n graphNet[T]) NewPass(run *core.GraphRun[*Tensor[T]]) core.GraphPass[*Tensor[T]] {
	return newGraphPass(n.net, run)
}

func newGraphPass[T core.Number](n *net[T], run *core.GraphRun[*Tensor[T]]) *graphPass[T] {
	a := run.Arch
	p := &graphPass[T]{run: run, h: a.Hidden, x: make([][][]T, a.Layers+1), f: make([][]T, len(a.Nodes))}
	for l := range p.x {
		p.x[l] = make([][]T, len(a.Nodes))
	}
	p.gx = [2][][]T{make([][]T, len(a.Nodes)), make([][]T, len(a.Nodes))}
	for _, k := range a.Nodes {
		name := "in." + k.Name
		p.in = append(p.in, linear[T]{n.mul, 1, k.Width, p.h, n.param("%s.weight", name), n.param("%s.bias", name), true})
	}
	for l := range a.Layers {
		var layer plainLayer[T]
		for i := range a.Edges {
			layer.edges = append(layer.edges, newPlainEdges(n, a, l, i))
		}
		for k := range a.Nodes {
			layer.nodes = append(layer.nodes, newPlainNodes(n, a, l, k))
		}
		p.layers = append(p.layers, layer)
	}
	for i := range a.Heads {
		p.heads = append(p.heads, newPlainHead(n, a, i))
	}
	return p
}

func (p *graphPass[T]) rows(kind int) int { return p.run.Batch.Nodes[kind].Rows() }

// Forward implements [core.GraphPass].
func (p *graphPass[T]) Forward() {
	b := p.run.Batch
	for k := range p.in {
		rows := p.rows(k)
		p.f[k] = core.Grow(p.f[k], len(b.Nodes[k].Features))
		core.Convert(p.f[k], b.Nodes[k].Features)
		x := core.Grow(p.x[0][k], rows*p.h)
		p.x[0][k] = x
		p.in[k].forward(rows, stacked(p.f[k], rows, p.in[k].in), x)
		relu(x)
	}
	for l := range p.layers {
		p.layer(l)
	}
	p.pool()
}

// layer does x ← ReLU(norm(x + y)).
func (p *graphPass[T]) layer(l int) {
	layer, x := &p.layers[l], p.x[l]
	for k := range layer.nodes {
		n := &layer.nodes[k]
		p.x[l+1][k] = core.Grow(p.x[l+1][k], len(x[k]))
		if !n.updated {
			copy(p.x[l+1][k], x[k])
			continue
		}
		n.begin(p.rows(k), x[k])
	}
	for i, e := range p.run.Arch.Edges {
		layer.edges[i].forward(&p.run.Batch.Edges[i], x[e.From], x[e.To], layer.nodes[e.To].sum)
	}
	for k := range layer.nodes {
		if n := &layer.nodes[k]; n.updated {
			n.end(p.rows(k), x[k], p.x[l+1][k])
			if p.run.Drop != nil {
				n.mask = core.Grow(n.mask, len(x[k]))
				p.run.Mask(n.mask, l, k)
				n.drop(p.x[l+1][k])
			}
		}
	}
}

func (p *graphPass[T]) last() [][]T { return p.x[len(p.layers)] }

// pool sets each graph's vector: the means of its nodes' x.
func (p *graphPass[T]) pool() {
	b, width := p.run.Batch, p.h*len(p.in)
	p.g = core.Grow(p.g, b.Graphs()*width)
	clear(p.g)
	for k, x := range p.last() {
		starts := b.Nodes[k].Starts
		for i := range b.Graphs() {
			mean := p.g[i*width+k*p.h:][:p.h]
			for r := starts[i]; r < starts[i+1]; r++ {
				axpy(1, x[int(r)*p.h:][:p.h], mean)
			}
			if n := starts[i+1] - starts[i]; n > 0 {
				for j := range mean {
					mean[j] /= T(n)
				}
			}
		}
	}
}

// Embedding implements [core.GraphPass].
func (p *graphPass[T]) Embedding(kind int, out *Tensor[T]) { copy(out.Data, p.last()[kind]) }

// Pooled implements [core.GraphPass].
func (p *graphPass[T]) Pooled(out *Tensor[T]) { copy(out.Data, p.g) }

// Head implements [core.GraphPass].
func (p *graphPass[T]) Head(h int) { p.heads[h].forward(p, &p.run.Heads[h]) }

// Backward implements [core.GraphPass].
func (p *graphPass[T]) Backward() {
	b, width := p.run.Batch, p.h*len(p.in)
	p.gg = core.Grow(p.gg, len(p.g))
	clear(p.gg)
	for k := range p.in {
		for i := range p.gx {
			p.gx[i][k] = core.Grow(p.gx[i][k], p.rows(k)*p.h)
		}
		clear(p.gx[0][k])
	}
	for h := range p.heads {
		if p.run.Heads[h].Ran {
			p.heads[h].backward(p, &p.run.Heads[h])
		}
	}
	for k := range p.in {
		starts := b.Nodes[k].Starts
		for i := range b.Graphs() {
			for r := starts[i]; r < starts[i+1]; r++ {
				axpy(1/T(starts[i+1]-starts[i]), p.gg[i*width+k*p.h:][:p.h], p.gx[0][k][int(r)*p.h:][:p.h])
			}
		}
	}
	for l := len(p.layers) - 1; l >= 0; l-- {
		p.layerBack(l)
		p.gx[0], p.gx[1] = p.gx[1], p.gx[0]
	}
	for k := range p.in {
		if rows := p.rows(k); rows > 0 {
			reluBack(p.gx[0][k], p.x[0][k])
			p.in[k].addParamGrads(rows, stacked(p.f[k], rows, p.in[k].in), p.gx[0][k])
		}
	}
}

// layerBack takes the gradient w.r.t. a layer's x to that w.r.t. the x before it.
func (p *graphPass[T]) layerBack(l int) {
	layer, x := &p.layers[l], p.x[l]
	for k := range layer.nodes {
		n, g := &layer.nodes[k], p.gx[0][k]
		if !n.updated {
			copy(p.gx[1][k], g)
			continue
		}
		if p.run.Drop != nil {
			n.drop(g)
		}
		n.backward(p.rows(k), x[k], p.x[l+1][k], g, p.gx[1][k], p.run.Drop != nil)
	}
	for i, e := range p.run.Arch.Edges {
		layer.edges[i].backward(&p.run.Batch.Edges[i], x[e.From], x[e.To], p.gx[0][e.To], p.gx[1][e.From], p.gx[1][e.To])
	}
}

// plainNodes is what a layer does with what a kind of nodes receives: x ← ReLU(norm(x + y)).
type plainNodes[T core.Number] struct {
	h             int
	updated, skip bool
	own           *linear[T] // nil where it is not set
	bias          param[T]
	norm          *layerNorm[T]
	normed        normWork[T]
	sum           []T // y, then what norm sees
	mask          []float32
}

func newPlainNodes[T core.Number](n *net[T], a nets.Graph, l, kind int) plainNodes[T] {
	p := plainNodes[T]{h: a.Hidden, updated: a.Updated(kind), skip: a.Skip}
	if !p.updated {
		return p
	}
	name := fmt.Sprintf("layer%d.%s", l, a.Nodes[kind].Name)
	p.bias = n.param("%s.bias", name)
	if a.Own {
		p.own = &linear[T]{mul: n.mul, agents: 1, in: p.h, out: p.h, weight: n.param("%s.own", name)}
	}
	if a.Norm == nets.LayerNorm {
		p.norm = &layerNorm[T]{1, p.h, n.param("%s.gain", name), n.param("%s.offset", name)}
	}
	return p
}

// begin sets y to what comes from the node itself.
func (p *plainNodes[T]) begin(rows int, x []T) {
	p.sum = core.Grow(p.sum, len(x))
	clear(p.sum)
	if p.own != nil && rows > 0 {
		p.own.forward(rows, stacked(x, rows, p.h), p.sum)
	}
	for r := range rows {
		axpy(1, p.bias.value(0), p.sum[r*p.h:][:p.h])
	}
}

// end makes the new x of y.
func (p *plainNodes[T]) end(rows int, x, out []T) {
	if p.skip {
		axpy(1, x, p.sum)
	}
	y := p.sum
	if p.norm != nil {
		w := &p.normed
		w.hat, w.scale, w.y = core.Grow(w.hat, len(x)), core.Grow(w.scale, rows), core.Grow(w.y, len(x))
		p.norm.forward(rows, y, w)
		y = w.y
	}
	copy(out, y)
	relu(out)
}

// drop multiplies by the layer's mask.
func (p *plainNodes[T]) drop(x []T) {
	for i, m := range p.mask {
		x[i] *= T(m)
	}
}

// backward replaces g, the gradient w.r.t. the new x as it was before numbers were dropped, by that w.r.t. y, and sets
// gx to what goes to x without edges.
func (p *plainNodes[T]) backward(rows int, x, out, g, gx []T, dropped bool) {
	reluBack(g, out) // what was dropped has no gradient, so that out serves as well as what it was before
	if p.norm != nil {
		p.norm.backward(rows, &p.normed, g, true)
	}
	for r := range rows {
		axpy(1, g[r*p.h:][:p.h], p.bias.grad(0))
	}
	clear(gx)
	if p.skip {
		copy(gx, g)
	}
	if p.own != nil && rows > 0 {
		v := stacked(x, rows, p.h)
		p.own.addParamGrads(rows, v, g)
		p.own.addInputGrads(rows, g, stacked(gx, rows, p.h))
	}
}

func relu[T core.Number](x []T) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}

// reluBack does g ← g·ReLU'(x), where y = ReLU(x).
func reluBack[T core.Number](g, y []T) {
	for i, v := range y {
		if v <= 0 {
			g[i] = 0
		}
	}
}
