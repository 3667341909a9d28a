//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/stoker-rl/stoker/nets"
	lib "github.com/sugarme/gotch/libtch"
)

// adam implements [nets.Optimizer] as [nets.Adam] describes it: operations on whole vectors [groups, size]. The
// factors that change from step to step are on the device, so that Step reads nothing from the host.
type adam struct {
	net           *parameters
	c             nets.Adam
	norms         *tensor
	first, second *tensor
	// rate is [1]: −rate/(1−β₁ᵗ); scale is [1]: 1/√(1−β₂ᵗ).
	rate, scale *tensor
	number      []float64 // one number, to be copied to the device
	steps       int64

	rest1, beta2, epsilon, clip lib.Cscalar
}

// clipEpsilon keeps the clipping factor finite; PyTorch's clip_grad_norm_ uses the same.
const clipEpsilon = 1e-6

// NewAdam implements [nets.Engine].
func (e *engine) NewAdam(n nets.Weights, c nets.Adam) (nets.Optimizer, error) {
	x := e.owned(n)
	if x == nil {
		return nil, fmt.Errorf("nets/torch: NewAdam: the net is a %T, want one of this engine", n)
	}
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("nets/torch: NewAdam: %w", err)
	}
	a := &adam{net: x, c: c, number: make([]float64, 1)}
	a.norms = e.newTensor("NewAdam", x.groups)
	a.first, a.second = e.newTensor("NewAdam", x.groups, x.size), e.newTensor("NewAdam", x.groups, x.size)
	a.rate, a.scale = e.newTensor("NewAdam", 1), e.newTensor("NewAdam", 1)
	a.rest1, a.beta2 = e.number(1-c.Beta1), e.number(c.Beta2)
	a.epsilon, a.clip = e.number(c.Epsilon), e.number(c.Clip)
	return a, nil
}

// Advance implements [nets.Optimizer].
func (a *adam) Advance() {
	a.steps++
	a.refresh()
}

// refresh sets the factors that depend on the number of steps and on the rate.
func (a *adam) refresh() {
	if a.steps == 0 {
		return
	}
	t := float64(a.steps)
	a.number[0] = -a.c.Rate / (1 - math.Pow(a.c.Beta1, t))
	a.rate.Set64(a.number)
	a.number[0] = 1 / math.Sqrt(1-math.Pow(a.c.Beta2, t))
	a.scale.Set64(a.number)
}

// Steps implements [nets.Optimizer].
func (a *adam) Steps() int64 { return a.steps }

// SetSteps implements [nets.Optimizer].
func (a *adam) SetSteps(n int64) {
	if n < 0 {
		a.net.e.fail("SetSteps", "Adam of %v after %d steps, want 0 or more", a.net, n)
		return
	}
	a.steps = n
	a.refresh()
}

// SetRate implements [nets.Optimizer].
func (a *adam) SetRate(rate float64) {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		a.net.e.fail("SetRate", "Adam of %v at rate %g, want 0 or more", a.net, rate)
		return
	}
	a.c.Rate = rate
	a.refresh()
}

// Norms implements [nets.Optimizer].
func (a *adam) Norms() nets.Tensor { return a.norms }

// Moments implements [nets.Optimizer].
func (a *adam) Moments() (first, second nets.Tensor) { return a.first, a.second }

// Step implements [nets.Optimizer]. It leaves the gradients as they are.
func (a *adam) Step() {
	e := a.net.e
	if e.stopped("Step") {
		return
	}
	if a.steps == 0 {
		e.fail("Step", "Adam of %v at step 0, want Advance before the first Step", a.net)
		return
	}
	if a.net.size > 0 {
		e.briefly("Step", a.step)
		e.recording.Load().changes(a.net.params)
	}
}

func (a *adam) step(s *scope) {
	p, g, m, v := a.net.params.h, a.net.grads.h, a.first.h, a.second.h
	norm := s.norm(g)
	s.copy(a.norms.h, s.reshape(norm, a.net.groups))
	if a.c.Clip > 0 {
		g = s.mul(g, s.clipping(norm, a))
	}
	s.inPlace("lerp_", m, func(out *handle) { lib.AtgLerp_(out, m, g, a.rest1) })
	s.inPlace("mul_", v, func(out *handle) { lib.AtgMulScalar_(out, v, a.beta2) })
	s.addTo(v, g, g, 1-a.c.Beta2)
	root := s.apply("sqrt", lib.AtgSqrt, v)
	s.inPlace("mul_", root, func(out *handle) { lib.AtgMul_(out, root, a.scale.h) })
	s.inPlace("add_", root, func(out *handle) { lib.AtgAddScalar_(out, root, a.epsilon) })
	change := s.div(m, root)
	s.addTo(p, change, a.rate.h, 1)
}

// clipping is [groups, 1]: min(1, clip/(norm + 1e-6)). A NaN norm makes the whole group NaN.
func (s *scope) clipping(norm handle, a *adam) handle {
	small := s.filled(a.net.e, clipEpsilon)
	factor := s.scale(s.apply("reciprocal", lib.AtgReciprocal, s.add(norm, small)), a.clip)
	s.inPlace("clamp_max_", factor, func(out *handle) { lib.AtgClampMax_(out, factor, numbers().one) })
	return factor
}

// norm is √Σg² of each row, [groups, 1], summed in float64 so that squares do not overflow.
func (s *scope) norm(g handle) handle {
	double := s.call("norm", func(out *handle) {
		lib.AtgNormScalaroptDimDtype(out, g, numbers().two, s.ints(-1), 1, 1, codeFloat64)
	}, g)
	return s.both("type_as", lib.AtgTypeAs, double, g)
}

// addTo does dst += value·a·b in place.
func (s *scope) addTo(dst, a, b handle, value float64) {
	if s.err == nil {
		s.check("addcmul_", C.sto_addcmul(unsafe.Pointer(dst), unsafe.Pointer(a), unsafe.Pointer(b), C.double(value)),
			dst, a, b)
	}
}

// inPlace runs an operation that changes t.
func (s *scope) inPlace(name string, t handle, f func(out *handle)) {
	if s.err == nil {
		f(s.out())
		s.drop(name, t)
	}
}
