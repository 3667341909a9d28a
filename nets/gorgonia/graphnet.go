package gorgonia

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// graphNet implements [core.GraphNetwork]. Edges are dense incidence matrices, so that a pass needs only matrix
// products, whose gradients are gorgonia's. Each call builds new expressions: Forward for the embeddings, Head for one
// head on the computed embeddings, Backward for all of them together.
type graphNet[T core.Number] struct{ weights[T] }

// NewGraphNet implements [core.Graphs].
func (b *backend[T]) NewGraphNet(v *core.Vectors[*tensor[T]], _ nets.Graph) (core.GraphNetwork[*tensor[T]], error) {
	return &graphNet[T]{weights[T]{v, b}}, nil
}

// graphWork implements [core.GraphPass].
type graphWork[T core.Number] struct {
	*core.GraphRun[*tensor[T]]
	net     *graphNet[T]
	version int64 // of the parameters at the last Forward
	x, g    [][]T // embeddings and pooled vectors by kind; nil where a kind has no nodes
}

// NewPass implements [core.GraphNetwork].
func (n *graphNet[T]) NewPass(r *core.GraphRun[*tensor[T]]) core.GraphPass[*tensor[T]] {
	return &graphWork[T]{GraphRun: r, net: n}
}

// fail reports what gorgonia refused.
func (w *graphWork[T]) fail(op string, err error) {
	if err != nil {
		w.net.State.Fail(op, "%v: %w", w.net, err)
	}
}

// Forward implements [core.GraphPass].
func (w *graphWork[T]) Forward() {
	p := newGraphPass(w)
	x := p.embed()
	numbers, err := p.run(append(slices.Clone(x), p.pool(x)...))
	w.fail("Forward", err)
	w.x, w.g, w.version = numbers[:len(x)], numbers[len(x):], w.net.Params.Version
}

// Head implements [core.GraphPass].
func (w *graphWork[T]) Head(head int) {
	if w.net.changed("Head", w.version) {
		return
	}
	p := newGraphPass(w)
	x, g := make([]node, len(w.x)), make([]node, len(w.g))
	for k := range x {
		if w.x[k] != nil {
			x[k], g[k] = p.leaf(w.Rows(k), w.Arch.Hidden, w.x[k]), p.leaf(w.Batch.Graphs(), w.Arch.Hidden, w.g[k])
		}
	}
	numbers, err := p.run([]node{p.head(head, x, g)})
	w.fail("Head", err)
	copy(w.Heads[head].Out.Data, numbers[0])
}

// Backward implements [core.GraphPass].
func (w *graphWork[T]) Backward() {
	if w.net.changed("Backward", w.version) {
		return
	}
	p := newGraphPass(w)
	var x, g, outputs, by []node
	for i, run := range w.Heads {
		if !run.Ran || run.Grad.Len() == 0 {
			continue
		}
		if x == nil {
			x = p.embed()
			g = p.pool(x)
		}
		outputs = append(outputs, p.head(i, x, g))
		by = append(by, p.leaf(run.Rows, run.Grad.Width(), run.Grad.Data))
	}
	if len(outputs) > 0 {
		w.net.Grads.Version++
		w.fail("Backward", p.differentiate(outputs, by))
	}
}

// Embedding implements [core.GraphPass].
func (w *graphWork[T]) Embedding(kind int, out *tensor[T]) { copy(out.Data, w.x[kind]) }

// Pooled implements [core.GraphPass].
func (w *graphWork[T]) Pooled(out *tensor[T]) {
	out.Clear()
	for k, g := range w.g {
		for h, i := w.Arch.Hidden, 0; i*h < len(g); i++ {
			copy(out.Data[i*out.Width()+k*h:], g[i*h:][:h])
		}
	}
}

// graphPass builds expressions over a batch of graphs and holds the leaves of the parameters that they use. A nil
// node stands for a matrix of zeros or without rows, because gorgonia has no matrices without rows.
type graphPass[T core.Number] struct {
	*graph[T]
	w      *graphWork[T]
	params map[paramKey]*param[T]
}

func newGraphPass[T core.Number](w *graphWork[T]) *graphPass[T] {
	return &graphPass[T]{newGraph[T](w.net.b.format), w, map[paramKey]*param[T]{}}
}

// parameter is a leaf with some rows of a parameter. A vector is one row, or a column where the number of rows
// is its length.
func (p *graphPass[T]) parameter(name string, row, rows int) node {
	n := p.w.net
	slot := n.Slot("%s", name)
	cols := slot.Shape[len(slot.Shape)-1]
	if len(slot.Shape) == 1 && rows > 1 {
		cols = 1
	}
	key := paramKey{slot.Offset + row*cols, rows}
	x, ok := p.params[key]
	if !ok {
		x = &param[T]{at: key.at}
		x.leaf = p.leaf(rows, cols, n.Params.Data[x.at:][:rows*cols])
		p.params[key] = x
	}
	return x.leaf
}

