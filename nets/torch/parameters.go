//go:build libtorch

package torch

// #include "shim.h"
import "C"

import (
	"fmt"
	"unsafe"

	lib "github.com/sugarme/gotch/libtch"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// parameters implements [core.Learner]: the parameters of a network by name, and their gradients.
type parameters struct {
	*core.Vectors[*tensor]
	b *backend
	// leaves are the parameters by name: views of Params.
	leaves map[string]handle
	// weights lists them for C, and sums the same views of Grads.
	weights, sums []unsafe.Pointer
}

// newParameters makes the views of an architecture's parameters. Stacked, a leaf is [groups, in, out] for weights and
// [groups, 1, out] for the rest, so that both broadcast with [groups, rows, features]; else it has the parameter's own
// shape, and there is one group.
func (b *backend) newParameters(v *core.Vectors[*tensor], stacked bool) (*parameters, error) {
	p := &parameters{Vectors: v, b: b, leaves: map[string]handle{}}
	if b.Failed() { // there may be no memory to view
		return nil, b.Err()
	}
	slots, _ := nets.Layout(v.Arch)
	b.within("NewNet", b.own, false, func() {
		for _, slot := range slots {
			dims, strides := p.shape(slot, stacked)
			h := b.own.view(v.Params.h, dims, strides, slot.Offset)
			p.leaves[slot.Name] = h
			p.weights = append(p.weights, unsafe.Pointer(h))
			p.sums = append(p.sums, unsafe.Pointer(b.own.detach(b.own.view(v.Grads.h, dims, strides, slot.Offset))))
		}
	})
	return p, b.Err()
}

func (p *parameters) shape(slot nets.Slot, stacked bool) (dims, strides []int) {
	rows, cols := 1, slot.Shape[0]
	if len(slot.Shape) == 2 {
		rows, cols = slot.Shape[0], slot.Shape[1]
	}
	switch {
	case stacked:
		return []int{p.Groups, rows, cols}, []int{p.Size, cols, 1}
	case len(slot.Shape) == 2:
		return []int{rows, cols}, []int{cols, 1}
	}
	return []int{cols}, []int{1}
}

// view is a strided part of a flat vector, a leaf of a gradient graph.
func (s *scope) view(flat handle, dims, strides []int, offset int) handle {
	return s.shim("as_strided", func(out *unsafe.Pointer) *C.char {
		v := s.ints(append(dims[:len(dims):len(dims)], strides...)...)
		sizes, steps := (*C.int64_t)(unsafe.Pointer(&v[0])), (*C.int64_t)(unsafe.Pointer(&v[len(dims)]))
		return C.sto_view(out, unsafe.Pointer(flat), sizes, steps, C.size_t(len(dims)), C.int64_t(offset))
	}, flat)
}

func (p *parameters) leaf(format string, args ...any) handle {
	return p.leaves[fmt.Sprintf(format, args...)]
}

// ZeroGrads implements [core.Learner].
func (p *parameters) ZeroGrads() { p.Grads.Clear() }

// version is libtorch's count of the parameters' changes.
func (p *parameters) version() int64 { return lib.Atg_Version(p.Params.h) }

// changed stores a failure where the parameters are not those of a version.
func (p *parameters) changed(op string, version int64) bool {
	if p.version() == version {
		return false
	}
	p.b.Fail(op, "the parameters of %v changed since the Forward", p)
	return true
}

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
