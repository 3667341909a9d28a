//go:build libtorch

package torch

import (
	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// graphNet implements [core.GraphNetwork].
type graphNet struct {
	*parameters
	inputs []linear
	layers []graphLayer
	heads  []graphHead
}

// NewGraphNet implements [core.Graphs].
func (b *backend) NewGraphNet(v *core.Vectors[*tensor], a nets.Graph) (core.GraphNetwork[*tensor], error) {
	p, err := b.newParameters(v, false)
	if err != nil {
		return nil, err
	}
	n := &graphNet{parameters: p}
	n.bind(a)
	return n, nil
}

// graphWork implements [core.GraphPass].
type graphWork struct {
	*core.GraphRun[*tensor]
	net *graphNet
	s   *scope // of the tensors of a pass

	uploaded
	x      []handle // the nodes' embeddings by kind
	pooled handle
	roots  []handle  // of the heads' last runs
	lent   []*tensor // results that are valid until the next pass

	backward bool // see work
	graphed  bool
	version  int64

	ints   []int32 // staging memory for the upload
	floats []float32
}

// NewPass implements [core.GraphNetwork].
func (n *graphNet) NewPass(r *core.GraphRun[*tensor]) core.GraphPass[*tensor] {
	w := &graphWork{GraphRun: r, net: n, s: newScope(), roots: make([]handle, len(r.Heads))}
	n.b.works = append(n.b.works, w)
	return w
}

// forget frees the tensors of the last pass.
func (w *graphWork) forget() {
	w.s.clear()
	for _, t := range w.lent {
		t.h, t.pass = nil, nil
	}
	w.lent, w.x, w.pooled, w.uploaded, w.graphed = w.lent[:0], nil, nil, uploaded{}, false
}

func (w *graphWork) close() {
	w.forget()
	w.s.close()
}

// lend gives a tensor memory of the pass, unless that failed; nil stands for zeros once they are used.
func (w *graphWork) lend(t *tensor, h handle) {
	if w.s.err == nil {
		t.h, t.pass = h, w
		w.lent = append(w.lent, t)
	}
}

// Forward implements [core.GraphPass].
func (w *graphWork) Forward() {
	n := w.net
	w.forget()
	n.b.within("Forward", w.s, w.backward, func() {
		w.upload(w.Batch)
		w.embed()
		w.graphed, w.version = w.backward, n.version()
	})
}

// Head implements [core.GraphPass]. Each run has tensors of its own, so that the results of earlier ones stay.
func (w *graphWork) Head(head int) {
	n, run := w.net, &w.Heads[head]
	if n.changed("Head", w.version) {
		return
	}
	run.Out = &tensor{Header: n.b.Header(run.Out.Shape()...), b: n.b}
	run.Grad = &tensor{Header: n.b.Header(run.Grad.Shape()...), b: n.b}
	n.b.within("Head", w.s, w.graphed, func() {
		w.roots[head] = w.score(head)
		w.lend(run.Out, w.s.detach(w.s.contiguous(w.roots[head])))
		w.lend(run.Grad, nil)
	})
}

// Embedding implements [core.GraphPass].
func (w *graphWork) Embedding(kind int, out *tensor) { w.show("Embedding", w.x[kind], out) }

// Pooled implements [core.GraphPass].
func (w *graphWork) Pooled(out *tensor) { w.show("Pooled", w.pooled, out) }

// show lends a result of the pass without its gradient graph.
func (w *graphWork) show(op string, x handle, out *tensor) {
	w.net.b.within(op, w.s, false, func() { w.lend(out, w.s.reshape(w.s.detach(x), out.Shape()...)) })
}

// Backward implements [core.GraphPass].
func (w *graphWork) Backward() {
	const op = "Backward"
	if w.net.changed(op, w.version) {
		return
	}
	w.backward = true
	var heads []int
	for i, run := range w.Heads {
		if run.Ran && run.Grad.h != nil && run.Grad.Len() > 0 {
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
		w.net.b.within(op, w.s, false, func() { w.differentiate(heads) })
	}
}

// again repeats the pass with a gradient graph. Results that were lent stay valid: their values are the same.
func (w *graphWork) again(op string, heads []int) {
	w.net.b.within(op, w.s, true, func() {
		w.embed()
		for _, i := range heads {
			w.roots[i] = w.score(i)
		}
		w.graphed = w.s.err == nil
	})
}