// affine is x·weight + bias, with the rows of weight from row on; x may be nil.
func (p *graphPass[T]) affine(x node, rows, row, width int, weight, bias string) node {
	y := p.rows(p.parameter(bias, 0, 1), rows)
	if x != nil {
		y = p.add(y, p.product(x, p.parameter(weight, row, width)))
	}
	return y
}

// incidence is [rows, cols] with 1 in row i and column at(i), unless at(i) is negative.
func (p *graphPass[T]) incidence(rows, cols int, at func(i int) int) node {
	data := make([]T, rows*cols)
	for i := range rows {
		if c := at(i); c >= 0 {
			data[i*cols+c] = 1
		}
	}
	return p.leaf(rows, cols, data)
}

// host is a leaf of the batch's numbers.
func (p *graphPass[T]) host(rows, cols int, x []float32) node {
	data := make([]T, len(x))
	core.Convert(data, x)
	return p.leaf(rows, cols, data)
}

// embed is the nodes' x after the last layer, by kind; see [nets.Graph].
func (p *graphPass[T]) embed() []node {
	a, b := p.w.Arch, p.w.Batch
	x := make([]node, len(a.Nodes))
	for k, kind := range a.Nodes {
		if rows := b.Nodes[k].Rows(); rows > 0 {
			f := p.host(rows, kind.Width, b.Nodes[k].Features)
			x[k] = p.relu(p.affine(f, rows, 0, kind.Width, "in."+kind.Name+".weight", "in."+kind.Name+".bias"))
		}
	}
	for l := range a.Layers {
		x = p.layer(l, x)
	}
	return x
}

// layer is x ← ReLU(norm(x + y)), times the dropout mask.
func (p *graphPass[T]) layer(l int, x []node) []node {
	a, h := p.w.Arch, p.w.Arch.Hidden
	y := make([]node, len(x))
	for k, e := range a.Edges {
		if len(p.w.Batch.Edges[k].From) > 0 {
			y[e.To] = p.sum(y[e.To], p.messages(k, fmt.Sprintf("layer%d.%s.", l, e.Name), x[e.From], x[e.To]))
		}
	}
	next := make([]node, len(x))
	for k, kind := range a.Nodes {
		next[k] = x[k]
		if x[k] == nil || !a.Updated(k) {
			continue
		}
		name, rows := fmt.Sprintf("layer%d.%s.", l, kind.Name), p.w.Rows(k)
		z := p.sum(y[k], p.rows(p.parameter(name+"bias", 0, 1), rows))
		if a.Own {
			z = p.add(z, p.product(x[k], p.parameter(name+"own", 0, h)))
		}
		if a.Skip {
			z = p.add(z, x[k])
		}
		if a.Norm == nets.LayerNorm {
			gain, offset := p.rows(p.parameter(name+"gain", 0, 1), rows), p.rows(p.parameter(name+"offset", 0, 1), rows)
			z = p.add(p.times(p.standard(z, h), gain), offset)
		}
		next[k] = p.relu(z)
		if p.w.Drop != nil {
			mask := make([]float32, rows*h)
			p.w.Mask(mask, l, k)
			next[k] = p.times(next[k], p.host(rows, h, mask))
		}
	}
	return next
}

// messages is Σ softmax_u(s_uv)·m_uv for each node v that edges of one kind enter. With S and D the incidence
// matrices of the edges' sources and destinations:
//
//	m = S·x·W + f·F,  s = LeakyReLU(m·source + D·x·W·target),  y = Dᵀ·(softmax(s) ∘ m)
func (p *graphPass[T]) messages(kind int, name string, from, to node) node {
	e, a := &p.w.Batch.Edges[kind], p.w.Arch.Edges[kind]
	n, froms, tos, h := len(e.From), p.w.Rows(a.From), p.w.Rows(a.To), p.w.Arch.Hidden
	starts := p.incidence(n, froms, func(i int) int { return int(e.From[i]) })
	ends := p.incidence(n, tos, func(i int) int { return int(e.To[i]) })
	into := make([]T, tos*n) // Dᵀ
	for i, v := range e.To {
		into[int(v)*n+i] = 1
	}
	gather := p.leaf(tos, n, into)
	weight := p.parameter(name+"weight", 0, h)
	m := p.product(starts, p.product(from, weight))
	if a.Width > 0 {
		m = p.add(m, p.product(p.host(n, a.Width, e.Features), p.parameter(name+"features", 0, a.Width)))
	}
	s := p.add(p.product(m, p.parameter(name+"source", 0, h)),
		p.product(ends, p.product(p.product(to, weight), p.parameter(name+"target", 0, h))))
	s = p.times(s, p.plus(p.scaled(p.above(s, 0), 1-nets.Slope), nets.Slope))
	s = p.exp(p.sub(s, p.one(func(x node) (node, error) { return p.largestInto(x, e.To, name) }, s)))
	s = p.over(s, p.product(ends, p.product(gather, s)))
	return p.product(gather, p.times(m, p.product(s, p.filled(1, h, 1))))
}

