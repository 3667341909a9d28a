//go:build libtorch

package torch

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/rng"
	lib "github.com/sugarme/gotch/libtch"
)

// graphNet implements [nets.GraphNet].
type graphNet struct {
	*parameters
	g      nets.Graph
	inputs []linear
	layers []graphLayer
	heads  []graphHead
}

// NewGraphNet implements [nets.Engine].
func (e *engine) NewGraphNet(a nets.Graph) (nets.GraphNet, error) {
	p, err := e.newParameters("NewGraphNet", a, false)
	if err != nil {
		return nil, err
	}
	n := &graphNet{parameters: p, g: a}
	n.bind()
	if err := e.failure.take(); err != nil {
		return nil, err
	}
	return n, nil
}

// graphWork implements [nets.GraphWork].
type graphWork struct {
	net *graphNet
	s   *scope // of the tensors of a pass

	batch *nets.GraphBatch
	drop  *rng.Key
	uploaded
	x      []handle // the nodes' embeddings by kind
	pooled handle
	heads  []headRun
	lent   []*tensor // results that are valid until the next pass

	backward bool // see work
	ran      bool
	graphed  bool
	version  int64

	ints   []int32 // staging memory for the upload
	floats []float32
}

// headRun is the last run of a head since the last Forward.
type headRun struct {
	given [][]int32
	extra []float32
	ran   bool
	root  handle
	rows  int
	grad  *tensor // nil until asked for
}

// NewWork implements [nets.GraphNet].
func (n *graphNet) NewWork() nets.GraphWork {
	w := &graphWork{net: n, s: newScope(), heads: make([]headRun, len(n.g.Heads))}
	n.e.works = append(n.e.works, w)
	return w
}

// forget frees the tensors of the last pass.
func (w *graphWork) forget() {
	w.s.clear()
	for _, t := range w.lent {
		t.h = nil
	}
	w.lent, w.x, w.pooled = w.lent[:0], nil, nil
	w.uploaded = uploaded{}
	clear(w.heads)
	w.ran, w.graphed = false, false
}

func (w *graphWork) close() {
	w.forget()
	w.s.close()
}

// lend makes a tensor of a handle, valid until the next pass. The handle may be nil after a failure.
func (w *graphWork) lend(h handle, shape ...int) *tensor {
	t := &tensor{e: w.net.e, id: w.net.e.ids.Add(1), shape: shape, h: h, passing: true}
	t.n, _ = count(shape)
	if h != nil {
		w.lent = append(w.lent, t)
	}
	return t
}

// mine returns a Work of this net, or nil after a failure.
func (n *graphNet) mine(op string, w nets.GraphWork) *graphWork {
	if n.e.stopped(op) {
		return nil
	}
	x, ok := w.(*graphWork)
	if !ok || x == nil || x.net != n {
		n.e.fail(op, "the Work is not one of %v", n)
		return nil
	}
	if n.e.recording.Load() != nil {
		n.e.fail(op, "%v within a recorded update, want it outside: the sizes of graphs differ from run to run", n)
		return nil
	}
	return x
}

// Forward implements [nets.GraphNet].
func (n *graphNet) Forward(nw nets.GraphWork, b *nets.GraphBatch, drop *rng.Key) {
	const op = "Forward"
	w := n.mine(op, nw)
	if w == nil {
		return
	}
	w.forget()
	if err := n.g.CheckBatch(b); err != nil {
		n.e.fail(op, "%v: %w", n, err)
		return
	}
	w.batch, w.drop = b, drop
	n.e.within(op, w.s, w.backward, func() {
		w.upload(b)
		w.embed()
		if w.s.err == nil {
			w.ran, w.graphed, w.version = true, w.backward, lib.Atg_Version(n.params.h)
		}
	})
}

// usable says whether Forward has run with the net's present parameters.
func (w *graphWork) usable(op string) bool {
	n := w.net
	if !w.ran {
		n.e.fail(op, "%v in a Work without a Forward before", n)
		return false
	}
	if lib.Atg_Version(n.params.h) != w.version {
		n.e.fail(op, "the parameters of %v changed since the Forward", n)
		return false
	}
	return true
}

