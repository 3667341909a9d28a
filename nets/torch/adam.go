//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets/internal/core"
)

// adam does the steps of [nets.Adam]: operations on whole vectors [groups, size]. The factors that change from step to
// step are on the device, so that Step reads nothing from the host.
type adam struct {
	*core.Adam[*tensor]
	b *backend
	// rate is [1]: −rate/(1−β₁ᵗ); scale is [1]: 1/√(1−β₂ᵗ).
	rate, scale *tensor
	number      []float64 // one number, to be copied to the device

	rest1, beta2, epsilon, bound lib.Cscalar
}

// NewAdam implements [core.Learner].
func (p *parameters) NewAdam(a *core.Adam[*tensor]) core.Stepper {
	b, c := p.b, a.Config
	return &adam{
		Adam: a, b: b, rate: b.NewTensor(b.Header(1)), scale: b.NewTensor(b.Header(1)), number: make([]float64, 1),
		rest1: b.number(1 - c.Beta1), beta2: b.number(c.Beta2), epsilon: b.number(c.Epsilon), bound: b.number(a.Clip),
	}
}

// Prepare implements [core.Preparer].
func (a *adam) Prepare() {
	a.number[0] = -a.Now.Rate
	a.rate.Set64(a.number)
	a.number[0] = a.Now.Scale
	a.scale.Set64(a.number)
}

// Step implements [core.Stepper].
func (a *adam) Step() {
	if a.Vectors.Size > 0 {
		a.b.briefly("Step", a.step)
		a.b.recording.Load().changes(a.Vectors.Params)
	}
}

func (a *adam) step(s *scope) {
	p, g, m, v := a.Vectors.Params.h, a.Vectors.Grads.h, a.First.h, a.Second.h
	norm := s.norm(g)
	s.copy(a.GroupNorms.h, s.reshape(norm, a.Vectors.Groups))
	if a.Clip > 0 {
		g = s.mul(g, s.clipping(norm, a))
	}
	s.inPlace("lerp_", m, func(out *handle) { lib.AtgLerp_(out, m, g, a.rest1) })
	s.inPlace("mul_", v, func(out *handle) { lib.AtgMulScalar_(out, v, a.beta2) })
	s.addTo(v, g, g, 1-a.Config.Beta2)
	root := s.apply("sqrt", lib.AtgSqrt, v)
	s.inPlace("mul_", root, func(out *handle) { lib.AtgMul_(out, root, a.scale.h) })
	s.inPlace("add_", root, func(out *handle) { lib.AtgAddScalar_(out, root, a.epsilon) })
	change := s.div(m, root)
	s.addTo(p, change, a.rate.h, 1)
}

// clipping is [groups, 1]: min(1, clip/(norm + 1e-6)). A NaN norm makes the whole group NaN.
func (s *scope) clipping(norm handle, a *adam) handle {
	small := s.filled(a.b, core.ClipEpsilon)
	factor := s.scale(s.apply("reciprocal", lib.AtgReciprocal, s.add(norm, small)), a.bound)
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
