package gorgonia

import (
	"slices"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// graphNet implements [nets.GraphNet]. Edges are dense incidence matrices, so that a pass needs only matrix products,
// whose gradients are gorgonia's. Each call builds new expressions: Forward for the embeddings, Head for one head on
// the computed embeddings, Backward for all of them together.
type graphNet[T number] struct {
	*parameters[T]
	g nets.Graph
}

// NewGraphNet implements [nets.Engine].
func (e *engine[T]) NewGraphNet(a nets.Graph) (nets.GraphNet, error) {
	p, err := e.newParameters("NewGraphNet", a)
	if err != nil {
		return nil, err
	}
	return &graphNet[T]{p, a}, nil
}

// graphWork implements [nets.GraphWork].
type graphWork[T number] struct {
	net     *graphNet[T]
	batch   *nets.GraphBatch
	drop    *rng.Key
	ran     bool
	version int64 // of the parameters at the last Forward
	x, g    [][]T // embeddings and pooled vectors by kind; nil where a kind has no nodes
	heads   []headRun[T]
}

// headRun is the last run of a head since the last Forward.
type headRun[T number] struct {
	given     [][]int32
	extra     []float32
	out, grad *tensor[T] // nil before
}

// NewWork implements [nets.GraphNet].
func (n *graphNet[T]) NewWork() nets.GraphWork {
	return &graphWork[T]{net: n, heads: make([]headRun[T], len(n.g.Heads))}
}

// mine returns a Work of this net, or nil after a failure.
func (n *graphNet[T]) mine(op string, w nets.GraphWork) *graphWork[T] {
	if n.e.failed() {
		return nil
	}
	x, ok := w.(*graphWork[T])
	if !ok || x == nil || x.net != n {
		n.e.fail(op, "the Work is not one of %v", n)
		return nil
	}
	return x
}

// Forward implements [nets.GraphNet].
func (n *graphNet[T]) Forward(nw nets.GraphWork, b *nets.GraphBatch, drop *rng.Key) {
	const op = "Forward"
	w := n.mine(op, nw)
	if w == nil {
		return
	}
	w.ran = false
	clear(w.heads)
	if err := n.g.CheckBatch(b); err != nil {
		n.e.fail(op, "%v: %w", n, err)
		return
	}
	w.batch, w.drop = b, drop
	p := newGraphPass(w)
	x := p.embed()
	g := p.pool(x)
	numbers, err := p.run(append(slices.Clone(x), g...))
	if err != nil {
		n.e.fail(op, "%v: %w", n, err)
		return
	}
	w.x, w.g = numbers[:len(x)], numbers[len(x):]
	w.ran, w.version = true, n.params.version
}

// usable says whether Forward has run with the net's present parameters.
func (w *graphWork[T]) usable(op string) bool {
	if !w.ran {
		w.net.e.fail(op, "%v in a Work without a Forward before", w.net)
		return false
	}
	if w.version != w.net.params.version {
		w.net.e.fail(op, "the parameters of %v changed since the Forward", w.net)
		return false
	}
	return true
}

// rows is the number of nodes of a kind, or of graphs.
func (w *graphWork[T]) rows(kind int) int {
	if kind == nets.WholeGraph {
		return w.batch.Graphs()
	}
	return w.batch.Nodes[kind].Rows()
}

// Head implements [nets.GraphNet].
func (n *graphNet[T]) Head(nw nets.GraphWork, head int, given [][]int32, extra []float32) nets.Tensor {
	const op = "Head"
	w := n.mine(op, nw)
	if w == nil || !w.usable(op) || !w.suits(head, given, extra) {
		return &tensor[T]{e: n.e, id: n.e.ids.Add(1), shape: []int{0}}
	}
	spec := n.g.Heads[head]
	w.heads[head] = headRun[T]{given: given, extra: extra}
	p := newGraphPass(w)
	x, g := make([]node, len(w.x)), make([]node, len(w.g))
	for k := range x {
		if w.x[k] != nil {
			x[k], g[k] = p.leaf(w.rows(k), n.g.Hidden, w.x[k]), p.leaf(w.batch.Graphs(), n.g.Hidden, w.g[k])
		}
	}
	numbers, err := p.run([]node{p.head(head, x, g)})
	if err != nil {
		n.e.fail(op, "%q of %v: %w", spec.Name, n, err)
	}
	run := &w.heads[head]
	run.out = n.e.newTensor(op, 1, w.rows(spec.Per), spec.Out)
	run.grad = n.e.newTensor(op, 1, w.rows(spec.Per), spec.Out)
	copy(run.out.data, numbers[0])
	return run.out
}

// suits says whether the inputs of a head fit it.
func (w *graphWork[T]) suits(head int, given [][]int32, extra []float32) bool {
	err := w.net.g.CheckHead(w.batch, head, given, extra)
	if err != nil {
		w.net.e.fail("Head", "%v: %w", w.net, err)
	}
	return err == nil
}

// Backward implements [nets.GraphNet].
func (n *graphNet[T]) Backward(nw nets.GraphWork) {
	const op = "Backward"
	w := n.mine(op, nw)
	if w == nil || !w.usable(op) {
		return
	}
	p := newGraphPass(w)
	var x, g, outputs, by []node
	for i, run := range w.heads {
		if run.grad == nil || len(run.grad.data) == 0 {
			continue
		}
		if x == nil {
			x = p.embed()
			g = p.pool(x)
		}
		outputs = append(outputs, p.head(i, x, g))
		by = append(by, p.leaf(run.grad.shape[1], run.grad.shape[2], run.grad.data))
	}
	if len(outputs) == 0 {
		return
	}
	n.grads.version++
	if err := p.differentiate(outputs, by); err != nil {
		n.e.fail(op, "%v: %w", n, err)
	}
}

// GradOut implements [nets.GraphWork].
func (w *graphWork[T]) GradOut(head int) nets.Tensor {
	if head < 0 || head >= len(w.heads) {
		w.net.e.fail("GradOut", "head %d of %v, want one of %d", head, w.net, len(w.heads))
		return nil
	}
	if w.heads[head].grad == nil {
		return nil
	}
	return w.heads[head].grad
}

// Embedding implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork[T]) Embedding(kind int) nets.Tensor {
	const op = "Embedding"
	e, g := w.net.e, w.net.g
	if kind < 0 || kind >= len(g.Nodes) {
		e.fail(op, "kind %d of nodes of %v, want one of %d", kind, w.net, len(g.Nodes))
		return e.newTensor(op, 0)
	}
	if !w.ran {
		return e.newTensor(op, 1, 0, g.Hidden)
	}
	t := e.newTensor(op, 1, w.rows(kind), g.Hidden)
	copy(t.data, w.x[kind])
	return t
}

// Pooled implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork[T]) Pooled() nets.Tensor {
	const op = "Pooled"
	e, h, width := w.net.e, w.net.g.Hidden, w.net.g.Output().Width
	if !w.ran {
		return e.newTensor(op, 1, 0, width)
	}
	t := e.newTensor(op, 1, w.batch.Graphs(), width)
	for k, g := range w.g {
		for i := 0; i*h < len(g); i++ {
			copy(t.data[i*width+k*h:], g[i*h:][:h])
		}
	}
	return t
}
