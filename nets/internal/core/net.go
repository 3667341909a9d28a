package core

import (
	"fmt"
	"slices"

	"github.com/stoker-rl/stoker/nets"
)

// Vectors is a network's parameters and their gradients, [groups, size] each.
type Vectors[X Tensor] struct {
	State          *State
	Arch           nets.Arch
	Agents, Groups int
	Size           int // of a group
	Params, Grads  X
	slots          map[string]nets.Slot
}

// Slot finds a parameter by its name in the layout, which backends know.
func (v *Vectors[X]) Slot(format string, args ...any) nets.Slot {
	return v.slots[fmt.Sprintf(format, args...)]
}

// Widest is the largest number of features that a sample of an agent has anywhere in the network.
func (v *Vectors[X]) Widest() int {
	w := v.Arch.Output().Width
	for _, p := range v.Arch.Inputs() {
		w = max(w, p.Width)
	}
	for _, s := range v.slots {
		w = max(w, slices.Max(s.Shape))
	}
	return w
}

// String names the network in errors and recordings.
func (v *Vectors[X]) String() string { return fmt.Sprintf("%s %d", v.Arch.Kind(), v.Params.ID()) }

// Start is where an agent's values of a parameter begin that has an offset within its group.
func (v *Vectors[X]) Start(agent, offset int) int {
	if v.Groups == 1 {
		agent = 0
	}
	return agent*v.Size + offset
}

// weights implements [nets.Weights].
type weights[X Tensor] struct {
	e       *Engine[X]
	v       *Vectors[X]
	learner Learner[X]
}

// newVectors makes what learns of a network of an architecture that is valid.
func (e *Engine[X]) newVectors(op string, a nets.Arch) *Vectors[X] {
	slots, size := nets.Layout(a)
	v := &Vectors[X]{State: e.State, Arch: a, Agents: a.AgentCount(), Groups: a.Groups(), Size: size,
		slots: map[string]nets.Slot{}}
	for _, s := range slots {
		v.slots[s.Name] = s
	}
	v.Params, v.Grads = e.newTensor(op, v.Groups, size), e.newTensor(op, v.Groups, size)
	return v
}

// Arch implements [nets.Weights].
func (w *weights[X]) Arch() nets.Arch { return w.v.Arch }

// Params implements [nets.Weights].
func (w *weights[X]) Params() nets.Tensor { return w.v.Params }

// Grads implements [nets.Weights].
func (w *weights[X]) Grads() nets.Tensor { return w.v.Grads }

// ZeroGrads implements [nets.Weights].
func (w *weights[X]) ZeroGrads() {
	if w.e.Stopped("ZeroGrads") {
		return
	}
	if w.e.debug {
		w.e.trace.add("ZeroGrads of %v", w)
	}
	w.learner.ZeroGrads()
}

// String names the network in errors and recordings.
func (w *weights[X]) String() string { return w.v.String() }

func (w *weights[X]) common() *weights[X] { return w }

// weighted is any network of an engine.
type weighted[X Tensor] interface{ common() *weights[X] }

// net implements [nets.Net].
type net[X Tensor] struct {
	weights[X]
	network Network[X]
	ports   []nets.Port
	out     int
}

// NewNet implements [nets.Engine].
func (e *Engine[X]) NewNet(a nets.Arch) (nets.Net, error) {
	if a == nil {
		return nil, e.errorf("NewNet: no architecture")
	}
	if err := a.Validate(); err != nil {
		return nil, err
	}
	v := e.newVectors("NewNet", a)
	network, err := e.back.NewNet(v)
	if err != nil {
		return nil, err
	}
	return &net[X]{weights: weights[X]{e, v, network}, network: network, ports: a.Inputs(), out: a.Output().Width}, nil
}

// work implements [nets.Work].
type work[X Tensor] struct {
	net    *net[X]
	id     int64
	batch  int
	in     []X
	out    X
	gradIn []X
	pass   Pass[X] // nil where the batch was refused
	failed bool    // the last Forward was refused
}

// NewWork implements [nets.Net]. A wrong batch is reported by Err.
func (n *net[X]) NewWork(batch int) nets.Work {
	w := &work[X]{net: n, id: n.e.ids.Add(1), batch: batch, in: make([]X, len(n.ports))}
	if most := n.e.MaxValues / n.perSample(); batch < 1 || batch > most {
		n.e.Fail("NewWork", "batch of %v is %d, want 1 to %d", n, batch, most)
		w.batch = 0
	}
	if n.e.debugged() {
		n.e.Fail("NewWork", "%v within a recorded update, want it made before", n)
	}
	w.out = n.e.newTensor("NewWork", n.v.Agents, w.batch, n.out)
	if w.batch > 0 {
		w.pass = n.network.NewPass(w.batch, w.out)
	}
	return w
}

