//go:build libtorch

package torch

// #include "segments.h"
import "C"

import (
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
)

// linear is x·weight + bias.
type linear struct{ weight, bias handle }

// graphLayer is a layer's parameters by kinds of edges and of nodes.
type graphLayer struct {
	edges []edgeWeights
	nodes []nodeWeights
}

// edgeWeights of a kind of edges; features is nil for edges without.
type edgeWeights struct{ weight, source, target, features handle }

// nodeWeights of a kind of nodes. All are nil for a kind whose x the layer does not change; own, gain and offset are
// nil if the architecture has none.
type nodeWeights struct{ own, bias, gain, offset handle }

// graphHead is a head's two layers.
type graphHead struct{ hidden, out linear }

// bind looks up the parameters by name.
func (n *graphNet) bind(g nets.Graph) {
	for _, k := range g.Nodes {
		n.inputs = append(n.inputs, linear{n.leaf("in.%s.weight", k.Name), n.leaf("in.%s.bias", k.Name)})
	}
	for l := range g.Layers {
		var layer graphLayer
		for _, k := range g.Edges {
			leaf := func(of string) handle { return n.leaf("layer%d.%s.%s", l, k.Name, of) }
			layer.edges = append(layer.edges, edgeWeights{leaf("weight"), leaf("source"), leaf("target"),
				leaf("features")})
		}
		for _, k := range g.Nodes {
			leaf := func(of string) handle { return n.leaf("layer%d.%s.%s", l, k.Name, of) }
			layer.nodes = append(layer.nodes, nodeWeights{leaf("own"), leaf("bias"), leaf("gain"), leaf("offset")})
		}
		n.layers = append(n.layers, layer)
	}
	for _, h := range g.Heads {
		leaf := func(of string) handle { return n.leaf("head.%s.%s", h.Name, of) }
		n.heads = append(n.heads, graphHead{linear{leaf("0.weight"), leaf("0.bias")},
			linear{leaf("1.weight"), leaf("1.bias")}})
	}
}

// embed computes the nodes' x and the graphs' vectors; see [nets.Graph].
func (w *graphWork) embed() {
	s, n := w.s, w.net
	x := make([]handle, len(n.inputs))
	for k, in := range n.inputs {
		x[k] = s.apply("relu", lib.AtgRelu, s.affine(w.nodes[k].features, in))
	}
	for l := range n.layers {
		x = w.layer(l, x)
	}
	w.x = x
	pooled := make([]handle, len(x))
	for k := range x {
		pooled[k] = s.div(s.segmentSum(x[k], w.nodes[k].starts, w.nodes[k].graphOf), w.nodes[k].counts)
	}
	w.pooled = s.cat(pooled...)
}

// layer is x ← ReLU(norm(x + y)) of all kinds of nodes.
func (w *graphWork) layer(l int, x []handle) []handle {
	s, g, weights := w.s, w.Arch, &w.net.layers[l]
	y := make([]handle, len(x))
	for k, e := range g.Edges {
		if w.edges[k].n > 0 {
			m := s.messages(&w.edges[k], &weights.edges[k], x[e.From], x[e.To])
			y[e.To] = s.with(y[e.To], m)
		}
	}
	next := make([]handle, len(x))
	for k := range x {
		next[k] = x[k]
		if !g.Updated(k) || w.nodes[k].rows == 0 {
			continue
		}
		p := &weights.nodes[k]
		if g.Own {
			y[k] = s.with(y[k], s.mm(x[k], p.own))
		}
		if g.Skip {
			y[k] = s.with(y[k], x[k])
		}
		if y[k] == nil { // no edges: only the bias
			y[k] = s.expand(p.bias, w.nodes[k].rows, g.Hidden)
		} else {
			y[k] = s.add(y[k], p.bias)
		}
		if g.Norm == nets.LayerNorm {
			y[k] = s.addcmul(p.offset, s.normalise(y[k], g.Hidden), p.gain)
		}
		next[k] = s.apply("relu", lib.AtgRelu, y[k])
		if w.masks != nil {
			next[k] = s.mul(next[k], w.masks[l*len(g.Nodes)+k])
		}
	}
	return next
}

// messages is Σ softmax(s_uv)·m_uv of one kind of edges. It never stores m, or anything as wide, for each edge: the
// nodes' parts of the scores are computed per node, and edge features are summed before the product with their weight.
func (s *scope) messages(e *edgesOnDevice, p *edgeWeights, from, to handle) handle {
	z := s.mm(from, p.weight)
	ends := s.add(s.rows(s.mv(z, p.source), e.from, e.order, e.outStarts),
		s.rows(s.mv(to, s.mv(p.weight, p.target)), e.to, nil, e.in))
	if e.features != nil {
		ends = s.add(ends, s.mv(e.features, s.mv(p.features, p.source)))
	}
	weights := s.segmentSoftmax(s.leaky(ends), e.in, e.to)
	y := s.mix(weights, z, e)
	if e.features != nil {
		mixed := s.segmentSum(s.mul(e.features, s.reshape(weights, e.n, 1)), e.in, e.to)
		y = s.addmm(y, mixed, p.features)
	}
	return y
}