// Head implements [nets.GraphNet].
func (n *graphNet) Head(nw nets.GraphWork, head int, given [][]int32, extra []float32) nets.Tensor {
	const op = "Head"
	w := n.mine(op, nw)
	if w == nil || !w.usable(op) || !w.suits(head, given, extra) {
		return &tensor{e: n.e, id: n.e.ids.Add(1), shape: []int{0}}
	}
	spec, run := n.g.Heads[head], &w.heads[head]
	*run = headRun{given: given, extra: extra, rows: w.batch.Graphs()}
	if spec.Per != nets.WholeGraph {
		run.rows = w.batch.Nodes[spec.Per].Rows()
	}
	var values handle
	n.e.within(op, w.s, w.graphed, func() {
		run.root = w.score(head)
		values = w.s.detach(w.s.contiguous(run.root))
		run.ran = w.s.err == nil
	})
	return w.lend(values, 1, run.rows, spec.Out)
}

// suits says whether the inputs of a head fit it.
func (w *graphWork) suits(head int, given [][]int32, extra []float32) bool {
	err := w.net.g.CheckHead(w.batch, head, given, extra)
	if err != nil {
		w.net.e.fail("Head", "%v: %w", w.net, err)
	}
	return err == nil
}

// GradOut implements [nets.GraphWork].
func (w *graphWork) GradOut(head int) nets.Tensor {
	const op = "GradOut"
	n := w.net
	if head < 0 || head >= len(w.heads) {
		n.e.fail(op, "head %d of %v, want one of %d", head, n, len(w.heads))
		return nil
	}
	run := &w.heads[head]
	if !run.ran {
		return nil
	}
	if run.grad == nil {
		shape := []int{1, run.rows, n.g.Heads[head].Out}
		var h handle
		n.e.within(op, w.s, false, func() { h = w.s.zeros(n.e.code, n.e.device, shape...) })
		run.grad = w.lend(h, shape...)
	}
	return run.grad
}

// Embedding implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork) Embedding(kind int) nets.Tensor {
	const op = "Embedding"
	switch g := w.net.g; {
	case kind < 0 || kind >= len(g.Nodes):
		w.net.e.fail(op, "kind %d of nodes of %v, want one of %d", kind, w.net, len(g.Nodes))
		return w.net.e.newTensor(op, 0)
	case !w.ran:
		return w.seen(op, nil, 0, g.Hidden)
	default:
		return w.seen(op, w.x[kind], w.nodes[kind].rows, g.Hidden)
	}
}

// Pooled implements [nets.GraphWork]. Without a Forward it has no rows.
func (w *graphWork) Pooled() nets.Tensor {
	const op = "Pooled"
	if !w.ran {
		return w.seen(op, nil, 0, w.net.g.Output().Width)
	}
	return w.seen(op, w.pooled, w.batch.Graphs(), w.net.g.Output().Width)
}

// seen lends a result of the pass without its gradient graph; a nil handle stands for zeros.
func (w *graphWork) seen(op string, x handle, rows, width int) nets.Tensor {
	var h handle
	w.net.e.within(op, w.s, false, func() {
		if x == nil {
			x = w.s.zeros(w.net.e.code, w.net.e.device, rows, width)
		}
		h = w.s.reshape(w.s.detach(x), 1, rows, width)
	})
	return w.lend(h, 1, rows, width)
}

// Backward implements [nets.GraphNet].
func (n *graphNet) Backward(nw nets.GraphWork) {
	const op = "Backward"
	w := n.mine(op, nw)
	if w == nil || !w.usable(op) {
		return
	}
	w.backward = true
	var heads []int
	for i := range w.heads {
		if run := &w.heads[i]; run.ran && run.grad != nil && run.grad.n > 0 {
			heads = append(heads, i)
		}
	}
	if len(heads) == 0 {
		return
	}
	if !w.graphed {
		w.again(op, heads)
	}
	if w.graphed {
		n.e.within(op, w.s, false, func() { w.differentiate(heads) })
	}
}

// again repeats the pass with a gradient graph. Results that were lent stay valid: their values are the same.
func (w *graphWork) again(op string, heads []int) {
	w.net.e.within(op, w.s, true, func() {
		w.embed()
		for _, i := range heads {
			w.heads[i].root = w.score(i)
		}
		w.graphed = w.s.err == nil
	})
}
