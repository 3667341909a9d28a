package native

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// net implements [nets.Net].
type net[T number] struct {
	e             *engine[T]
	arch          nets.Arch
	ports         []nets.Port
	agents, out   int
	groups, size  int
	slots         map[string]nets.Slot
	params, grads *tensor[T]
	newPass       func(batch int, out []T) pass[T]
	tiles         *tileNet // where kernels do the work
}

// pass is one kind of network at work on a batch.
type pass[T number] interface {
	// forward reads the inputs and writes the output that the pass was made with.
	forward(in []*tensor[T])
	// backward takes the inputs of the last forward and the gradient by its output, adds to the net's gradients where params is set, and
	// sets gradIn where that is not nil.
	backward(in []*tensor[T], gradOut []T, gradIn []*tensor[T], params bool)
}

// NewNet implements [nets.Engine].
func (e *engine[T]) NewNet(a nets.Arch) (nets.Net, error) {
	if a == nil {
		return nil, fmt.Errorf("nets/native: NewNet: no architecture")
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	n := e.newWeights("NewNet", a)
	if e.tiler != nil {
		n.tiles = &tileNet{net: as32[*net[float32]](n)}
	}
	switch a := a.(type) {
	case nets.MLP:
		n.newPass = n.mlpPasses(a)
	case nets.MeanField:
		n.newPass = n.fieldPasses(a)
	case nets.GumbelSoftmax:
		n.newPass = n.gumbelPasses(a)
	default:
		return nil, fmt.Errorf("nets/native: NewNet: kind %q (%T) is not built by this engine", a.Kind(), a)
	}
	return n, nil
}

// newWeights makes what learns of a network of an architecture that is valid.
func (e *engine[T]) newWeights(op string, a nets.Arch) *net[T] {
	n := &net[T]{
		e: e, arch: a, ports: a.Inputs(), agents: a.AgentCount(), out: a.Output().Width, groups: a.Groups(),
		slots: map[string]nets.Slot{},
	}
	slots, size := nets.Layout(a)
	for _, s := range slots {
		n.slots[s.Name] = s
	}
	n.size = size
	n.params, n.grads = e.newTensor(op, n.groups, size), e.newTensor(op, n.groups, size)
	return n
}

// param finds a parameter by its name in the layout, which the engine's builders know.
func (n *net[T]) param(format string, args ...any) param[T] {
	s := n.slots[fmt.Sprintf(format, args...)]
	return param[T]{n, s.Offset, s.Size()}
}

// Arch implements [nets.Net].
func (n *net[T]) Arch() nets.Arch { return n.arch }

// Params implements [nets.Net].
func (n *net[T]) Params() nets.Tensor { return n.params }

// Grads implements [nets.Net].
func (n *net[T]) Grads() nets.Tensor { return n.grads }

// ZeroGrads implements [nets.Net].
func (n *net[T]) ZeroGrads() {
	if n.e.failed() {
		return
	}
	if n.e.debug {
		n.e.trace.add("ZeroGrads of %v", n)
	}
	if e := n.e; e.tiler != nil && e.tiler.capture != nil {
		e.tiler.capture.zero(n.tiles)
		return
	}
	clear(n.grads.data)
}

// String names the net in errors and recordings.
func (n *net[T]) String() string { return fmt.Sprintf("%s %d", n.arch.Kind(), n.params.id) }

// work implements [nets.Work].
type work[T number] struct {
	net    *net[T]
	id     int64
	batch  int
	in     []*tensor[T]
	out    *tensor[T]
	gradIn []*tensor[T]
	pass   pass[T]
	tiles  *tileWork // in place of pass
	ran    bool      // forward has run
}

// NewWork implements [nets.Net]. A wrong batch is reported by Err.
func (n *net[T]) NewWork(batch int) nets.Work {
	w := &work[T]{net: n, id: n.e.ids.Add(1), batch: batch, in: make([]*tensor[T], len(n.ports))}
	if most := maxValues / n.agents / n.widest(); batch < 1 || batch > most {
		n.e.fail("NewWork", "batch of %v is %d, want 1 to %d", n, batch, most)
		w.batch = 0
	}
	if n.e.debug && n.e.trace.running() {
		n.e.fail("NewWork", "%v within a recorded update, want it made before", n)
	}
	w.out = n.e.newTensor("NewWork", n.agents, w.batch, n.out)
	switch {
	case w.batch == 0:
	case n.e.tiler != nil:
		n.e.tiler.newWork(as32[*work[float32]](w))
	default:
		w.pass = n.newPass(w.batch, w.out.data)
	}
	return w
}

// widest is the largest number of features that a sample of an agent has anywhere in the net.
func (n *net[T]) widest() int {
	w := n.out
	for _, p := range n.ports {
		w = max(w, p.Width)
	}
	for _, s := range n.slots {
		w = max(w, slices.Max(s.Shape))
	}
	return w
}

// Batch implements [nets.Work].
func (w *work[T]) Batch() int { return w.batch }

// GradIn implements [nets.Work]. A port that isn't there is reported by Err.
func (w *work[T]) GradIn(i int) nets.Tensor {
	if i < 0 || i >= len(w.net.ports) {
		w.net.e.fail("GradIn", "input %d of %v, want one of %d", i, w.net, len(w.net.ports))
		return w.net.e.newTensor("GradIn", 0)
	}
	if t := w.tiles; t != nil {
		if t.asked[i] = true; t.stale[i] {
			w.net.e.fail("GradIn", "input %d of %v was not asked for before the recorded update first ran, and was left out", i, w.net)
		}
	}
	return w.gradients()[i]
}

// gradients makes the memory of the inputs' gradients on first use: acting needs none.
func (w *work[T]) gradients() []*tensor[T] {
	if w.gradIn == nil {
		for _, p := range w.net.ports {
			w.gradIn = append(w.gradIn, w.net.e.newTensor("GradIn", w.net.agents, w.batch, p.Width))
		}
	}
	return w.gradIn
}

// mine returns a Work of this net, or nil after a failure.
func (n *net[T]) mine(op string, w nets.Work) *work[T] {
	if n.e.failed() {
		return nil
	}
	x, ok := w.(*work[T])
	if !ok || x == nil || x.net != n || x.pass == nil && x.tiles == nil {
		n.e.fail(op, "the Work is not one of %v", n)
		return nil
	}
	return x
}

// Forward implements [nets.Net].
func (n *net[T]) Forward(with nets.Work, in ...nets.Tensor) nets.Tensor {
	w := n.mine("Forward", with)
	if w == nil {
		return n.nothing(with)
	}
	if len(in) != len(n.ports) {
		n.e.fail("Forward", "%d inputs for %v, want %d: %v", len(in), n, len(n.ports), n.ports)
		return w.out
	}
	w.ran = false
	for i, t := range in {
		x, ok := t.(*tensor[T])
		if !ok || x == nil {
			n.e.fail("Forward", "input %d (%s) of %v is a %T, want a tensor of the native engine in %v", i, n.ports[i].Name, n, t, n.e.dtype)
			return w.out
		}
		if !x.isShape(n.agents, w.batch, n.ports[i].Width) {
			n.e.fail("Forward", "input %d (%s) of %v has shape %v, want [%d %d %d]", i, n.ports[i].Name, n, x.shape, n.agents, w.batch, n.ports[i].Width)
			return w.out
		}
		w.in[i] = x
	}
	if n.e.debug {
		n.e.trace.add("Forward of %v in pass %d on %v", n, w.id, w.in)
	}
	if t := n.e.tiler; t != nil {
		t.forward(as32[*work[float32]](w))
	} else {
		w.pass.forward(w.in)
	}
	w.ran = n.e.tiler == nil || n.e.tiler.capture == nil
	return w.out
}

// forwarded says that there is a Forward to go back from. What an update that is listed leaves between its layers is gone when it has run, and
// what was computed before is not part of it.
func (w *work[T]) forwarded() bool {
	if t := w.net.e.tiler; t != nil && t.capture != nil {
		return w.tiles.listedIn == t.capture
	}
	return w.ran
}

// nothing is what Forward returns after a failure: an output that is there, with whatever it holds.
func (n *net[T]) nothing(w nets.Work) nets.Tensor {
	if x, ok := w.(*work[T]); ok && x != nil {
		return x.out
	}
	return n.e.newTensor("Forward", 0)
}

// Backward implements [nets.Net].
func (n *net[T]) Backward(with nets.Work, gradOut nets.Tensor, wrt nets.Wrt) {
	w := n.mine("Backward", with)
	if w == nil {
		return
	}
	if !w.forwarded() {
		n.e.fail("Backward", "%v in a Work without a Forward before it, in the recorded update or outside as it is", n)
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
	if n.e.debug {
		n.e.trace.add("Backward of %v in pass %d by %d from %v", n, w.id, wrt, g)
	}
	var gradIn []*tensor[T]
	if wrt&nets.Inputs != 0 {
		gradIn = w.gradients()
	}
	if t := n.e.tiler; t != nil {
		t.backward(as32[*work[float32]](w), as32[*tensor[float32]](g), as32[[]*tensor[float32]](gradIn), wrt)
		return
	}
	w.pass.backward(w.in, g.data, gradIn, wrt&nets.Params != 0)
}
