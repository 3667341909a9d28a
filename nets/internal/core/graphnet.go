package core

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
)

// graphNet implements [nets.GraphNet].
type graphNet[X Tensor] struct {
	weights[X]
	network GraphNetwork[X]
	arch    nets.Graph
}

// NewGraphNet implements [nets.Engine].
func (e *Engine[X]) NewGraphNet(a nets.Graph) (nets.GraphNet, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	v := e.newVectors("NewGraphNet", a)
	network, err := e.graphs.NewGraphNet(v, a)
	if err != nil {
		return nil, err
	}
	return &graphNet[X]{weights[X]{e, v, network}, network, a}, nil
}

// GraphRun is what a pass over graphs works on.
type GraphRun[X Tensor] struct {
	Arch  nets.Graph
	Batch *nets.GraphBatch
	Drop  *rng.Key // of the last Forward, or nil
	Heads []HeadRun[X]
}

// HeadRun is a head's last run.
type HeadRun[X Tensor] struct {
	Out, Grad X // the result and the gradient w.r.t. it, [1, rows, out]
	Given     [][]int32
	Extra     []float32
	Rows      int
	Ran       bool // since Forward
}

// Mask writes what dropout multiplies layer l's new x of a kind by.
func (r *GraphRun[X]) Mask(dst []float32, l, kind int) {
	nets.DropoutMask(dst, *r.Drop, l, kind, r.Arch.Dropout)
}

// Rows is the number of rows of a head per a kind of node, or per graph.
func (r *GraphRun[X]) Rows(kind int) int {
	if kind == nets.WholeGraph {
		return r.Batch.Graphs()
	}
	return r.Batch.Nodes[kind].Rows()
}

// graphWork implements [nets.GraphWork].
type graphWork[X Tensor] struct {
	net  *graphNet[X]
	run  GraphRun[X]
	key  rng.Key
	ran  bool // Forward has
	pass GraphPass[X]

	embeddings []X
	vectors    X
}

// NewWork implements [nets.GraphNet].
func (n *graphNet[X]) NewWork() nets.GraphWork {
	e := n.e
	w := &graphWork[X]{net: n, run: GraphRun[X]{Arch: n.arch, Heads: make([]HeadRun[X], len(n.arch.Heads))}}
	for i, h := range n.arch.Heads {
		w.run.Heads[i].Out, w.run.Heads[i].Grad = e.newTensor("NewWork", 1, 0, h.Out), e.newTensor("NewWork", 1, 0, h.Out)
	}
	for range n.arch.Nodes {
		w.embeddings = append(w.embeddings, e.newTensor("NewWork", 1, 0, n.arch.Hidden))
	}
	w.vectors = e.newTensor("NewWork", 1, 0, n.arch.Output().Width)
	w.pass = n.network.NewPass(&w.run)
	return w
}

// mine returns a Work of this net, or nil after a failure.
func (n *graphNet[X]) mine(op string, with nets.GraphWork) *graphWork[X] {
	if n.e.Stopped(op) {
		return nil
	}
	if n.e.recording() || n.e.updating {
		n.e.Fail(op, "%v within a recorded update, want it outside: the sizes of graphs differ from run to run", n)
		return nil
	}
	w, ok := with.(*graphWork[X])
	if !ok || w == nil || w.net != n {
		n.e.Fail(op, "the Work is not one of %v", n)
		return nil
	}
	return w
}

// Forward implements [nets.GraphNet].
func (n *graphNet[X]) Forward(with nets.GraphWork, b *nets.GraphBatch, drop *rng.Key) {
	w := n.mine("Forward", with)
	if w == nil {
		return
	}
	w.ran = false
	if err := n.arch.CheckBatch(b); err != nil {
		n.e.Fail("Forward", "%v: %w", n, err)
		return
	}
	w.run.Batch, w.run.Drop = b, nil
	if drop != nil && n.arch.Dropout > 0 {
		w.key = *drop
		w.run.Drop = &w.key
	}
	for i := range w.run.Heads {
		w.run.Heads[i].Ran = false
	}
	w.pass.Forward()
	w.ran = !n.e.Failed()
}

// Head implements [nets.GraphNet].
func (n *graphNet[X]) Head(with nets.GraphWork, head int, given [][]int32, extra []float32) nets.Tensor {
	w := n.mine("Head", with)
	if w == nil {
		return n.nothing(with, head)
	}
	if head >= 0 && head < len(w.run.Heads) && !w.ran {
		n.e.Fail("Head", "%v: head %q in a Work without a Forward before it", n, n.arch.Heads[head].Name)
		return n.nothing(with, head)
	}
	if err := n.arch.CheckHead(w.run.Batch, head, given, extra); err != nil {
		n.e.Fail("Head", "%v: %w", n, err)
		return n.nothing(with, head)
	}
	h := &w.run.Heads[head]
	h.Given, h.Extra, h.Rows = given, extra, w.run.Rows(n.arch.Heads[head].Per)
	h.Out.Resize(h.Rows)
	h.Grad.Resize(h.Rows)
	h.Grad.Clear()
	w.pass.Head(head)
	h.Ran = !n.e.Failed()
	return h.Out
}

// nothing is what Head returns after a failure, which counts as no run of that head.
func (n *graphNet[X]) nothing(with nets.GraphWork, head int) nets.Tensor {
	if w, ok := with.(*graphWork[X]); ok && w != nil && head >= 0 && head < len(w.run.Heads) {
		w.run.Heads[head].Ran = false
		return w.run.Heads[head].Out
	}
	return n.e.newTensor("Head", 0)
}

// Backward implements [nets.GraphNet].
func (n *graphNet[X]) Backward(with nets.GraphWork) {
	w := n.mine("Backward", with)
	if w == nil {
		return
	}
	if !w.ran {
		n.e.Fail("Backward", "%v in a Work without a Forward before it", n)
		return
	}
	w.pass.Backward()
}

// GradOut implements [nets.GraphWork].
func (w *graphWork[X]) GradOut(head int) nets.Tensor {
	if head < 0 || head >= len(w.run.Heads) {
		w.net.e.Fail("GradOut", "head %d of %v, want one of %d", head, w.net, len(w.run.Heads))
		return nil
	}
	if !w.run.Heads[head].Ran {
		return nil
	}
	return w.run.Heads[head].Grad
}

// Embedding implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork[X]) Embedding(kind int) nets.Tensor {
	if kind < 0 || kind >= len(w.embeddings) {
		w.net.e.Fail("Embedding", "kind %d of nodes of %v, want one of %d", kind, w.net, len(w.embeddings))
		return w.net.e.newTensor("Embedding", 0)
	}
	t := w.embeddings[kind]
	if w.shows() {
		t.Resize(w.run.Rows(kind))
		w.pass.Embedding(kind, t)
	}
	return t
}

// Pooled implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork[X]) Pooled() nets.Tensor {
	if w.shows() {
		w.vectors.Resize(w.run.Batch.Graphs())
		w.pass.Pooled(w.vectors)
	}
	return w.vectors
}

// shows says that there is a Forward whose results can be seen.
func (w *graphWork[X]) shows() bool { return w.ran && !w.net.e.Closed() }
