package native

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// graphNet implements [nets.GraphNet]. Its weights are a net's, for Adam.
type graphNet[T number] struct {
	*weights[T]
	arch nets.Graph
}

// weights is what a graphNet has of a net.
type weights[T number] struct{ net *net[T] }

// Arch implements [nets.Weights].
func (w *weights[T]) Arch() nets.Arch { return w.net.Arch() }

// Params implements [nets.Weights].
func (w *weights[T]) Params() nets.Tensor { return w.net.Params() }

// Grads implements [nets.Weights].
func (w *weights[T]) Grads() nets.Tensor { return w.net.Grads() }

// ZeroGrads implements [nets.Weights].
func (w *weights[T]) ZeroGrads() { w.net.ZeroGrads() }

// String names the net in errors.
func (w *weights[T]) String() string { return w.net.String() }

// graphPass is one way of running a graphNet: in plain Go or with kernels.
type graphPass[T number] interface {
	// forward embeds the nodes of the Work's batch.
	forward()
	// embedding and pooled write rows of the last layer's x, and the graphs' vectors, without padding.
	embedding(dst []T, kind int)
	pooled(dst []T)
	// head writes a head's result.
	head(h int, dst []T)
	// backward adds to the net's gradients by what the heads' gradients hold: those that have run.
	backward()
}

// NewGraphNet implements [nets.Engine].
func (e *engine[T]) NewGraphNet(g nets.Graph) (nets.GraphNet, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	n := &graphNet[T]{&weights[T]{e.newWeights("NewGraphNet", g)}, g}
	if e.tiler != nil {
		n.net.tiles = &tileNet{net: as32[*net[float32]](n.net)}
	}
	return n, nil
}

// graphWork implements [nets.GraphWork].
type graphWork[T number] struct {
	net   *graphNet[T]
	batch *nets.GraphBatch
	drop  *rng.Key // of the last Forward, or nil
	key   rng.Key
	ran   bool // forward has run
	heads []graphHead[T]
	pass  graphPass[T]

	embeddings []*tensor[T]
	vectors    *tensor[T]
	rows       []T // without padding, on their way to a tensor
}

// graphHead is a head's last run.
type graphHead[T number] struct {
	out, grad *tensor[T]
	given     [][]int32
	extra     []float32
	rows      int
	ran       bool // since Forward
}

// NewWork implements [nets.GraphNet].
func (n *graphNet[T]) NewWork() nets.GraphWork {
	e := n.net.e
	w := &graphWork[T]{net: n, heads: make([]graphHead[T], len(n.arch.Heads))}
	for i, h := range n.arch.Heads {
		w.heads[i].out, w.heads[i].grad = e.newTensor("NewWork", 1, 0, h.Out), e.newTensor("NewWork", 1, 0, h.Out)
	}
	for range n.arch.Nodes {
		w.embeddings = append(w.embeddings, e.newTensor("NewWork", 1, 0, n.arch.Hidden))
	}
	w.vectors = e.newTensor("NewWork", 1, 0, n.arch.Output().Width)
	if e.tiler != nil {
		w.pass = any(newGraphFast(as32[*graphWork[float32]](w))).(graphPass[T])
	} else {
		w.pass = newGraphPlain(w)
	}
	return w
}

// mine returns a Work of this net, or nil after a failure.
func (n *graphNet[T]) mine(op string, with nets.GraphWork) *graphWork[T] {
	e := n.net.e
	if e.failed() {
		return nil
	}
	if e.tiler != nil && e.tiler.capture != nil || e.debug && e.trace.running() {
		e.fail(op, "%v within a recorded update, want it outside: the sizes of graphs differ from run to run", n)
		return nil
	}
	w, ok := with.(*graphWork[T])
	if !ok || w == nil || w.net != n {
		e.fail(op, "the Work is not one of %v", n)
		return nil
	}
	return w
}

// Forward implements [nets.GraphNet].
func (n *graphNet[T]) Forward(with nets.GraphWork, b *nets.GraphBatch, drop *rng.Key) {
	w := n.mine("Forward", with)
	if w == nil {
		return
	}
	w.ran = false
	if err := n.arch.CheckBatch(b); err != nil {
		n.net.e.fail("Forward", "%v: %w", n, err)
		return
	}
	w.batch, w.drop = b, nil
	if drop != nil && n.arch.Dropout > 0 {
		w.key = *drop
		w.drop = &w.key
	}
	for i := range w.heads {
		w.heads[i].ran = false
	}
	w.pass.forward()
	w.ran = true
}

