package gorgonia

import (
	"fmt"
	"math"

	"github.com/stoker-rl/stoker/nets"
	"github.com/stoker-rl/stoker/nets/internal/core"
)

// net implements [core.Network].
type net[T core.Number] struct {
	weights[T]
	out int
	// expression builds an agent's network from the unit's leaves.
	expression func(u *unit[T])
	hard       []int // segments of one-hot outputs; nil for other networks
}

// NewNet implements [core.Backend].
func (b *backend[T]) NewNet(v *core.Vectors[*tensor[T]]) (core.Network[*tensor[T]], error) {
	n := &net[T]{weights: weights[T]{v, b}, out: v.Arch.Output().Width}
	switch a := v.Arch.(type) {
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

// work implements [core.Pass].
type work[T core.Number] struct {
	net    *net[T]
	batch  int
	out    *tensor[T]
	gradIn []*tensor[T] // of the present Backward
	// features are copies of the inputs for the leaves, and units the agents' graphs. The first Forward makes them.
	features map[featureKey]*feature[T]
	units    []*unit[T]
	ran      bool  // Forward has run
	version  int64 // of the parameters at the last Forward
}

// NewPass implements [core.Network].
func (n *net[T]) NewPass(batch int, out *tensor[T]) core.Pass[*tensor[T]] {
	return &work[T]{net: n, batch: batch, out: out, features: map[featureKey]*feature[T]{}}
}

// Ready implements [core.Pass].
func (w *work[T]) Ready() bool { return w.ran }

// Want implements [core.Pass]: all gradients are computed.
func (*work[T]) Want(int) bool { return true }

// Forward implements [core.Pass].
func (w *work[T]) Forward(in []*tensor[T]) {
	err := w.forward(in)
	if err != nil {
		w.net.State.Fail("Forward", "%v: %w", w.net, err)
	}
	w.ran, w.version = err == nil, w.net.Params.Version
}

func (w *work[T]) forward(in []*tensor[T]) error {
	if w.units == nil {
		var units []*unit[T]
		for agent := range w.net.Agents {
			u, err := w.newUnit(agent)
			if err != nil {
				return err
			}
			units = append(units, u)
		}
		w.units = units
	}
	for _, f := range w.features {
		f.fill(in[f.port])
	}
	w.out.Version++
	for _, u := range w.units {
		if err := u.forward(w.out); err != nil {
			return err
		}
	}
	if w.net.hard != nil {
		choose(w.out.Data, w.net.hard)
	}
	return nil
}

// Backward implements [core.Pass].
func (w *work[T]) Backward(gradOut *tensor[T], gradIn []*tensor[T], params bool) {
	n := w.net
	if n.changed("Backward", w.version) {
		return
	}
	var wrt nets.Wrt
	if params {
		n.Grads.Version++
		wrt |= nets.Params
	}
	if w.gradIn = gradIn; gradIn != nil {
		wrt |= nets.Inputs
	}
	for _, t := range gradIn {
		t.Version++
		t.Clear()
	}
	for _, u := range w.units {
		if err := u.backward(gradOut, wrt); err != nil {
			n.State.Fail("Backward", "%v: %w", n, err)
			return
		}
	}
}

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
