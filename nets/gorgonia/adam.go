package gorgonia

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/nets"
)

// adam implements [nets.Optimizer] as [nets.Adam] describes it. Each parameter's step is computed in
// float64, whatever the engine's format.
type adam[T number] struct {
	net           *parameters[T]
	c             nets.Adam
	norms         *tensor[T]
	first, second *tensor[T]
	steps         int64
}

// NewAdam implements [nets.Engine].
func (e *engine[T]) NewAdam(n nets.Weights, c nets.Adam) (nets.Optimizer, error) {
	x := e.owned(n)
	if x == nil {
		return nil, fmt.Errorf("nets/gorgonia: NewAdam: the net is a %T, want one of this engine", n)
	}
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("nets/gorgonia: NewAdam: %w", err)
	}
	return &adam[T]{
		net: x, c: c, norms: e.newTensor("NewAdam", x.groups),
		first: e.newTensor("NewAdam", x.groups, x.size), second: e.newTensor("NewAdam", x.groups, x.size),
	}, nil
}

// Advance implements [nets.Optimizer].
func (a *adam[T]) Advance() { a.steps++ }

// Steps implements [nets.Optimizer].
func (a *adam[T]) Steps() int64 { return a.steps }

// SetSteps implements [nets.Optimizer].
func (a *adam[T]) SetSteps(n int64) {
	if n < 0 {
		a.net.e.fail("SetSteps", "Adam of %v after %d steps, want 0 or more", a.net, n)
		return
	}
	a.steps = n
}

// SetRate implements [nets.Optimizer].
func (a *adam[T]) SetRate(rate float64) {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		a.net.e.fail("SetRate", "Adam of %v at rate %g, want 0 or more", a.net, rate)
		return
	}
	a.c.Rate = rate
}

// Norms implements [nets.Optimizer].
func (a *adam[T]) Norms() nets.Tensor { return a.norms }

// Moments implements [nets.Optimizer].
func (a *adam[T]) Moments() (first, second nets.Tensor) { return a.first, a.second }

// Step implements [nets.Optimizer]. It leaves the gradients as they are.
func (a *adam[T]) Step() {
	if a.net.e.failed() {
		return
	}
	if a.steps == 0 {
		a.net.e.fail("Step", "Adam of %v at step 0, want Advance before the first Step", a.net)
		return
	}
	a.net.params.version++
	unbias1 := 1 - math.Pow(a.c.Beta1, float64(a.steps))
	unbias2 := 1 - math.Pow(a.c.Beta2, float64(a.steps))
	// In float32 the factors are rounded to float32, as PyTorch does: over a thousand steps the difference is
	// visible in the second moments.
	beta1, rest1 := float64(T(a.c.Beta1)), float64(T(1-a.c.Beta1))
	beta2, rest2 := float64(T(a.c.Beta2)), float64(T(1-a.c.Beta2))
	size := a.net.size
	for group := range a.net.groups {
		at := group * size
		square := 0.0
		for _, g := range a.net.grads.data[at:][:size] {
			square += float64(g) * float64(g)
		}
		norm := math.Sqrt(square)
		a.norms.data[group] = T(norm)
		clip := 1.0
		if a.c.Clip > 0 { // 1e-6 as in PyTorch's clip_grad_norm_; a NaN norm makes all numbers of the group NaN
			clip = min(1, a.c.Clip/(norm+1e-6))
		}
		for i := at; i < at+size; i++ {
			g := clip * float64(a.net.grads.data[i])
			m := beta1*float64(a.first.data[i]) + rest1*g
			v := beta2*float64(a.second.data[i]) + rest2*g*g
			a.first.data[i], a.second.data[i] = T(m), T(v)
			a.net.params.data[i] -= T(a.c.Rate * (m / unbias1) / (math.Sqrt(v/unbias2) + a.c.Epsilon))
		}
	}
}