// perSample is the most values that one of a pass's arrays holds for a sample.
func (n *net[X]) perSample() int {
	if own, ok := n.network.(interface{ PerSample() int }); ok {
		return own.PerSample()
	}
	return n.v.Agents * n.v.Widest()
}

// Batch implements [nets.Work].
func (w *work[X]) Batch() int { return w.batch }

// GradIn implements [nets.Work]. A port that isn't there is reported by Err.
func (w *work[X]) GradIn(i int) nets.Tensor {
	e := w.net.e
	if i < 0 || i >= len(w.net.ports) {
		e.Fail("GradIn", "input %d of %v, want one of %d", i, w.net, len(w.net.ports))
		return e.newTensor("GradIn", 0)
	}
	if w.pass != nil && !w.pass.Want(i) {
		e.Fail("GradIn", "input %d of %v was not asked for before the recorded update first ran, and was left out", i, w.net)
	}
	return w.gradients()[i]
}

// gradients makes the memory of the inputs' gradients on first use: acting needs none.
func (w *work[X]) gradients() []X {
	if w.gradIn == nil {
		for _, p := range w.net.ports {
			w.gradIn = append(w.gradIn, w.net.e.newTensor("GradIn", w.net.v.Agents, w.batch, p.Width))
		}
	}
	return w.gradIn
}

// mine returns a Work of this net, or nil after a failure.
func (n *net[X]) mine(op string, w nets.Work) *work[X] {
	if n.e.Stopped(op) {
		return nil
	}
	x, ok := w.(*work[X])
	if !ok || x == nil || x.net != n || x.pass == nil {
		n.e.Fail(op, "the Work is not one of %v", n)
		return nil
	}
	return x
}

// Forward implements [nets.Net].
func (n *net[X]) Forward(with nets.Work, in ...nets.Tensor) nets.Tensor {
	w := n.mine("Forward", with)
	if w == nil {
		return n.nothing(with)
	}
	w.failed = true
	if len(in) != len(n.ports) {
		n.e.Fail("Forward", "%d inputs for %v, want %d: %v", len(in), n, len(n.ports), n.ports)
		return w.out
	}
	var none X
	for i, t := range in {
		x, ok := t.(X)
		if !ok || x == none {
			n.e.Fail("Forward", "input %d (%s) of %v is a %T, want a tensor of the %s engine in %v", i,
				n.ports[i].Name, n, t, n.e.name, n.e.dtype)
			return w.out
		}
		if shape := x.Shape(); !isShape(shape, n.v.Agents, w.batch, n.ports[i].Width) {
			n.e.Fail("Forward", "input %d (%s) of %v has shape %v, want [%d %d %d]", i, n.ports[i].Name, n, shape,
				n.v.Agents, w.batch, n.ports[i].Width)
			return w.out
		}
		if !x.Usable(n.e.State, "Forward", n.ports[i].Name) {
			return w.out
		}
		w.in[i] = x
	}
	if n.e.debug {
		n.e.trace.add("Forward of %v in pass %d on %v", n, w.id, w.in)
	}
	w.failed = false
	w.pass.Forward(w.in)
	return w.out
}

// nothing is what Forward returns after a failure: an output that is there, with whatever it holds.
func (n *net[X]) nothing(w nets.Work) nets.Tensor {
	if x, ok := w.(*work[X]); ok && x != nil {
		return x.out
	}
	return n.e.newTensor("Forward", 0)
}

// Backward implements [nets.Net].
func (n *net[X]) Backward(with nets.Work, gradOut nets.Tensor, wrt nets.Wrt) {
	w := n.mine("Backward", with)
	if w == nil {
		return
	}
	if w.failed || !w.pass.Ready() {
		n.e.Fail("Backward", "%v in a Work without a Forward before it, in the recorded update or outside as it is", n)
		return
	}
	if wrt == 0 || wrt&^nets.Both != 0 {
		n.e.Fail("Backward", "%v by %d, want Params, Inputs or Both", n, wrt)
		return
	}
	g, ok := n.e.alike("Backward", "gradient by the output", gradOut, w.out)
	if !ok {
		return
	}
	if n.e.debug {
		n.e.trace.add("Backward of %v in pass %d by %d from %v", n, w.id, wrt, g)
	}
	var gradIn []X
	if wrt&nets.Inputs != 0 {
		gradIn = w.gradients()
	}
	w.pass.Backward(g, gradIn, wrt&nets.Params != 0)
}
