package native

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/native/kernel"
)

// adam implements [nets.Optimizer] as [nets.Adam] describes it, group by group.
type adam[T number] struct {
	net           *net[T]
	c             nets.Adam
	norms         *tensor[T]
	first, second *tensor[T]
	steps         int64
	job           *adamJob    // where kernels do the work
	now           kernel.Adam // for it: the factors of the present step, without clipping
}

// NewAdam implements [nets.Engine].
func (e *engine[T]) NewAdam(n nets.Weights, c nets.Adam) (nets.Optimizer, error) {
	x, _ := n.(*net[T])
	if g, ok := n.(*graphNet[T]); ok && g != nil {
		x = g.net
	}
	if x == nil || x.e != e {
		return nil, fmt.Errorf("nets/native: NewAdam: the net is a %T, want one of this engine", n)
	}
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("nets/native: NewAdam: %w", err)
	}
	a := &adam[T]{
		net: x, c: c, norms: e.newTensor("NewAdam", x.groups),
		first: e.newTensor("NewAdam", x.groups, x.size), second: e.newTensor("NewAdam", x.groups, x.size),
	}
	if e.tiler != nil {
		a.job = &adamJob{t: e.tiler, adam: as32[*adam[float32]](a)}
	}
	return a, nil
}

// Advance implements [nets.Optimizer].
func (a *adam[T]) Advance() {
	if a.net.e.debug && a.net.e.trace.running() {
		a.net.e.fail("Advance", "Adam of %v within a recorded update, want it before", a.net)
		return
	}
	a.steps++
	a.prepare()
}

// Steps implements [nets.Optimizer].
func (a *adam[T]) Steps() int64 { return a.steps }

// SetSteps implements [nets.Optimizer].
func (a *adam[T]) SetSteps(n int64) {
	if n < 0 {
		a.net.e.fail("SetSteps", "Adam of %v after %d steps, want 0 or more", a.net, n)
		return
	}
	a.steps = n
	a.prepare()
}

// SetRate implements [nets.Optimizer].
func (a *adam[T]) SetRate(rate float64) {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		a.net.e.fail("SetRate", "Adam of %v at rate %g, want 0 or more", a.net, rate)
		return
	}
	a.c.Rate = rate
	a.prepare()
}

// Norms implements [nets.Optimizer].
func (a *adam[T]) Norms() nets.Tensor { return a.norms }

// Moments implements [nets.Optimizer].
func (a *adam[T]) Moments() (first, second nets.Tensor) { return a.first, a.second }

// Step implements [nets.Optimizer]. It leaves the gradients as they are.
func (a *adam[T]) Step() {
	e := a.net.e
	if e.failed() {
		return
	}
	if a.steps == 0 {
		e.fail("Step", "Adam of %v at step 0, want Advance before the first Step", a.net)
		return
	}
	if e.debug {
		e.trace.add("Step of Adam of %v", a.net)
	}
	if e.tiler != nil {
		e.tiler.step(a.job)
		return
	}
	c := a.factors()
	n := a.net.size
	for g := range a.net.groups {
		grads := a.net.grads.data[g*n:][:n]
		norm := norm(grads)
		a.norms.data[g] = norm
		c.clip = clipFactor(T(a.c.Clip), norm)
		adamStep(&c, a.net.params.data[g*n:][:n], grads, a.first.data[g*n:][:n], a.second.data[g*n:][:n])
	}
}

// factors are those of the present step, without clipping.
func (a *adam[T]) factors() adamFactors[T] {
	t := float64(a.steps)
	return adamFactors[T]{
		beta1: T(a.c.Beta1), rest1: T(1 - a.c.Beta1),
		beta2: T(a.c.Beta2), rest2: T(1 - a.c.Beta2),
		rate:  T(a.c.Rate / (1 - math.Pow(a.c.Beta1, t))),
		scale: T(1 / math.Sqrt(1-math.Pow(a.c.Beta2, t))),
		eps:   T(a.c.Epsilon),
		clip:  1,
	}
}

// prepare computes the factors once for all groups.
func (a *adam[T]) prepare() {
	if a.job == nil || a.steps == 0 {
		return
	}
	c := as32[adamFactors[float32]](a.factors())
	a.now = kernel.Adam{
		Beta1: c.beta1, Rest1: c.rest1, Beta2: c.beta2, Rest2: c.rest2, Rate: c.rate, Scale: c.scale, Epsilon: c.eps, Clip: 1,
	}
}

// clipFactor is what a group's gradients are multiplied by. A NaN norm makes all NaN.
func clipFactor[T number](clip, norm T) T {
	if clip <= 0 {
		return 1
	}
	return min(1, clip/(norm+clipEpsilon))
}

// clipEpsilon keeps the clipping factor finite; PyTorch's clip_grad_norm_ has the same.
const clipEpsilon = 1e-6

// adamFactors are the numbers of one step: βs and 1 − βs, rate/(1 − β₁ᵗ), 1/√(1 − β₂ᵗ), ε and the clipping factor.
type adamFactors[T number] struct{ beta1, rest1, beta2, rest2, rate, scale, eps, clip T }

// adamStep changes parameters and moments of one group by its gradients.
func adamStep[T number](c *adamFactors[T], p, g, m, v []T) {
	g, m, v = g[:len(p)], m[:len(p)], v[:len(p)]
	for i := range p {
		gi := c.clip * g[i]
		m[i] = c.beta1*m[i] + c.rest1*gi
		v[i] = c.beta2*v[i] + c.rest2*gi*gi
		p[i] -= c.rate * m[i] / (sqrt(v[i])*c.scale + c.eps)
	}
}

// norm is √Σg², summed in float64 so that float32's range is enough.
func norm[T number](g []T) T {
	var sum float64
	for _, v := range g {
		sum += float64(v) * float64(v)
	}
	return T(math.Sqrt(sum))
}