// score runs a head: [1, rows, out]. Inputs that belong to a whole graph pass its first layer once per graph.
func (w *graphWork) score(head int) handle {
	s, n, run := w.s, w.net, &w.Heads[head]
	spec, p := w.Arch.Heads[head], n.heads[head]
	graphs := w.Batch.Graphs()
	seen := []handle{w.pooled}
	for i, rows := range run.Given {
		seen = append(seen, w.chosen(spec.Given[i], rows))
	}
	if spec.Extra > 0 {
		extra := s.ship(n.b, unsafe.Pointer(unsafe.SliceData(run.Extra)), len(run.Extra), codeFloat32, n.b.code)
		seen = append(seen, s.reshape(extra, graphs, spec.Extra))
	}
	own := 0
	if spec.Per != nets.WholeGraph {
		own = w.Arch.Hidden
	}
	whole := s.affine(s.cat(seen...), linear{s.narrow(p.hidden.weight, 0, own, w.Arch.HeadWidth(head)-own), p.hidden.bias})
	if spec.Per != nets.WholeGraph {
		nodes := &w.nodes[spec.Per]
		whole = s.addmm(s.rows(whole, nodes.graphOf, nil, nodes.starts), w.x[spec.Per],
			s.narrow(p.hidden.weight, 0, 0, own))
	}
	y := s.affine(s.apply("relu", lib.AtgRelu, whole), p.out)
	return s.reshape(y, 1, run.Rows, spec.Out)
}

// chosen is the x of one node of a kind for each graph, zeros for −1.
func (w *graphWork) chosen(kind int, rows []int32) handle {
	s, b := w.s, w.net.b
	if w.nodes[kind].rows == 0 {
		return s.zeros(b.code, b.device, len(rows), w.Arch.Hidden)
	}
	index := s.ship(b, unsafe.Pointer(unsafe.SliceData(rows)), len(rows), codeInt32, codeInt32)
	is := s.reshape(s.compare("ge", lib.AtgGe, index, numbers().zero), len(rows), 1)
	x := s.indexSelect(w.x[kind], s.apply("relu", lib.AtgRelu, index))
	return s.where(is, x, s.filled(b, 0))
}

// The operations of segments.h.

// rows is x[index]; see sto_gather.
func (s *scope) rows(x, index, order, starts handle) handle {
	return s.shim("gather", func(out *unsafe.Pointer) *C.char {
		return C.sto_gather(out, unsafe.Pointer(x), unsafe.Pointer(index), unsafe.Pointer(order), unsafe.Pointer(starts))
	}, x, index)
}

func (s *scope) segmentSum(x, starts, of handle) handle {
	return s.shim("segment sum", func(out *unsafe.Pointer) *C.char {
		return C.sto_segment_sum(out, unsafe.Pointer(x), unsafe.Pointer(starts), unsafe.Pointer(of))
	}, x, starts)
}

func (s *scope) segmentSoftmax(x, starts, of handle) handle {
	return s.shim("segment softmax", func(out *unsafe.Pointer) *C.char {
		return C.sto_segment_softmax(out, unsafe.Pointer(x), unsafe.Pointer(starts), unsafe.Pointer(of))
	}, x, starts)
}

func (s *scope) mix(p, z handle, e *edgesOnDevice) handle {
	return s.shim("mix", func(out *unsafe.Pointer) *C.char {
		return C.sto_mix(out, unsafe.Pointer(p), unsafe.Pointer(z), unsafe.Pointer(e.from), unsafe.Pointer(e.to),
			unsafe.Pointer(e.in), unsafe.Pointer(e.order), unsafe.Pointer(e.outStarts))
	}, p, z, e.from, e.in)
}

// composedSegments makes the CPU compute segments with libtorch's operations, as a GPU does, in the whole process.
func composedSegments(on bool) {
	if on {
		C.sto_composed(1)
	} else {
		C.sto_composed(0)
	}
}

// Operations of libtorch itself.

// affine is x·weight + bias of rows.
func (s *scope) affine(x handle, p linear) handle { return s.addmm(p.bias, x, p.weight) }

// addmm is c + a·b.
func (s *scope) addmm(c, a, b handle) handle { return s.three("addmm", lib.AtgAddmm, c, a, b) }

func (s *scope) mv(a, x handle) handle { return s.both("mv", lib.AtgMv, a, x) }

// with is x + y, where a nil x is zero.
func (s *scope) with(x, y handle) handle {
	if x == nil {
		return y
	}
	return s.add(x, y)
}

// leaky is LeakyReLU with [nets.Slope]; gotch's binding has a fixed other slope.
func (s *scope) leaky(x handle) handle {
	return s.shim("leaky_relu", func(out *unsafe.Pointer) *C.char { return C.sto_leaky(out, unsafe.Pointer(x), nets.Slope) }, x)
}

func (s *scope) indexSelect(x, index handle) handle {
	return s.call("index_select", func(out *handle) { lib.AtgIndexSelect(out, x, 0, index) }, x, index)
}
