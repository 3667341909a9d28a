//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	lib "github.com/sugarme/gotch/libtch"
)

// net implements [nets.Net].
type net struct {
	*parameters
	ports       []nets.Port
	agents, out int
	graph       graph
}

// graph builds one kind of network from the input leaves. Backward passes start from root. values is the output: root
// itself unless the output and the gradient differ (straight-through).
type graph interface {
	build(s *scope, in []handle, batch int) (root, values handle)
}

// NewNet implements [nets.Engine].
func (e *engine) NewNet(a nets.Arch) (nets.Net, error) {
	if a == nil {
		return nil, fmt.Errorf("nets/torch: NewNet: no architecture")
	}
	p, err := e.newParameters("NewNet", a, true)
	if err != nil {
		return nil, err
	}
	n := &net{parameters: p, ports: a.Inputs(), agents: a.AgentCount(), out: a.Output().Width}
	switch a := a.(type) {
	case nets.MLP:
		n.graph = n.newMLP(a)
	case nets.MeanField:
		n.graph, err = n.newMeanField(a)
	case nets.GumbelSoftmax:
		n.graph = n.newGumbel(a)
	case nets.SquashedGaussian:
		n.graph = n.newSquashed(a)
	case nets.SoftValue:
		n.graph = softValue{}
	default:
		err = fmt.Errorf("nets/torch: NewNet: kind %q is not built by this engine", a.Kind())
	}
	if err == nil {
		err = e.failure.take()
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// work implements [nets.Work].
type work struct {
	net   *net
	batch int

	in     []*tensor
	out    *tensor // its handle is the trace's values
	gradIn []*tensor
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

// NewWork implements [nets.Net]. A wrong batch is reported by Err.
func (n *net) NewWork(batch int) nets.Work {
	if batch < 1 {
		n.e.fail("NewWork", "batch of %v is %d, want at least 1", n, batch)
		batch = 0
	}
	w := &work{net: n, batch: batch, in: make([]*tensor, len(n.ports)), trace: trace{s: newScope()}}
	w.out = &tensor{e: n.e, id: n.e.ids.Add(1), shape: []int{n.agents, batch, n.out}, n: n.agents * batch * n.out,
		of: w}
	if float64(n.agents)*float64(batch)*float64(n.widest()) > maxValues {
		n.e.fail("NewWork", "batch of %v is %d, too large for %d agents and %d features", n, batch, n.agents,
			n.widest())
		w.batch = 0
	}
	n.e.works = append(n.e.works, w)
	return w
}

// widest is the largest number of features of an agent at either end of the net.
func (n *net) widest() int {
	w := n.out
	for _, p := range n.ports {
		w = max(w, p.Width)
	}
	return w
}

// Batch implements [nets.Work].
func (w *work) Batch() int { return w.batch }

// GradIn implements [nets.Work]. A port that isn't there is reported by Err.
func (w *work) GradIn(i int) nets.Tensor {
	if i < 0 || i >= len(w.net.ports) {
		w.net.e.fail("GradIn", "input %d of %v, want one of %d", i, w.net, len(w.net.ports))
		return w.net.e.newTensor("GradIn", 0)
	}
	return w.gradients()[i]
}

// gradients allocates the inputs' gradients on first use: acting needs none.
func (w *work) gradients() []*tensor {
	for i := len(w.gradIn); i < len(w.net.ports); i++ {
		w.gradIn = append(w.gradIn, w.net.e.newTensor("GradIn", w.net.agents, w.batch, w.net.ports[i].Width))
	}
	return w.gradIn
}

// mine returns a Work of this net, or nil after a failure.
func (n *net) mine(op string, w nets.Work) *work {
	if n.e.stopped(op) {
		return nil
	}
	x, ok := w.(*work)
	if !ok || x == nil || x.net != n || x.batch == 0 {
		n.e.fail(op, "the Work is not one of %v", n)
		return nil
	}
	return x
}

// Forward implements [nets.Net].
func (n *net) Forward(nw nets.Work, in ...nets.Tensor) nets.Tensor {
	w := n.mine("Forward", nw)
	if w == nil {
		return n.nothing(nw)
	}
	w.forget()
	n.e.recording.Load().forwarded(w)
	if len(in) != len(n.ports) {
		n.e.fail("Forward", "%d inputs for %v, want %d: %v", len(in), n, len(n.ports), n.ports)
		return w.out
	}
	for i, t := range in {
		x := n.e.take("Forward", n.ports[i].Name, t)
		if x == nil {
			return w.out
		}
		if s := x.shape; len(s) != 3 || s[0] != n.agents || s[1] != w.batch || s[2] != n.ports[i].Width {
			n.e.fail("Forward", "input %d (%s) of %v has shape %v, want [%d %d %d]", i, n.ports[i].Name, n, s,
				n.agents, w.batch, n.ports[i].Width)
			return w.out
		}
		w.in[i] = x
	}
	w.run("Forward", w.backward)
	return w.out
}

// nothing is what Forward returns after a failure: the Work's output if there is one.
func (n *net) nothing(w nets.Work) nets.Tensor {
	if x, ok := w.(*work); ok && x != nil {
		return x.out
	}
	return &tensor{e: n.e, id: n.e.ids.Add(1), shape: []int{0}}
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
	n.e.within(op, w.s, graphed, func() {
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
			w.version = lib.Atg_Version(n.params.h)
			w.ran, w.graphed = true, graphed
		} else {
			w.values, w.out.h = nil, nil
		}
	})
}

// Backward implements [nets.Net].
func (n *net) Backward(nw nets.Work, gradOut nets.Tensor, wrt nets.Wrt) {
	const op = "Backward"
	w := n.mine(op, nw)
	if w == nil {
		return
	}
	if !w.ran {
		n.e.fail("Backward", "%v in a Work without a Forward before", n)
		return
	}
	if wrt == 0 || wrt&^nets.Both != 0 {
		n.e.fail("Backward", "%v by %d, want Params, Inputs or Both", n, wrt)
		return
	}
	g := n.e.alike("Backward", "gradient by the output", gradOut, w.out)
	if g == nil {
		return
	}
	n.e.recording.Load().reads(op, w)
	w.backward = true
	if !w.graphed {
		if v := lib.Atg_Version(n.params.h); v != w.version {
			n.e.fail("Backward", "the parameters of %v changed since the Forward", n)
			return
		}
		if w.again(); !w.graphed {
			return
		}
	}
	var weights, sums, inputs, targets []unsafe.Pointer
	if wrt&nets.Params != 0 {
		weights, sums = n.weights, n.sums
	}
	if wrt&nets.Inputs != 0 {
		inputs, targets = w.pointers()
	}
	n.e.within("Backward", w.s, false, func() {
		w.s.check("backward", C.sto_backward(unsafe.Pointer(w.root), unsafe.Pointer(g.h),
			unsafe.SliceData(weights), unsafe.SliceData(sums), C.size_t(len(weights)),
			unsafe.SliceData(inputs), unsafe.SliceData(targets), C.size_t(len(inputs))), w.root, g.h)
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

// pointers lists the inputs' leaves and the tensors for their gradients.
func (w *work) pointers() (inputs, targets []unsafe.Pointer) {
	for i, t := range w.gradients() {
		inputs = append(inputs, unsafe.Pointer(w.leaves[i]))
		targets = append(targets, unsafe.Pointer(t.h))
	}
	return inputs, targets
}
