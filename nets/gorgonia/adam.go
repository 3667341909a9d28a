package gorgonia

import (
	"math"

	"github.com/stoker-rl/stoker/nets/internal/core"
)

// weights is a network's parameters and gradients. It implements [core.Learner].
type weights[T core.Number] struct {
	*core.Vectors[*tensor[T]]
	b *backend[T]
}

// ZeroGrads implements [core.Learner].
func (w *weights[T]) ZeroGrads() {
	w.Grads.Version++
	w.Grads.Clear()
}

// changed stores a failure where the parameters are not those of a version.
func (w *weights[T]) changed(op string, version int64) bool {
	if w.Params.Version == version {
		return false
	}
	w.State.Fail(op, "the parameters of %v changed since the Forward", w)
	return true
}

// adam does the steps of [nets.Adam]. Each parameter's step is computed in float64, whatever the engine's format.
type adam[T core.Number] struct{ *core.Adam[*tensor[T]] }

// NewAdam implements [core.Learner].
func (w *weights[T]) NewAdam(a *core.Adam[*tensor[T]]) core.Stepper { return adam[T]{a} }

// Step implements [core.Stepper].
func (a adam[T]) Step() {
	c, size := a.Config, a.Vectors.Size
	params, grads := a.Vectors.Params, a.Vectors.Grads
	params.Version++
	unbias1 := 1 - math.Pow(c.Beta1, float64(a.Steps()))
	unbias2 := 1 - math.Pow(c.Beta2, float64(a.Steps()))
	// In float32 the factors are rounded to float32, as PyTorch does: over a thousand steps the difference is
	// visible in the second moments.
	beta1, rest1 := float64(T(c.Beta1)), float64(T(1-c.Beta1))
	beta2, rest2 := float64(T(c.Beta2)), float64(T(1-c.Beta2))
	for group := range a.Vectors.Groups {
		at := group * size
		square := 0.0
		for _, g := range grads.Data[at:][:size] {
			square += float64(g) * float64(g)
		}
		norm := math.Sqrt(square)
		a.GroupNorms.Data[group] = T(norm)
		clip := 1.0
		if c.Clip > 0 { // a NaN norm makes all numbers of the group NaN
			clip = min(1, c.Clip/(norm+core.ClipEpsilon))
		}
		for i := at; i < at+size; i++ {
			g := clip * float64(grads.Data[i])
			m := beta1*float64(a.First.Data[i]) + rest1*g
			v := beta2*float64(a.Second.Data[i]) + rest2*g*g
			a.First.Data[i], a.Second.Data[i] = T(m), T(v)
			params.Data[i] -= T(c.Rate * (m / unbias1) / (math.Sqrt(v/unbias2) + c.Epsilon))
		}
	}
}
