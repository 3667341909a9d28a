//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// net implements [core.Network].
type net struct {
	*parameters
	graph graph
}

// graph builds one kind of network from the input leaves. Backward passes start from root. values is the output: root
// itself unless the output and the gradient differ (straight-through).
type graph interface {
	build(s *scope, in []handle, batch int) (root, values handle)
}

// NewNet implements [core.Backend].
func (b *backend) NewNet(v *core.Vectors[*tensor]) (core.Network[*tensor], error) {
	p, err := b.newParameters(v, true)
	if err != nil {
		return nil, err
	}
	n := &net{parameters: p}
	switch a := v.Arch.(type) {
	case nets.MLP:
		n.graph = n.newMLP(a)
	case nets.MeanField:
		n.graph = n.newMeanField(a)
	case nets.GumbelSoftmax:
		n.graph = n.newGumbel(a)
	case nets.SquashedGaussian:
		n.graph = n.newSquashed(a)
	case nets.SoftValue:
		n.graph = softValue{}
	default:
		return nil, fmt.Errorf("nets/torch: NewNet: kind %q is not built by this engine", a.Kind())
	}
	return n, b.Err()
}

// work implements [core.Pass].
type work struct {
	net   *net
	batch int
	in    []*tensor
	out   *tensor // its handle is the trace's values
	// backward says that Backward was called: from then on Forward builds a gradient graph. A Work without backward
	// passes (acting, target networks) builds none; the first Backward repeats the forward pass with a graph.
	backward bool
	trace

	pass int64 // the run of a recorded update in which the last Forward ran, 0 outside
}

// trace is the state that Forward leaves in a Work. A captured update has its own traces, and a replay puts them into
// the Works.
type trace struct {
	s       *scope
	leaves  []handle // of the inputs, in the graph
	root    handle
	values  handle // the output's
	ran     bool   // Forward has run
	graphed bool   // and built a graph
	version int64  // of the parameters at that time
	kept    bool   // it belongs to a captured update, which frees it
}

// swap puts another trace in place and returns the one that was there.
func (w *work) swap(next trace) trace {
	was := w.trace
	w.trace, w.out.h = next, next.values
	return was
}

// NewPass implements [core.Network].
func (n *net) NewPass(batch int, out *tensor) core.Pass[*tensor] {
	w := &work{net: n, batch: batch, out: out, trace: trace{s: newScope()}}
	if out.of = w; out.h != nil { // the memory of out, made last, is not needed: Forward lends its own
		n.b.own.release(len(n.b.own.held) - 1)
		out.h = nil
	}
	n.b.works = append(n.b.works, w)
	return w
}

// PerSample is the most values that either end of the net has for a sample. What lies between is libtorch's affair.
func (n *net) PerSample() int {
	widest := n.Arch.Output().Width
	for _, p := range n.Arch.Inputs() {
		widest = max(widest, p.Width)
	}
	return n.Agents * widest
}

// Ready implements [core.Pass].
func (w *work) Ready() bool { return w.ran }

// Want implements [core.Pass]: all gradients are computed.
func (*work) Want(int) bool { return true }

// Forward implements [core.Pass].
func (w *work) Forward(in []*tensor) {
	w.forget()
	w.net.b.recording.Load().forwarded(w)
	w.in = append(w.in[:0], in...)
	for i, t := range in {
		if t == w.out {
			w.net.b.Fail("Forward", "input %d of %v is the Work's own output, want another tensor", i, w.net)
			return
		}
	}
	w.run("Forward", w.backward)
}

// forget frees the tensors of the last Forward, unless they belong to a captured update.
func (w *work) forget() {
	if w.kept {
		w.swap(trace{s: newScope()})
		return
	}
	w.s.clear()
	w.leaves, w.root, w.values, w.out.h = w.leaves[:0], nil, nil, nil
	w.ran, w.graphed = false, false
}

// close frees the tensors of the Work.
func (w *work) close() {
	w.forget()
	w.s.close()
}

// run computes the forward pass, with or without a gradient graph. The inputs' leaves share the inputs' memory.
func (w *work) run(op string, graphed bool) {
	n := w.net
	n.b.within(op, w.s, graphed, func() {
		w.leaves = w.leaves[:0]
		for _, t := range w.in {
			if graphed {
				w.leaves = append(w.leaves, w.s.leaf(t.h))
			} else {
				w.leaves = append(w.leaves, w.s.detach(t.h))
			}
		}
		root, values := n.graph.build(w.s, w.leaves, w.batch)
		w.root = root
		w.values = w.s.detach(w.s.contiguous(values))
		w.out.h = w.values
		if w.s.err == nil {
			w.version = n.version()
			w.ran, w.graphed = true, graphed
		} else {
			w.values, w.out.h = nil, nil
		}
	})
}

// Backward implements [core.Pass].
func (w *work) Backward(gradOut *tensor, gradIn []*tensor, params bool) {
	const op = "Backward"
	n := w.net
	n.b.recording.Load().reads(op, w)
	w.backward = true
	if !w.graphed {
		if n.changed(op, w.version) {
			return
		}
		if w.again(); !w.graphed {
			return
		}
	}
	var weights, sums, inputs, targets []unsafe.Pointer
	if params {
		weights, sums = n.weights, n.sums
	}
	for i, t := range gradIn {
		inputs, targets = append(inputs, unsafe.Pointer(w.leaves[i])), append(targets, unsafe.Pointer(t.h))
	}
	n.b.within(op, w.s, false, func() {
		w.s.check("backward", C.sto_backward(unsafe.Pointer(w.root), unsafe.Pointer(gradOut.h),
			unsafe.SliceData(weights), unsafe.SliceData(sums), C.size_t(len(weights)),
			unsafe.SliceData(inputs), unsafe.SliceData(targets), C.size_t(len(inputs))), w.root, gradOut.h)
	})
}

// again repeats the last Forward with a gradient graph. The output keeps its tensor: the values are the same.
func (w *work) again() {
	out := w.out.h
	w.run("Backward", true)
	if w.out.h != nil {
		w.values, w.out.h = out, out
	}
}
