package gorgonia

import (
	"fmt"

	"github.com/stoker-rl/stoker/nets"
)

// parameters implements [nets.Weights].
type parameters[T number] struct {
	e             *engine[T]
	arch          nets.Arch
	groups, size  int
	slots         map[string]nets.Slot
	params, grads *tensor[T]
}

func (e *engine[T]) newParameters(op string, a nets.Arch) (*parameters[T], error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	slots, size := nets.Layout(a)
	p := &parameters[T]{e: e, arch: a, groups: a.Groups(), size: size, slots: map[string]nets.Slot{}}
	for _, s := range slots {
		p.slots[s.Name] = s
	}
	p.params, p.grads = e.newTensor(op, p.groups, size), e.newTensor(op, p.groups, size)
	return p, nil
}

// Arch implements [nets.Weights].
func (p *parameters[T]) Arch() nets.Arch { return p.arch }

// Params implements [nets.Weights].
func (p *parameters[T]) Params() nets.Tensor { return p.params }

// Grads implements [nets.Weights].
func (p *parameters[T]) Grads() nets.Tensor { return p.grads }

// ZeroGrads implements [nets.Weights].
func (p *parameters[T]) ZeroGrads() {
	if !p.e.failed() {
		p.grads.version++
		clear(p.grads.data)
	}
}

// String names the net in errors.
func (p *parameters[T]) String() string { return fmt.Sprintf("%s %d", p.arch.Kind(), p.params.id) }

// owned returns the parameters of one of this engine's nets, or nil.
func (e *engine[T]) owned(n nets.Weights) *parameters[T] {
	var p *parameters[T]
	switch x := n.(type) {
	case *net[T]:
		if x != nil {
			p = x.parameters
		}
	case *graphNet[T]:
		if x != nil {
			p = x.parameters
		}
	}
	if p == nil || p.e != e {
		return nil
	}
	return p
}

// net implements [nets.Net].
type net[T number] struct {
	*parameters[T]
	ports       []nets.Port
	agents, out int
	// expression builds an agent's network from the unit's leaves.
	expression func(u *unit[T])
	hard       []int // segments of one-hot outputs; nil for other networks
}

// NewNet implements [nets.Engine].
func (e *engine[T]) NewNet(a nets.Arch) (nets.Net, error) {
	if a == nil {
		return nil, fmt.Errorf("nets/gorgonia: NewNet: no architecture")
	}
	p, err := e.newParameters("NewNet", a)
	if err != nil {
		return nil, err
	}
	n := &net[T]{parameters: p, ports: a.Inputs(), agents: a.AgentCount(), out: a.Output().Width}
	switch a := a.(type) {
	case nets.MLP:
		n.expression = func(u *unit[T]) { u.mlp(a) }
	case nets.MeanField:
		n.expression = func(u *unit[T]) { u.meanField(a) }
	case nets.GumbelSoftmax:
		n.expression = func(u *unit[T]) { u.gumbel(a) }
		if a.Hard {
			n.hard = a.Segments
		}
	case nets.SquashedGaussian:
		n.expression = func(u *unit[T]) { u.squashed(a) }
	case nets.SoftValue:
		n.expression = func(u *unit[T]) { u.softValue() }
	default:
		return nil, fmt.Errorf("nets/gorgonia: NewNet: kind %q (%T) is not built by this engine", a.Kind(), a)
	}
	return n, nil
}

// work implements [nets.Work].
type work[T number] struct {
	net    *net[T]
	batch  int
	in     []*tensor[T]
	out    *tensor[T]
	gradIn []*tensor[T]
	// features are copies of the inputs for the leaves, and units the agents' graphs. The first Forward makes them.
	features map[featureKey]*feature[T]
	units    []*unit[T]
	ran      bool  // Forward has run
	version  int64 // of the parameters at the last Forward
}

// NewWork implements [nets.Net]. A wrong batch is reported by Err.
func (n *net[T]) NewWork(batch int) nets.Work {
	w := &work[T]{net: n, batch: batch, in: make([]*tensor[T], len(n.ports)), features: map[featureKey]*feature[T]{}}
	if most := maxValues / n.agents / n.widest(); batch < 1 || batch > most {
		n.e.fail("NewWork", "batch of %v is %d, want 1 to %d", n, batch, most)
		w.batch = 0
	}
	w.out = n.e.newTensor("NewWork", n.agents, w.batch, n.out)
	return w
}

