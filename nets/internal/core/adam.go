package core

import (
	"math"
	"reflect"

	"github.com/stoker-rl/stoker/nets"
)

// Adam implements [nets.Optimizer] as [nets.Adam] describes it, but for the step itself.
type Adam[X Tensor] struct {
	Vectors       *Vectors[X]
	GroupNorms    X // [groups]: gradient norms before clipping
	First, Second X // moments
	Clip          float64
	Now           AdamFactors // of the present step
	Config        nets.Adam
	of            *weights[X]
	steps         int64
	stepper       Stepper
}

// AdamFactors are the numbers of one step: βs and 1 − βs, rate/(1 − β₁ᵗ), 1/√(1 − β₂ᵗ) and ε.
type AdamFactors struct{ Beta1, Rest1, Beta2, Rest2, Rate, Scale, Epsilon float64 }

// ClipEpsilon keeps the clipping factor min(1, Clip/(norm + ClipEpsilon)) finite; PyTorch's clip_grad_norm_ has
// the same.
const ClipEpsilon = 1e-6

// NewAdam implements [nets.Engine].
func (e *Engine[X]) NewAdam(n nets.Weights, c nets.Adam) (nets.Optimizer, error) {
	x, ok := n.(weighted[X])
	if !ok || reflect.ValueOf(n).IsNil() || x.common().e != e {
		return nil, e.errorf("NewAdam: the net is a %T, want one of this engine", n)
	}
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, e.errorf("NewAdam: %w", err)
	}
	w := x.common()
	a := &Adam[X]{
		Vectors: w.v, GroupNorms: e.newTensor("NewAdam", w.v.Groups), Clip: c.Clip, of: w, Config: c,
		First: e.newTensor("NewAdam", w.v.Groups, w.v.Size), Second: e.newTensor("NewAdam", w.v.Groups, w.v.Size),
	}
	a.stepper = w.learner.NewAdam(a)
	return a, nil
}

// Advance implements [nets.Optimizer].
func (a *Adam[X]) Advance() {
	if a.of.e.debugged() {
		a.of.e.Fail("Advance", "Adam of %v within a recorded update, want it before", a.of)
		return
	}
	a.steps++
	a.prepare()
}

// Steps implements [nets.Optimizer].
func (a *Adam[X]) Steps() int64 { return a.steps }

// SetSteps implements [nets.Optimizer].
func (a *Adam[X]) SetSteps(n int64) {
	if n < 0 {
		a.of.e.Fail("SetSteps", "Adam of %v after %d steps, want 0 or more", a.of, n)
		return
	}
	a.steps = n
	a.prepare()
}

// SetRate implements [nets.Optimizer].
func (a *Adam[X]) SetRate(rate float64) {
	if !(rate >= 0) || math.IsInf(rate, 0) {
		a.of.e.Fail("SetRate", "Adam of %v at rate %g, want 0 or more", a.of, rate)
		return
	}
	a.Config.Rate = rate
	a.prepare()
}

// Norms implements [nets.Optimizer].
func (a *Adam[X]) Norms() nets.Tensor { return a.GroupNorms }

// Moments implements [nets.Optimizer].
func (a *Adam[X]) Moments() (first, second nets.Tensor) { return a.First, a.Second }

// Step implements [nets.Optimizer]. It leaves the gradients as they are.
func (a *Adam[X]) Step() {
	e := a.of.e
	if e.Stopped("Step") {
		return
	}
	if a.steps == 0 {
		e.Fail("Step", "Adam of %v at step 0, want Advance before the first Step", a.of)
		return
	}
	if e.debug {
		e.trace.add("Step of Adam of %v", a.of)
	}
	a.stepper.Step()
}

// prepare computes the factors of the present step.
func (a *Adam[X]) prepare() {
	if a.steps == 0 {
		return
	}
	c, t := a.Config, float64(a.steps)
	a.Now = AdamFactors{
		Beta1: c.Beta1, Rest1: 1 - c.Beta1, Beta2: c.Beta2, Rest2: 1 - c.Beta2,
		Rate: c.Rate / (1 - math.Pow(c.Beta1, t)), Scale: 1 / math.Sqrt(1-math.Pow(c.Beta2, t)), Epsilon: c.Epsilon,
	}
	if p, ok := a.stepper.(Preparer); ok {
		p.Prepare()
	}
}
