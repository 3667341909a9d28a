package plain

import "github.com/stoker-rl/stoker/nets/native/core"

// net is a network's parameters and gradients as its layers use them. It implements [core.Network] where newPass is
// set.
type net[T core.Number] struct {
	mul           product[T]
	v             *core.Vectors[*Tensor[T]]
	params, grads []T
	newPass       func(batch int, out []T) pass[T]
}

func (b *Backend[T]) newNet(v *core.Vectors[*Tensor[T]]) *net[T] {
	return &net[T]{mul: b.mul, v: v, params: v.Params.data, grads: v.Grads.data}
}

// ZeroGrads implements [core.Learner].
func (n *net[T]) ZeroGrads() { clear(n.grads) }

// pass is one kind of network at work on a batch.
type pass[T core.Number] interface {
	// forward reads the inputs and writes the output that the pass was made with.
	forward(in []*Tensor[T])
	// backward takes the inputs of the last forward and the gradient w.r.t. its output, adds to the network's
	// gradients where params is set, and sets gradIn where that is not nil.
	backward(in []*Tensor[T], gradOut []T, gradIn []*Tensor[T], params bool)
}

// work implements [core.Pass].
type work[T core.Number] struct {
	pass pass[T]
	in   []*Tensor[T]
	ran  bool
}

// NewPass implements [core.Network].
func (n *net[T]) NewPass(batch int, out *Tensor[T]) core.Pass[*Tensor[T]] {
	return &work[T]{pass: n.newPass(batch, out.data)}
}

// Forward implements [core.Pass].
func (w *work[T]) Forward(in []*Tensor[T]) {
	w.in, w.ran = append(w.in[:0], in...), true
	w.pass.forward(w.in)
}

// Ready implements [core.Pass].
func (w *work[T]) Ready() bool { return w.ran }

// Want implements [core.Pass]: all gradients are computed.
func (*work[T]) Want(int) bool { return true }

// Backward implements [core.Pass].
func (w *work[T]) Backward(gradOut *Tensor[T], gradIn []*Tensor[T], params bool) {
	w.pass.backward(w.in, gradOut.data, gradIn, params)
}

// param is one parameter of every group within the network's flat vectors.
type param[T core.Number] struct {
	net          *net[T]
	offset, size int
}

// param finds a parameter by its name in the layout.
func (n *net[T]) param(format string, args ...any) param[T] {
	s := n.v.Slot(format, args...)
	return param[T]{n, s.Offset, s.Size()}
}

// value returns the parameter of an agent's group.
func (p param[T]) value(agent int) []T { return p.net.params[p.net.v.Start(agent, p.offset):][:p.size] }

// grad returns the parameter's gradient of an agent's group.
func (p param[T]) grad(agent int) []T { return p.net.grads[p.net.v.Start(agent, p.offset):][:p.size] }