// widest is the largest number of features that a sample of an agent has anywhere in the net.
func (n *net[T]) widest() int {
	w := n.out
	for _, p := range n.ports {
		w = max(w, p.Width)
	}
	for _, s := range n.slots {
		w = max(w, s.Shape[0], s.Shape[len(s.Shape)-1])
	}
	return w
}

// Batch implements [nets.Work].
func (w *work[T]) Batch() int { return w.batch }

// GradIn implements [nets.Work]. An unknown port is reported by Err.
func (w *work[T]) GradIn(i int) nets.Tensor {
	if i < 0 || i >= len(w.net.ports) {
		w.net.e.fail("GradIn", "input %d of %v, want one of %d", i, w.net, len(w.net.ports))
		return w.net.e.newTensor("GradIn", 0)
	}
	return w.gradients()[i]
}

// gradients allocates the inputs' gradients on first use: acting needs none.
func (w *work[T]) gradients() []*tensor[T] {
	for i := len(w.gradIn); i < len(w.net.ports); i++ {
		w.gradIn = append(w.gradIn, w.net.e.newTensor("GradIn", w.net.agents, w.batch, w.net.ports[i].Width))
	}
	return w.gradIn
}

// mine returns a Work of this net, or nil after a failure.
func (n *net[T]) mine(op string, w nets.Work) *work[T] {
	if n.e.failed() {
		return nil
	}
	x, ok := w.(*work[T])
	if !ok || x == nil || x.net != n || x.batch == 0 {
		n.e.fail(op, "the Work is not one of %v", n)
		return nil
	}
	return x
}

// Forward implements [nets.Net].
func (n *net[T]) Forward(nw nets.Work, in ...nets.Tensor) nets.Tensor {
	w := n.mine("Forward", nw)
	if w == nil {
		return n.nothing(nw)
	}
	w.ran = false
	if len(in) != len(n.ports) {
		n.e.fail("Forward", "%d inputs for %v, want %d: %v", len(in), n, len(n.ports), n.ports)
		return w.out
	}
	for i, t := range in {
		x, ok := t.(*tensor[T])
		if !ok || x == nil {
			n.e.fail("Forward", "input %d (%s) of %v is a %T, want a tensor of the gorgonia engine in %v", i,
				n.ports[i].Name, n, t, n.e.dtype)
			return w.out
		}
		if s := x.shape; len(s) != 3 || s[0] != n.agents || s[1] != w.batch || s[2] != n.ports[i].Width {
			n.e.fail("Forward", "input %d (%s) of %v has shape %v, want [%d %d %d]", i, n.ports[i].Name, n, s,
				n.agents, w.batch, n.ports[i].Width)
			return w.out
		}
		w.in[i] = x
	}
	if err := w.forward(); err != nil {
		n.e.fail("Forward", "%v: %w", n, err)
		return w.out
	}
	w.ran, w.version = true, n.params.version
	return w.out
}

// nothing is what Forward returns after a failure: the Work's output if there is one, with old values.
func (n *net[T]) nothing(w nets.Work) nets.Tensor {
	if x, ok := w.(*work[T]); ok && x != nil {
		return x.out
	}
	return n.e.newTensor("Forward", 0)
}

func (w *work[T]) forward() error {
	if w.units == nil {
		var units []*unit[T]
		for agent := range w.net.agents {
			u, err := w.newUnit(agent)
			if err != nil {
				return err
			}
			units = append(units, u)
		}
		w.units = units
	}
	for _, f := range w.features {
		f.fill(w.in[f.port])
	}
	w.out.version++
	for _, u := range w.units {
		if err := u.forward(w.out); err != nil {
			return err
		}
	}
	if w.net.hard != nil {
		choose(w.out.data, w.net.hard)
	}
	return nil
}

// Backward implements [nets.Net].
func (n *net[T]) Backward(nw nets.Work, gradOut nets.Tensor, wrt nets.Wrt) {
	w := n.mine("Backward", nw)
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
	if w.version != n.params.version {
		n.e.fail("Backward", "the parameters of %v changed since the Forward", n)
		return
	}
	if wrt&nets.Params != 0 {
		n.grads.version++
	}
	if wrt&nets.Inputs != 0 {
		for _, t := range w.gradients() {
			t.version++
			clear(t.data)
		}
	}
	for _, u := range w.units {
		if err := u.backward(g, wrt); err != nil {
			n.e.fail("Backward", "%v: %w", n, err)
			return
		}
	}
}