// Head implements [nets.GraphNet].
func (n *graphNet[T]) Head(with nets.GraphWork, head int, given [][]int32, extra []float32) nets.Tensor {
	e := n.net.e
	w := n.mine("Head", with)
	if w == nil {
		return n.nothing(with, head)
	}
	if head < 0 || head >= len(w.heads) {
		e.fail("Head", "head %d of %v, want one of %d", head, n, len(w.heads))
		return n.nothing(with, head)
	}
	h, a := &w.heads[head], n.arch.Heads[head]
	h.ran = false
	if !w.ran {
		e.fail("Head", "%q of %v in a Work without a Forward before it", a.Name, n)
		return h.out
	}
	if err := n.arch.CheckHead(w.batch, head, given, extra); err != nil {
		e.fail("Head", "%v: %w", n, err)
		return h.out
	}
	h.given, h.extra, h.rows = given, extra, w.rowsOf(a.Per)
	h.out.resize(h.rows)
	h.grad.resize(h.rows)
	clear(h.grad.data)
	w.rows = grown(w.rows, h.out.n)
	w.pass.head(head, w.rows)
	store(h.out, w.rows)
	h.ran = true
	return h.out
}

// rowsOf is the number of rows of a head per a kind of node, or per graph.
func (w *graphWork[T]) rowsOf(kind int) int {
	if kind == nets.WholeGraph {
		return w.batch.Graphs()
	}
	return w.batch.Nodes[kind].Rows()
}

// nothing is what Head returns after a failure.
func (n *graphNet[T]) nothing(with nets.GraphWork, head int) nets.Tensor {
	if w, ok := with.(*graphWork[T]); ok && w != nil && head >= 0 && head < len(w.heads) {
		return w.heads[head].out
	}
	return n.net.e.newTensor("Head", 0)
}

// Backward implements [nets.GraphNet].
func (n *graphNet[T]) Backward(with nets.GraphWork) {
	w := n.mine("Backward", with)
	if w == nil {
		return
	}
	if !w.ran {
		n.net.e.fail("Backward", "%v in a Work without a Forward before it", n)
		return
	}
	w.pass.backward()
}

// GradOut implements [nets.GraphWork].
func (w *graphWork[T]) GradOut(head int) nets.Tensor {
	if head < 0 || head >= len(w.heads) {
		w.net.net.e.fail("GradOut", "head %d of %v, want one of %d", head, w.net, len(w.heads))
		return nil
	}
	if !w.heads[head].ran {
		return nil
	}
	return w.heads[head].grad
}

// Embedding implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork[T]) Embedding(kind int) nets.Tensor {
	if kind < 0 || kind >= len(w.embeddings) {
		w.net.net.e.fail("Embedding", "kind %d of nodes of %v, want one of %d", kind, w.net, len(w.embeddings))
		return w.net.net.e.newTensor("Embedding", 0)
	}
	t := w.embeddings[kind]
	if w.ran {
		t.resize(w.rowsOf(kind))
		w.rows = grown(w.rows, t.n)
		w.pass.embedding(w.rows, kind)
		store(t, w.rows)
	}
	return t
}

// Pooled implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork[T]) Pooled() nets.Tensor {
	if w.ran {
		w.vectors.resize(w.batch.Graphs())
		w.rows = grown(w.rows, w.vectors.n)
		w.pass.pooled(w.rows)
		store(w.vectors, w.rows)
	}
	return w.vectors
}

// mask writes what layer l's new x of a kind is multiplied by.
func (w *graphWork[T]) mask(dst []float32, l, kind int) {
	nets.DropoutMask(dst, *w.drop, l, kind, w.net.arch.Dropout)
}

// resize gives a tensor of [1, rows, width] other rows, in the memory that it has where that is enough.
func (t *tensor[T]) resize(rows int) {
	t.shape[1] = rows
	t.n, t.tiling = rows*t.shape[2], tiling{}
	size := t.n
	if t.e.tiler != nil && t.n > 0 {
		t.tiling = newTiling(1, rows, t.shape[2])
		size = t.size()
	}
	t.data = grown(t.data, size)
}

// grown returns n numbers, whatever they are, in x's memory where that is enough. Else there is some to spare, as sizes differ from batch to batch.
func grown[E any](x []E, n int) []E {
	if cap(x) < n {
		x = make([]E, n, max(n, cap(x)+cap(x)/4))
		largePages(x[:cap(x)])
	}
	return x[:n]
}