// pool is the mean of each graph's x, by kind.
func (p *graphPass[T]) pool(x []node) []node {
	g := make([]node, len(x))
	for k := range x {
		if x[k] == nil {
			continue
		}
		starts := p.w.Batch.Nodes[k].Starts
		graphs, rows := p.w.Batch.Graphs(), p.w.Rows(k)
		data := make([]T, graphs*rows)
		for i := range graphs {
			for r := starts[i]; r < starts[i+1]; r++ {
				data[i*rows+int(r)] = T(1 / float64(starts[i+1]-starts[i]))
			}
		}
		g[k] = p.product(p.leaf(graphs, rows, data), x[k])
	}
	return g
}

// head is the result of a head with the inputs of its last run, or nil without rows.
func (p *graphPass[T]) head(head int, x, g []node) node {
	a, run, h, graphs := p.w.Arch, &p.w.Heads[head], p.w.Arch.Hidden, p.w.Batch.Graphs()
	spec := a.Heads[head]
	rows := p.w.Rows(spec.Per)
	if rows == 0 {
		return nil
	}
	name, at := "head."+spec.Name+".", 0
	var own, seen node // the hidden layer's inputs from the rows and from their graphs
	term := func(x node, width int) node {
		if x != nil {
			x = p.product(x, p.parameter(name+"0.weight", at, width))
		}
		at += width
		return x
	}
	see := func(x node) {
		if x != nil {
			seen = p.sum(seen, x)
		}
	}
	if spec.Per != nets.WholeGraph {
		own = term(x[spec.Per], h)
	}
	for k := range g {
		see(term(g[k], h))
	}
	for i, k := range spec.Given {
		if x[k] == nil {
			see(term(nil, h))
			continue
		}
		which := p.incidence(graphs, p.w.Rows(k), func(graph int) int { return int(run.Given[i][graph]) })
		see(term(p.product(which, x[k]), h))
	}
	if spec.Extra > 0 {
		see(term(p.host(graphs, spec.Extra, run.Extra), spec.Extra))
	}
	if own != nil && seen != nil {
		starts, graph := p.w.Batch.Nodes[spec.Per].Starts, 0
		seen = p.product(p.incidence(rows, graphs, func(r int) int {
			for int32(r) >= starts[graph+1] {
				graph++
			}
			return graph
		}), seen)
	}
	z := p.rows(p.parameter(name+"0.bias", 0, 1), rows)
	for _, x := range []node{own, seen} {
		if x != nil {
			z = p.add(z, x)
		}
	}
	return p.affine(p.relu(z), rows, 0, h, name+"1.weight", name+"1.bias")
}

// run computes expressions; the result of a nil expression is nil.
func (p *graphPass[T]) run(targets []node) ([][]T, error) {
	var program program[T]
	var there []node
	for _, t := range targets {
		if t != nil {
			there = append(there, t)
		}
	}
	if err := program.compile(p.graph, there, forwards, 0); err != nil {
		return make([][]T, len(targets)), err
	}
	if err := program.run(forwards); err != nil {
		return make([][]T, len(targets)), err
	}
	out := make([][]T, len(targets))
	for i, t := range targets {
		if t != nil {
			out[i] = program.numbers(t)
		}
	}
	return out, nil
}

// differentiate adds to the parameters' gradients.
func (p *graphPass[T]) differentiate(outputs, by []node) error {
	if p.err != nil {
		return p.err
	}
	var params []*param[T]
	var leaves []node
	used := p.used(outputs)
	for _, x := range sorted(p.params, func(a, b *param[T]) int { return a.at - b.at }) {
		if used[x.leaf] {
			params, leaves = append(params, x), append(leaves, x.leaf)
		}
	}
	gradients, err := p.gradients(outputs, by, leaves)
	if err != nil {
		return err
	}
	numbers, err := p.run(gradients)
	if err != nil {
		return err
	}
	for i, x := range params {
		for j, v := range numbers[i] {
			p.w.net.Grads.Data[x.at+j] += v
		}
	}
	return nil
}
