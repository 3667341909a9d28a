//go:build libtorch

package torch

// #include "segments.h"
import "C"

import (
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
)

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

const codeInt32 = 3

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
