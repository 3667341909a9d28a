//go:build libtorch

package torch

// #include "segments.h"
import "C"

import (
	"unsafe"

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

// differentiate adds to the parameters' gradients, from the gradients w.r.t. the heads' results.
func (w *graphWork) differentiate(heads []int) {
	var roots, grads []unsafe.Pointer
	for _, i := range heads {
		roots, grads = append(roots, unsafe.Pointer(w.roots[i])), append(grads, unsafe.Pointer(w.Heads[i].Grad.h))
	}
	weights, sums := w.net.weights, w.net.sums
	w.s.check("backward", C.sto_backward_all(unsafe.SliceData(roots), unsafe.SliceData(grads), C.size_t(len(roots)),
		unsafe.SliceData(weights), unsafe.SliceData(sums), C.size_t(len(weights))), w.roots[heads[0]])
}

// uploaded is a batch on the engine's device. It is copied as two tensors, one of integers and one of floats; all other
// handles are views of those.
type uploaded struct {
	nodes []nodesOnDevice
	edges []edgesOnDevice
	// masks are the layers' dropout masks, [layers·kinds]; nil without dropout.
	masks []handle
}

// nodesOnDevice are the nodes of a kind on the device, graph after graph.
type nodesOnDevice struct {
	rows            int
	features        handle // [rows, width]
	starts, graphOf handle // as in [nets.BatchNodes]; each row's graph
	counts          handle // [graphs, 1]: the number of a graph's nodes, or 1
}

// edgesOnDevice are the edges of a kind on the device, as in [nets.BatchEdges]; handles are nil without edges.
type edgesOnDevice struct {
	n                              int
	from, to, in, order, outStarts handle
	features                       handle // [edges, width]
}

// part is the position of a slice in the tensor of its format.
type part struct{ at, n int }

func packed[E any](all *[]E, x []E) part {
	p := part{len(*all), len(x)}
	*all = append(*all, x...)
	return p
}

// upload copies a batch to the device.
func (w *graphWork) upload(b *nets.GraphBatch) {
	s, g := w.s, w.Arch
	w.ints, w.floats = w.ints[:0], w.floats[:0]
	type nodeParts struct{ features, starts, graphOf, counts part }
	type edgeParts struct{ from, to, in, order, outStarts, features part }
	nodeAt, edgeAt := make([]nodeParts, len(b.Nodes)), make([]edgeParts, len(b.Edges))
	for k := range b.Nodes {
		n, at := &b.Nodes[k], &nodeAt[k]
		at.features, at.starts = packed(&w.floats, n.Features), packed(&w.ints, n.Starts)
		at.graphOf, at.counts = part{len(w.ints), n.Rows()}, part{len(w.floats), b.Graphs()}
		for i := range b.Graphs() {
			rows := n.Starts[i+1] - n.Starts[i]
			for range rows {
				w.ints = append(w.ints, int32(i))
			}
			w.floats = append(w.floats, float32(max(rows, 1)))
		}
	}
	for k := range b.Edges {
		e, at := &b.Edges[k], &edgeAt[k]
		at.from, at.to, at.in = packed(&w.ints, e.From), packed(&w.ints, e.To), packed(&w.ints, e.In)
		at.order, at.outStarts = packed(&w.ints, e.Out), packed(&w.ints, e.OutStarts)
		at.features = packed(&w.floats, e.Features)
	}
	ints := s.ship(w.net.b, unsafe.Pointer(unsafe.SliceData(w.ints)), len(w.ints), codeInt32, codeInt32)
	floats := s.ship(w.net.b, unsafe.Pointer(unsafe.SliceData(w.floats)), len(w.floats), codeFloat32, w.net.b.code)
	w.nodes, w.edges = make([]nodesOnDevice, len(b.Nodes)), make([]edgesOnDevice, len(b.Edges))
	for k, at := range nodeAt {
		rows := b.Nodes[k].Rows()
		w.nodes[k] = nodesOnDevice{
			rows:     rows,
			features: s.reshape(s.part(floats, at.features), rows, g.Nodes[k].Width),
			starts:   s.part(ints, at.starts), graphOf: s.part(ints, at.graphOf),
			counts: s.reshape(s.part(floats, at.counts), b.Graphs(), 1),
		}
	}
	for k, at := range edgeAt {
		if at.from.n == 0 {
			continue
		}
		e := edgesOnDevice{
			n: at.from.n, from: s.part(ints, at.from), to: s.part(ints, at.to), in: s.part(ints, at.in),
			order: s.part(ints, at.order), outStarts: s.part(ints, at.outStarts),
		}
		if g.Edges[k].Width > 0 {
			e.features = s.reshape(s.part(floats, at.features), e.n, g.Edges[k].Width)
		}
		w.edges[k] = e
	}
	if w.Drop != nil {
		w.mask()
	}
}

// mask copies the dropout masks to the device.
func (w *graphWork) mask() {
	g := w.Arch
	w.masks = make([]handle, g.Layers*len(g.Nodes))
	for l := range g.Layers {
		for k := range g.Nodes {
			n := w.nodes[k].rows * g.Hidden
			if n == 0 || !g.Updated(k) {
				continue
			}
			w.floats = append(w.floats[:0], make([]float32, n)...)
			w.Mask(w.floats, l, k)
			m := w.s.ship(w.net.b, unsafe.Pointer(unsafe.SliceData(w.floats)), n, codeFloat32, w.net.b.code)
			w.masks[l*len(g.Nodes)+k] = w.s.reshape(m, w.nodes[k].rows, g.Hidden)
		}
	}
}

// ship makes a tensor on the engine's device from n numbers on the host.
func (s *scope) ship(b *backend, src unsafe.Pointer, n, from, to int) handle {
	return s.shim("copy to the device", func(out *unsafe.Pointer) *C.char {
		return C.sto_ship(out, (*C.char)(src), C.int64_t(n), C.int(from), C.int(to), C.int(b.device))
	})
}

func (s *scope) part(t handle, p part) handle { return s.narrow(t, 0, p.at, p.n) }
