package plain

import (
	"math"

	"github.com/stoker-rl/stoker/nets/internal/core"
)

// net is a network's parameters and gradients as its layers use them. It implements [core.Network] where newPass is
// set.
type net[T core.Number] struct {
	mul           product[T]
	v             *core.Vectors[*Tensor[T]]
	params, grads []T
	newPass       func(batch int, out []T) pass[T]
}

func (b *Backend[T]) newNet(v *core.Vectors[*Tensor[T]]) *net[T] {
	return &net[T]{mul: b.mul, v: v, params: v.Params.Data, grads: v.Grads.Data}
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
	return &work[T]{pass: n.newPass(batch, out.Data)}
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
	w.pass.backward(w.in, gradOut.Data, gradIn, params)
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

// adam does the steps of [nets.Adam], group by group.
type adam[T core.Number] struct {
	net *net[T]
	*core.Adam[*Tensor[T]]
}

// NewAdam implements [core.Learner].
func (n *net[T]) NewAdam(a *core.Adam[*Tensor[T]]) core.Stepper { return &adam[T]{n, a} }

// Step implements [core.Stepper].
func (a *adam[T]) Step() {
	f := a.Now
	c := adamFactors[T]{T(f.Beta1), T(f.Rest1), T(f.Beta2), T(f.Rest2), T(f.Rate), T(f.Scale), T(f.Epsilon), 1}
	n := a.net.v.Size
	for g := range a.net.v.Groups {
		from, to := g*n, (g+1)*n
		grads := a.net.grads[from:to]
		length := euclidean(grads)
		a.GroupNorms.Data[g] = length
		c.clip = clipFactor(T(a.Clip), length)
		adamStep(&c, a.net.params[from:to], grads, a.First.Data[from:to], a.Second.Data[from:to])
	}
}

// clipFactor is what a group's gradients are multiplied by. A NaN norm makes all NaN.
func clipFactor[T core.Number](clip, norm T) T {
	if clip <= 0 {
		return 1
	}
	return min(1, clip/(norm+core.ClipEpsilon))
}

// adamFactors are the numbers of one step: βs and 1 − βs, rate/(1 − β₁ᵗ), 1/√(1 − β₂ᵗ), ε and the clipping factor.
type adamFactors[T core.Number] struct{ beta1, rest1, beta2, rest2, rate, scale, eps, clip T }

// adamStep changes parameters and moments of one group by its gradients.
func adamStep[T core.Number](c *adamFactors[T], p, g, m, v []T) {
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	for i := range p {
		gi := c.clip * g[i]
		m[i] = c.beta1*m[i] + c.rest1*gi
		v[i] = c.beta2*v[i] + c.rest2*gi*gi
		p[i] -= c.rate * m[i] / (sqrt(v[i])*c.scale + c.eps)
	}
}

// euclidean is the norm √Σg², summed in float64 so that float32's range is enough.
func euclidean[T core.Number](g []T) T {
	var sum float64
	for _, v := range g {
		sum += float64(v) * float64(v)
	}
	return T(math.Sqrt(sum))
}
